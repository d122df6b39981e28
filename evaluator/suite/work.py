"""What a suite asks of which model: stages of `score train`, `score run` and `score ask`, which
`evaluator.experiments.runner` runs, skips and resumes as those of experiments."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.experiments.stages import Stage, Value, in_order, joined, new_stage
from evaluator.runs.turns import names_of_turns
from evaluator.suite.models import WORLD, SuiteModel
from generator.base.errors import UserError, did_you_mean
from generator.dataset.reader import TURN, Dataset
from generator.dataset.records import TRAIN
from generator.suite.definition import Suite, SuiteRun, SuiteWorld

_NOT_TRAINED = (
    "its models are trained on the train split of each turn; name trained models by {world} and "
    "{turn}, or train by --train METHOD"
)
_ONLY_TRAINED = "it is trained on worlds of other tracks"
_NO_WORDS = "it does not answer in words"
_FITTED = "blind:ngram"
"""The model that is fitted on the texts that it is asked about."""
_ONLY_WORDS = "it answers in words and does not score pairs"


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run of a suite: a model and its training on the questions of a world."""

    model: str
    """Name of the model."""
    track: str
    """Name of the track."""
    world: str
    """Name of the world."""
    benchmark: str
    """Name of the benchmark; "" for the turns of a rotation."""
    command: str
    """"run" or "ask"."""
    seed: int | None
    """Seed of the training; None for a model that was not trained here."""
    stage: Stage
    """The stage of `score run` or `score ask`."""
    protocols: tuple[str, ...]
    """The protocols that are asked; () for all of the benchmark."""
    turns: tuple[str, ...]
    """Names of the turns, each with a folder of its own below that of the stage; () for none."""

    def folders(self, root: Path) -> list[Path]:
        """List the folders of its runs.

        Args:
            root: The folder of all stages.

        Returns:
            One for each turn; or the only one.
        """
        out = self.stage.out(root)
        return [out / turn for turn in self.turns] or [out]


@dataclass(frozen=True, kw_only=True)
class Work:
    """All that is asked of the models of a suite."""

    runs: tuple[PlannedRun, ...]
    """The runs, in the order of models, tracks and worlds."""
    left_out: Mapping[tuple[str, str], str]
    """By model and track, why the model is not asked any question of the track."""
    restrictions: Mapping[str, str]
    """By model, what its file leaves out of the questions that other models are asked."""

    @property
    def stages(self) -> list[Stage]:
        """All stages, each after its inputs."""
        return in_order(run.stage for run in self.runs)


def plan_work(
    root: Path,
    suite: Suite,
    models: Mapping[str, SuiteModel],
    *,
    limit: int | None = None,
    device: str | None = None,
) -> Work:
    """Plan what is asked of which model.

    Args:
        root: The folder of a made suite (generator.suite.record).
        suite: Its declaration, with the tracks to ask.
        models: The models by name.
        limit: Score at most this many items of each protocol; None for all.
        device: Device to compute on; None for the default.

    Returns:
        The runs, and for each model the tracks that it is not asked.

    Raises:
        UserError: A world is missing or lacks a benchmark, or a model names an unknown track.
    """
    runs: list[PlannedRun] = []
    left_out: dict[tuple[str, str], str] = {}
    restrictions: dict[str, str] = {}
    options: dict[str, Any] = {"limit": limit, "device": device}
    for name, model in models.items():
        _check_tracks(name, model, suite)
        restriction = _describe_restriction(model)
        if restriction:
            restrictions[name] = restriction
        for track_name, track in suite.tracks.items():
            reason = _reason_to_leave_out(model, track_name, is_trained=track.trained)
            runs_of_track: list[PlannedRun] = []
            if not reason:
                for world_name, world in track.worlds.items():
                    dataset = root / track_name / world_name
                    place = {"model": name, "track": track_name, "world": world_name}
                    if track.trained:
                        runs_of_track += _runs_of_turns(
                            dataset, world, model=model, place=place, options=options
                        )
                    else:
                        runs_of_track += _runs_as_it_is(
                            dataset, world, model=model, place=place, options=options
                        )
                # Every run of the track asks in the way in which this model cannot be asked.
                if not runs_of_track:
                    reason = _NO_WORDS if not model.answers_in_words else _ONLY_WORDS
            if reason:
                left_out[name, track_name] = reason
            runs += runs_of_track
    return Work(runs=tuple(runs), left_out=left_out, restrictions=restrictions)


def _check_tracks(name: str, model: SuiteModel, suite: Suite) -> None:
    for track in model.tracks:
        if track not in suite.tracks:
            raise UserError(
                f"The model '{name}' names the track '{track}'; "
                f"{did_you_mean(track, list(suite.tracks))}"
            )


def _describe_restriction(model: SuiteModel) -> str:
    """What the options `run` of a model leave out, in words; "" if nothing. Its skill is a mean
    over fewer questions than those of other models, so tables say so."""
    parts = []
    own_protocols = _own_protocols(model)
    if own_protocols:
        parts.append(f"only {' and '.join(own_protocols)}")
    if "limit" in model.run:
        parts.append(f"at most {model.run['limit']} items of a protocol")
    return ", ".join(parts)


def _reason_to_leave_out(model: SuiteModel, track: str, *, is_trained: bool) -> str:
    """Why a model is not asked anything of a track; "" if it is."""
    if model.tracks and track not in model.tracks:
        return "its tracks do not name it"
    is_made_for_turns = bool(model.method) or model.is_of_turns
    # A model that was trained elsewhere, which results mark, is asked if its file names the track.
    is_named = track in model.tracks
    if is_trained and not (is_made_for_turns or model.needs_no_training or is_named):
        return _NOT_TRAINED
    # What a pretrained model knows before its training here can still be asked.
    if not is_trained and (model.is_of_turns or not model.spec):
        return _ONLY_TRAINED
    return ""


def _runs_of_turns(
    dataset: Path,
    world: SuiteWorld,
    *,
    model: SuiteModel,
    place: Mapping[str, str],
    options: Mapping[str, Any],
) -> list[PlannedRun]:
    """The runs of a model on a rotation: one stage scores all turns.

    dataset: the folder of the world; place: names of model, track and world; options: limit and
    device.
    """
    turns = tuple(names_of_turns(str(dataset), None))
    # The names end in the block seed: turn0-b7, turn1-b7 and so on.
    pattern = turns[0].replace("turn0", TURN, 1)
    runs = []
    for run in world.runs:
        if not _can_answer(model, run):
            continue
        # A model that was trained elsewhere is there once for each turn; its seed is not known.
        for seed in model.seeds if model.method else (None,):
            spec: Value
            if seed is not None:
                spec = joined(
                    "jackalope:", _training(dataset, model, seed=seed, options=options), f"/{TURN}"
                )
            else:
                spec = model.spec.replace(WORLD, place["world"])
            stage = _asking(dataset, run, model, spec, place["model"], options, benchmark=pattern)
            runs.append(
                PlannedRun(
                    **place,
                    benchmark="",
                    command=run.command,
                    protocols=_protocols(run, model),
                    seed=seed,
                    stage=stage,
                    turns=turns,
                )
            )
    return runs


def _runs_as_it_is(
    dataset: Path,
    world: SuiteWorld,
    *,
    model: SuiteModel,
    place: Mapping[str, str],
    options: Mapping[str, Any],
) -> list[PlannedRun]:
    """The runs of a model on a world from which nothing is held out; those in words only of models
    that answer in words. The parameters are those of `_runs_of_turns`."""
    runs = []
    for run in world.runs:
        if not _can_answer(model, run):
            continue
        benchmark = run.benchmark or _rendered_benchmark(dataset, world)
        spec = model.spec.replace(WORLD, place["world"])
        stage = _asking(dataset, run, model, spec, place["model"], options, benchmark=benchmark)
        runs.append(
            PlannedRun(
                **place,
                benchmark=benchmark,
                command=run.command,
                protocols=_protocols(run, model),
                seed=None,
                stage=stage,
                turns=(),
            )
        )
    return runs


def _protocols(run: SuiteRun, model: SuiteModel) -> tuple[str, ...]:
    """The protocols of a run that a model is asked; () for all of the benchmark."""
    if run.command == "run" and "protocol" in model.run:
        return _own_protocols(model)
    if model.spec != _FITTED:
        return run.protocols
    # It would learn from the texts of a pool which of them are asked about (docs/audit.md).
    return tuple(protocol for protocol in run.protocols if protocol != "retrieval")


def _own_protocols(model: SuiteModel) -> tuple[str, ...]:
    """The protocols that the file of models names for a model, once or as a list; () for none."""
    value = model.run.get("protocol", [])
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _rendered_benchmark(dataset: Path, world: SuiteWorld) -> str:
    """The benchmark that a world was rendered with: the only one that no texts make."""
    of_texts = {texts.name for texts in world.texts}
    opened = Dataset.open(str(dataset))
    rendered = [name for name in opened.benchmark_names() if name not in of_texts]
    if len(rendered) != 1:
        raise UserError(
            f"{dataset} should have one benchmark besides those of its texts, and has "
            f"{len(rendered)}; make the suite again in a new folder."
        )
    return rendered[0]


def _can_answer(model: SuiteModel, run: SuiteRun) -> bool:
    """Whether a model can be asked the questions of a run: in words, or by scores of pairs."""
    return model.answers_in_words if run.command == "ask" else not model.is_captioner


def _training(dataset: Path, model: SuiteModel, *, seed: int, options: Mapping[str, Any]) -> Stage:
    """The stage that trains a model on each turn of a rotation."""
    spec = {"model": model.spec.replace(WORLD, dataset.name)} if model.spec else {}
    # The user's options come last here too.
    own = {"turns": True, "seed": seed, "device": options["device"]}
    return new_stage(f"score train {model.method}", dataset, **{**spec, **own, **model.train})


def _asking(
    dataset: Path,
    run: SuiteRun,
    model: SuiteModel,
    spec: Value,
    name: str,
    options: Mapping[str, Any],
    *,
    benchmark: str,
) -> Stage:
    """The stage that asks a model the questions of a run. spec: the model, with TURN for turns."""
    shared = {
        "model": spec,
        "name": name,
        "benchmark": benchmark,
        "protocol": list(_protocols(run, model)) or None,
        **options,
    }
    if run.command == "run":
        # The user's options come last, so that they win.
        return new_stage("score run", dataset, **{**shared, **model.run})
    in_words = {"form": run.form, "answer": run.answer, "relations": run.relations}
    return new_stage("score ask", dataset, **{**shared, **in_words, **model.ask})


def count_questions(run: PlannedRun) -> int:
    """Count the questions of a run, for its cost.

    Args:
        run: The run.

    Returns:
        The number of items that models are asked, over all turns, at most its limit for each
        protocol; for descriptions the number of images.
    """
    dataset = Dataset.open(str(run.stage.arguments[0]))
    limit = run.stage.options.get("limit")
    protocols = run.protocols
    total = 0
    for name in run.turns or (run.benchmark,):
        benchmark = dataset.benchmark(name)
        # An image is described once, whatever its items ask about it.
        if run.stage.options.get("form") == "describe":
            total += benchmark.splits.num_rows
            continue
        for row in benchmark.items["protocol"].value_counts().to_pylist():
            # Items of train are there to learn from; no run asks them.
            is_asked = row["values"] != TRAIN and (not protocols or row["values"] in protocols)
            if not is_asked:
                continue
            count = row["counts"]
            total += min(count, limit) if isinstance(limit, int) else count
    return total
