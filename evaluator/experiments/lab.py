"""`Experiment`, a recipe in Python for the tables of a paper, and `Lab`, with which the recipe
declares its stages and the rows of its tables (docs/experiments.md).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.experiments.models import Model
from evaluator.experiments.runner import Failure, Place, run_stages
from evaluator.experiments.stages import (
    Option,
    Options,
    Stage,
    Text,
    Value,
    in_order,
    joined,
    new_stage,
)
from generator.base.errors import UserError, did_you_mean

ROTATION = "rotation"
"""The last part of the labels of rows over a rotation, which stand beside those of the paper's
blocks: runs of different designs are not pooled."""


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
        """The settings of a scale.

        Raises:
            UserError: There is no such scale.
        """
        if scale not in self.scales:
            raise UserError(f"Unknown scale '{scale}'; {did_you_mean(scale, list(self.scales))}")
        return self.scales[scale]


@dataclass(frozen=True)
class _Result:
    """A stage whose results `score tables` reads."""

    label: str
    """The label of its row."""
    stage: Stage
    """A stage of `score run`, `score audit`, `score embeddings` or `score generate`."""
    when: str = ""
    """"before" or "after" the training, of runs that show what training changed elsewhere; else
    ""."""


@dataclass
class Lab:
    """Collects the stages and table rows that a recipe declares. A stage that no row needs is not
    run."""

    root: Path
    """The folder of all stages."""
    user_models: Mapping[str, Model] = field(default_factory=dict)
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
    _results: dict[_Result, None] = field(default_factory=dict)
    """What `score tables` reads, in the order of declaration, without duplicates."""

    def stage(self, command: str, *arguments: Value, **options: Option) -> Stage:
        """The stage of a command, such as `lab.stage("gen render", plan, quality="draft")`.

        Args:
            command: A command of `gen` or `score`, without arguments and `--out`.
            arguments: Its arguments without a name. A stage stands for its folder.
            options: Its options, by name with _ for -: a value; True for a flag; several values
                for an option that is repeated; None or False to leave it out.

        Raises:
            UserError: There is no such command.
        """
        return new_stage(command, *arguments, **options)

    def render(self, plan: Options, *, resolution: str, quality: str) -> Stage:
        """A rendered world.

        Args:
            plan: The options of `gen plan`, without the resolution.
            resolution: Width and height of the images in pixels, such as "64x64".
            quality: The `--quality` of `gen render`.
        """
        planned = self.stage("gen plan", **plan, resolution=resolution)
        return self.stage("gen render", planned, quality=quality)

    def score(self, model: Model, dataset: Stage, **options: Option) -> Stage:
        """The stage of `score run` of a model.

        Args:
            model: The model, whose own options of `score run` come last, so that they win.
            dataset: The stage that writes the dataset.
            options: Further options.
        """
        return self.stage("score run", dataset, **{**options, "model": model.spec, **model.run})

    def train(self, method: str, model: Model, dataset: Stage, **options: Option) -> Stage:
        """The stage of `score train` of a model that exists already.

        Args:
            method: The method, such as "finetune".
            model: What the training starts from. Its own options of `score train` come last, so
                that they win.
            dataset: The stage that writes the dataset.
            options: Further options.
        """
        all_options = {"model": model.spec, **options, **model.train}
        return self.stage(f"score train {method}", dataset, **all_options)

    def models(
        self, of_recipe: Mapping[str, Model], chosen: Collection[str] | None = None
    ) -> dict[str, Model]:
        """The models that rows start from. The user's models replace the recipe's; the recipe's
        options stay, and the user's win over them.

        Args:
            of_recipe: The recipe's models by name.
            chosen: The names of this scale's models, None for all; other models are `missing`,
                unless the user gives them.

        Returns:
            The models by name, in the order of the recipe.

        Raises:
            UserError: The recipe has no model of the name of a user's model.
        """
        for name in self.user_models:
            if name not in of_recipe:
                raise UserError(
                    f"The experiment has no model '{name}'; {did_you_mean(name, list(of_recipe))}"
                )
        models = {}
        for name, model in of_recipe.items():
            of_user = self.user_models.get(name)
            if of_user:
                # The recipe's options say how rows are run; the user's file changes only what it
                # names.
                models[name] = Model(
                    spec=of_user.spec,
                    run={**model.run, **of_user.run},
                    train={**model.train, **of_user.train},
                    missing=of_user.missing,
                )
            elif chosen is not None and name not in chosen:
                models[name] = Model(missing=self._left_out)
            else:
                models[name] = model
        return models

    def row(self, label: str, *stages: Stage) -> None:
        """Declare a table row.

        Args:
            label: The label of the row. Its runs are pooled.
            stages: Stages of `score run`; or of `score audit`, `score embeddings` or `score
                generate`, which are shown beside the runs.
        """
        for stage in stages:
            # A dictionary as an ordered set: two rows may share a run, which is run and shown once.
            self._results[_Result(label, stage)] = None

    def elsewhere(
        self, label: str, model: Model, trained: Stage, dataset: Stage, **options: Option
    ) -> None:
        """Show what the training of a row changed elsewhere: score the model before and after it.

        Args:
            label: The label of the row.
            model: The model before the training.
            trained: The training.
            dataset: The stage that writes the dataset to score on.
            options: Further options of `score run`.
        """
        before = self.score(model, dataset, **options)
        after = self.score(model.after(trained), dataset, **options)
        self._results[_Result(label, before, "before")] = None
        self._results[_Result(label, after, "after")] = None

    def lacks(self, label: str, reason: str = "") -> None:
        """Declare that a row is not made.

        Args:
            label: The label of the row.
            reason: Why, for a note below tables; "": the scale leaves it out.
        """
        self.missing.setdefault(label, reason or self._left_out)

    def does_not_show(self, label: str, reason: str = "") -> None:
        """Declare that an audit is not shown beside the runs.

        Args:
            label: The label of the audit.
            reason: Why; "": the scale leaves it out.
        """
        self.not_shown.setdefault(label, reason or self._left_out)

    def best(self, trained: Sequence[Stage], runs: Sequence[Stage], splits: Sequence[str]) -> Stage:
        """Hyperparameter search: run the stages and choose the training with the best validation
        score, the first among equals.

        The score is the mean over the splits of the mean of the protocols' main metrics, as Pearson
        et al. 2025 select by ID-val and OOD-val (appendix A).

        Args:
            trained: The trainings to choose from.
            runs: The `score run` of each of them.
            splits: The validation splits.

        Returns:
            A training whose run did not fail; the first if all fail.
        """
        # Any of them will do to check the commands that follow.
        if self.dry:
            return trained[0]
        failures = run_stages(in_order(runs), self.root, self.tell, self.place)
        scores = []
        for run in runs:
            is_scored = run.name not in failures
            # Below every score, so that a failed run is chosen only if all failed.
            scores.append(_validation_score(run.out(self.root), splits) if is_scored else -1.0)
        return trained[scores.index(max(scores))]

    def best_rate(
        self,
        rates: Sequence[str],
        *,
        train: Callable[..., Stage],
        score: Callable[[Model], Stage],
        model: Model,
        splits: Sequence[str],
    ) -> Options:
        """Choose the learning rate that is best on validation splits.

        Args:
            rates: The rates to try.
            train: Makes the training with a `rate`, such as a `functools.partial` of `train`.
            score: Makes the run of a model, such as a `functools.partial` of `score`.
            model: What the training starts from.
            splits: The validation splits.

        Returns:
            The option `rate` with which `train` makes the `best` model. No option if `rates` is
            empty, or if the model has a rate of its own: a user's rate is not searched.
        """
        if not rates or "rate" in model.train:
            return {}
        trainings = [train(rate=rate) for rate in rates]
        runs = [score(model.after(trained)) for trained in trainings]
        best = self.best(trainings, runs, splits)
        return {"rate": rates[trainings.index(best)]}

    @property
    def needed(self) -> list[Stage]:
        """All stages that the rows need, each after its inputs."""
        return in_order(result.stage for result in self._results)

    def tables(self, paper: str, failures: Mapping[str, Failure]) -> Stage | None:
        """The stage of `score tables`.

        Args:
            paper: The PAPER of the command.
            failures: Failures by the name of the stage. These stages are left out, and the tables
                say that they failed.

        Returns:
            The stage; None if no stage is left.
        """
        results: dict[str, list[Text]] = {"": [], "before": [], "after": []}
        missing = dict(self.missing)
        for result in self._results:
            failure = failures.get(result.stage.name)
            if failure:
                # A reason that the recipe gave is more exact than the failure that follows from it.
                missing.setdefault(result.label, f"`{failure.stage.command}` failed")
            else:
                results[result.when].append(joined(result.label, "=", result.stage))
        if not any(results.values()):
            return None
        reasons = [f"{label}={reason}" for label, reason in missing.items()]
        return self.stage(
            "score tables",
            paper,
            *results[""],
            before=results["before"],
            after=results["after"],
            missing=reasons,
        )

    @property
    def _left_out(self) -> str:
        return f"left out at the scale {self.scale}"


def _validation_score(run: Path, splits: Sequence[str]) -> float:
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
