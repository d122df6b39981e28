"""`Experiment`, a recipe in Python for the tables of a paper, and `Lab`, with which the recipe
declares its stages and the rows of its tables (docs/experiments.md).
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from evaluator.experiments.stages import Failure, Place, Stage, Stages, in_order, run_stages
from generator.base.declarations import Declared, sentence_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml

ROTATION = "rotation"
"""The last part of the labels of rows over a rotation, which stand beside those of the paper's
blocks: runs of different designs are not pooled."""
_OPTIONS = ("run", "train")
"""The fields of `Model` that hold options of a command."""
_REACHING_SPEC = re.compile(r"\b(python|api):|://")
"""Matches in the spec of a model that runs code or contacts a host. A spec is one word of a
command."""
_HARMLESS_FLAGS = {"--full-pools", "--verify", "--allow-contaminated", "--text-encoder"}
_HARMLESS_OPTIONS = {
    *(
        "--batch-size",
        "--channel",
        "--device",
        "--level",
        "--limit",
        "--precision",
        "--protocol",
        "--workers",
    ),
    *("--architecture", "--batch", "--epochs", "--images-per-class", "--lora", "--negative-loss"),
    *(
        "--negative-weight",
        "--negatives",
        "--positive-weight",
        "--positives",
        "--preset",
        "--rate",
        "--seed",
    ),
    *("--size", "--steps", "--texts"),
}
"""Options with a value, first of `score run` and then of `score train`, that a file of models may
set without --allow-code. An option that is not here may run code, contact a host, read other files
or write elsewhere."""


@dataclass(frozen=True)
class Experiment:
    """A recipe for the tables of a paper."""

    about: str
    """A description for people, which the command prints first."""
    paper: str
    """The PAPER of `score tables`."""
    scales: Mapping[str, Any]
    """The settings of each scale by its name: the second argument of `make`."""
    make: Callable[["Lab", Any], object]
    """Declares stages and rows on a Lab. It is called twice: first on a dry Lab, so that a wrong
    command is refused before hours of rendering."""

    def at(self, scale: str) -> Any:
        """The settings of a scale. Raises UserError for an unknown one."""
        if scale not in self.scales:
            raise UserError(f"Unknown scale '{scale}'; {did_you_mean(scale, list(self.scales))}")
        return self.scales[scale]


class Model(Declared):
    """A model that rows start from."""

    spec: str = ""
    """The model as `--model` takes it; "" if it is missing."""
    run: str = ""
    """Extra options of `score run`, of this model and of what is trained from it."""
    train: str = ""
    """Extra options of `score train`."""
    missing: str = ""
    """In place of a spec, the reason why there is no model; tables say it."""

    def __str__(self) -> str:
        return shlex.quote(self.spec)

    def after(self, trained: Stage) -> "Model":
        """The model after a training, run with the same spec arguments and `run` options."""
        arguments = re.search(r",\w+=.*", self.spec)
        return Model(spec=f"jackalope:{trained}{arguments[0] if arguments else ''}", run=self.run)


class _Models(Declared):
    """The file of `--models`."""

    models: dict[str, Model] = Field(min_length=1)


def read_models(path: Path, allow_code: bool = False) -> dict[str, Model]:
    """The models of a user by name, from a TOML file.

    Args:
        path: the file.
        allow_code: whether models may run code, contact a host, or read and write other files.

    Raises:
        UserError: when the file cannot be read, or declares anything else; and when a model can do
            what `allow_code` does not allow.
    """
    try:
        models = _Models.model_validate(read_toml(path, "file of models")).models
    except ValidationError as error:
        raise UserError(f"{path}: {sentence_of(error.errors()[0])}") from None
    for name, model in models.items():
        if not (model.spec or model.missing):
            raise UserError(f"{path}: models.{name}.spec is missing.")
        words = {
            option: _split_words(getattr(model, option), f"{path}: models.{name}.{option}")
            for option in _OPTIONS
        }
        reaching = None if allow_code else _reaching_word(model.spec, words.values())
        if reaching is not None:
            raise UserError(
                f"{path}: the model '{name}' has '{reaching}', which can run code, reach a host or "
                f"write elsewhere; check that you trust it, then add --allow-code."
            )
        # Commands are made from the words that were checked, not from the text.
        checked = {option: shlex.join(split) for option, split in words.items()}
        models[name] = Model(spec=model.spec, missing=model.missing, **checked)
    return models


def _split_words(options: str, place: str) -> list[str]:
    """The words of options as a shell splits them. Raises UserError for a quote that is not
    closed."""
    try:
        return shlex.split(options)
    except ValueError as error:
        raise UserError(
            f"{place} cannot be split into words ({error}); close its quotes."
        ) from None


def _reaching_word(spec: str, options: Iterable[Sequence[str]]) -> str | None:
    """The first word of a model that may run code, contact a host or write elsewhere; None if there
    is none.

    Args:
        spec: the model, as `--model` takes it.
        options: the words of further options of each command.
    """
    if _REACHING_SPEC.search(spec):
        return spec
    for words in options:
        waiting = iter(words)
        for word in waiting:
            name, equals, value = word.partition("=")
            if name not in _HARMLESS_FLAGS | _HARMLESS_OPTIONS:
                return word
            if name in _HARMLESS_OPTIONS and not equals:
                value = next(waiting, "")
            if value.startswith("--") or _REACHING_SPEC.search(value):
                return value
    return None


@dataclass
class Lab:
    """Collects the stages and table rows that a recipe declares. A stage that no row needs is not
    run."""

    root: Path
    """The folder of all stages."""
    given: Mapping[str, Model] = field(default_factory=dict)
    """The user's models by name, which replace the recipe's."""
    scale: str = ""
    """The name of the scale, for the reasons of rows that it leaves out."""
    dry: bool = False
    """Whether to run nothing: `best` then takes the first model."""
    tell: Callable[[Stage, int], object] = lambda stage, number: None
    """Called before each stage that `best` runs, with its number."""
    place: Place = field(default_factory=Place)
    """Where the stages of `best` run."""
    missing: dict[str, str] = field(default_factory=dict)
    """By label, why a row is not made."""
    not_shown: dict[str, str] = field(default_factory=dict)
    """By label, why an audit is not shown beside the runs."""
    _stages: Stages = field(default_factory=Stages)
    _named: dict[tuple[str, str, Stage], None] = field(default_factory=dict)
    """The arguments of `score tables`, in order: (option or "", label, stage)."""

    def stage(self, command: str) -> Stage:
        """The stage of a command without `--out`, such as f"gen render {plan}". A stage in it
        stands for its folder."""
        return self._stages.add(command)

    def render(self, plan: str, resolution: str, quality: str) -> Stage:
        """A rendered world. plan: the options of `gen plan`."""
        planned = self.stage(f"gen plan {plan} --resolution {resolution}")
        return self.stage(f"gen render {planned} --quality {quality}")

    def models(
        self, known: Mapping[str, Model], chosen: Collection[str] | None = None
    ) -> dict[str, Model]:
        """The models that rows start from, by name. The user's models replace the recipe's; the
        recipe's options stay and come first, so that the user's win.

        Args:
            known: the recipe's models.
            chosen: the names of this scale's models, None for all; other models are `missing`,
                unless the user gives them.

        Raises:
            UserError: for a user's model whose name the recipe does not know.
        """
        for name in self.given:
            if name not in known:
                raise UserError(
                    f"The experiment has no model '{name}'; {did_you_mean(name, list(known))}"
                )
        models = {}
        for name, model in known.items():
            own = self.given.get(name)
            if own:
                options = {"run": f"{model.run} {own.run}", "train": f"{model.train} {own.train}"}
                models[name] = Model(spec=own.spec, missing=own.missing, **options)
            elif chosen is not None and name not in chosen:
                models[name] = Model(missing=self._left_out)
            else:
                models[name] = model
        return models

    def row(self, label: str, *commands: str) -> None:
        """Declare a table row by its commands: `score run`, pooled by label; or `score audit`,
        `score embeddings` or `score generate`, which are shown beside the runs."""
        self._name("", label, *commands)

    def elsewhere(self, label: str, command: str, model: Model, trained: Stage) -> None:
        """Show what the training of a row changed elsewhere: run `command`, a `score run` without
        `--model`, for the model before training and for the trained one.
        """
        for option, measured in (("--before", model), ("--after", model.after(trained))):
            self._name(option, label, f"{command} --model {measured} {measured.run}")

    def lacks(self, label: str, reason: str = "") -> None:
        """Declare that a row is not made. The default reason is that the scale leaves it out."""
        self.missing.setdefault(label, reason or self._left_out)

    def does_not_show(self, label: str, reason: str = "") -> None:
        """Declare that an audit is not shown beside the runs. The default reason is that the scale
        leaves it out."""
        self.not_shown.setdefault(label, reason or self._left_out)

    def best(self, trained: Sequence[Stage], runs: Sequence[Stage], splits: Sequence[str]) -> Stage:
        """Hyperparameter search: runs the stages and returns the trained model with the best
        validation score, the first among equals.

        The score is the mean over the splits of the mean of the protocols' main metrics, as Pearson
        et al. 2025 select by ID-val and OOD-val (appendix A).

        Args:
            trained: the trainings to choose from.
            runs: the `score run` of each of them.
            splits: the validation splits.

        Returns: A training whose run did not fail; the first if all fail.
        """
        if self.dry:
            return trained[0]
        failures = run_stages(in_order(runs), self.root, self.tell, self.place)
        scores = [
            -1.0 if run.name in failures else _validated(run.out(self.root), splits) for run in runs
        ]
        return trained[scores.index(max(scores))]

    def best_rate(
        self, rates: Sequence[str], train: str, run: str, model: Model, splits: Sequence[str]
    ) -> str:
        """The learning rate that is best on validation splits.

        Args:
            rates: the rates to try.
            train: a `score train` command without `--rate`.
            run: a `score run` command without `--model`.
            model: what the training starts from.
            splits: the validation splits.

        Returns: The option `--rate` with which `train` makes the `best` model; "" if `rates` is
            empty, or if `train` already has the option: a user's rate is not searched.
        """
        if not rates or re.search(r"--rate\b", train):
            return ""
        trainings = [self.stage(f"{train} --rate {rate}") for rate in rates]
        runs = []
        for trained in trainings:
            runs.append(self.stage(f"{run} --model {model.after(trained)} {model.run}"))
        best = self.best(trainings, runs, splits)
        return f"--rate {rates[trainings.index(best)]}"

    @property
    def needed(self) -> list[Stage]:
        """All stages that the rows need, each after the stages that it reads."""
        return in_order(stage for _, _, stage in self._named)

    def tables(self, paper: str, failures: Mapping[str, Failure]) -> Stage | None:
        """The stage of `score tables`, without failed stages; None if no stage is left."""
        words, missing = [], dict(self.missing)
        for option, label, stage in self._named:
            if stage.name in failures:
                missing.setdefault(label, f"`{failures[stage.name].stage.command}` failed")
            else:
                words += [*([option] if option else []), f"{label}={stage}"]
        reasons = [
            word for label, reason in missing.items() for word in ("--missing", f"{label}={reason}")
        ]
        return self._stages.add(["score", "tables", paper, *words, *reasons]) if words else None

    def _name(self, option: str, label: str, *commands: str) -> None:
        self._named |= dict.fromkeys((option, label, self.stage(command)) for command in commands)

    @property
    def _left_out(self) -> str:
        return f"left out at the scale {self.scale}"


def _validated(run: Path, splits: Sequence[str]) -> float:
    """The validation score of a run, 0..1, for `best`. Raises UserError if a split has no items."""
    # Imported here: pandas takes seconds, and a wrong argument is said before.
    from evaluator.runs.folder import open_run
    from evaluator.runs.measure import measure_protocols

    measured = measure_protocols(open_run(run)).values()
    split_scores = []
    for split in splits:
        protocol_means = []
        for results in measured:
            in_split = (results.items.split == split) & results.items.scored
            main_metric = results.outcomes[0].value[in_split]
            if len(main_metric):
                protocol_means.append(main_metric.mean())
        if not protocol_means:
            raise UserError(
                f"{run} has no items of the split '{split}', by which a search selects; plan "
                f"scenes for it."
            )
        split_scores.append(np.mean(protocol_means))
    return float(np.mean(split_scores))
