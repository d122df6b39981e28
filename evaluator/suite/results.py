"""Reads the runs of a suite, scores them, and writes results.json."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import marked
from evaluator.report.verdict import judge
from evaluator.runs.described import DescribedRun, is_described, read_described
from evaluator.runs.folder import NamedRun, named_results, open_run, read_results
from evaluator.suite.scores import (
    Score,
    WorldScore,
    mean_over_worlds,
    score_descriptions,
    score_world,
)
from evaluator.suite.work import PlannedRun, Work
from generator.base.files import write_json
from generator.suite.definition import Suite

RESULTS_FILE = "results.json"
PARTS_OF_SCORE = ("seen", "unseen", "gap", "all_questions")
"""The fields of `WorldScore`."""


@dataclass(frozen=True, kw_only=True)
class WorldResult:
    """The results of a model in a world."""

    model: str
    """Name of the model."""
    label: str
    """The name, with its mark if it is contaminated or a stand-in."""
    track: str
    """Name of the track."""
    world: str
    """Name of the world."""
    score: WorldScore
    """Its scores."""
    entries: tuple[Results, ...]
    """Pooled results, one for each benchmark; () for descriptions."""
    runs: tuple[NamedRun, ...]
    """The runs of `score run` that they pool."""
    described: tuple[DescribedRun, ...]
    """The runs of descriptions."""
    verdicts: tuple[str, ...]
    """What the results say in words, a sentence for each benchmark."""


@dataclass(frozen=True, kw_only=True)
class SuiteResult:
    """The results of all models."""

    suite: Suite
    """The suite, with the tracks that were asked."""
    part: str
    """The part of the suite."""
    form: str
    """The form of the suite."""
    limit: int | None
    """Most items of each protocol; None for all."""
    worlds: tuple[WorldResult, ...]
    """The results, in the order of models, tracks and worlds."""
    left_out: Mapping[tuple[str, str], str]
    """By model and track, why there is no result."""
    restrictions: Mapping[str, str]
    """By model, what its file leaves out of the questions that other models are asked."""

    @property
    def models(self) -> list[str]:
        """Names of the models that have results, in order."""
        return list(dict.fromkeys(result.model for result in self.worlds))

    def label_of(self, model: str) -> str:
        """Name a model with the mark that it has in any world.

        Args:
            model: Name of the model.

        Returns:
            The name with its mark.
        """
        # A model that is contaminated in one world is not comparable in the mean over worlds
        # either.
        labels = [result.label for result in self.worlds if result.model == model]
        return next((label for label in labels if label != model), model)

    def of_track(self, model: str, track: str) -> WorldScore:
        """Average the scores of a model over the worlds of a track.

        Args:
            model: Name of the model.
            track: Name of the track.

        Returns:
            The means; None where no world has a score.
        """
        scores = [
            result.score
            for result in self.worlds
            if result.model == model and result.track == track
        ]
        means: dict[str, Score | None] = {}
        for part in PARTS_OF_SCORE:
            means[part] = mean_over_worlds([getattr(score, part) for score in scores])
        return WorldScore(**means)


def read_suite_results(
    stages: Path,
    suite: Suite,
    work: Work,
    *,
    part: str,
    form: str,
    limit: int | None = None,
    failed: Mapping[str, str] | None = None,
) -> SuiteResult:
    """Read the runs of a suite and score them.

    Args:
        stages: The folder of all stages.
        suite: The suite, with the tracks that were asked.
        work: What was asked.
        part: The part of the suite.
        form: Its form.
        limit: Most items of each protocol; None for all.
        failed: By name of a failed stage, why it failed. Its runs are left out.

    Returns:
        The results.

    Raises:
        UserError: A run is missing or damaged.
    """
    failed = failed or {}
    left_out = dict(work.left_out)
    runs_by_world: dict[tuple[str, str, str], list[PlannedRun]] = {}
    for run in work.runs:
        if run.stage.name in failed:
            # A table has one cell for the reason, whichever of the track's runs failed.
            left_out.setdefault((run.model, run.track), failed[run.stage.name])
        else:
            runs_by_world.setdefault((run.model, run.track, run.world), []).append(run)
    worlds = []
    for (model, track, world), runs in runs_by_world.items():
        is_trained = suite.tracks[track].trained
        worlds.append(_read_world(stages, model, track, world, runs, is_trained=is_trained))
    return SuiteResult(
        suite=suite,
        part=part,
        form=form,
        limit=limit,
        worlds=tuple(worlds),
        left_out=left_out,
        restrictions=work.restrictions,
    )


def _read_world(
    stages: Path,
    model: str,
    track: str,
    world: str,
    runs: Sequence[PlannedRun],
    *,
    is_trained: bool,
) -> WorldResult:
    named_runs = []
    described = []
    for run in runs:
        for folder in run.folders(stages):
            if is_described(str(folder)):
                described.append(read_described(f"{model}={folder}"))
            else:
                opened = open_run(folder)
                named_runs.append(NamedRun(opened, named_results(read_results(opened), model)))

    # Runs of one benchmark, or of the turns of a rotation, are pooled; others are other questions.
    folders_of_benchmark: dict[str, set[str]] = {}
    for run in runs:
        folders = folders_of_benchmark.setdefault(run.benchmark, set())
        folders.update(str(folder) for folder in run.folders(stages))
    entries: list[Results] = []
    for folders in folders_of_benchmark.values():
        results = [run.results for run in named_runs if str(run.run.folder) in folders]
        entries += pool_runs(results)
    if described:
        score = score_descriptions(described[0].record["rows"])
    else:
        score = score_world(entries, is_trained=is_trained)
    records = [*entries, *(run.record for run in described)]
    sentences = [judge(entry).sentence for entry in entries]
    sentences += [run.record["sentence"] for run in described]
    return WorldResult(
        model=model,
        label=marked(model, records[0]) if records else model,
        track=track,
        world=world,
        score=score,
        entries=tuple(entries),
        runs=tuple(named_runs),
        described=tuple(described),
        verdicts=tuple(sentences),
    )


def results_record(result: SuiteResult) -> dict[str, Any]:
    """Make the record of the results.

    Args:
        result: The results.

    Returns:
        JSON data: suite, part, form, limit; for each model its score in each track and world and
        the verdicts; names with marks, of models that are contaminated or stand-ins; why
        models are left out of tracks.
    """
    models: dict[str, Any] = {}
    for name in result.models:
        tracks: dict[str, Any] = {}
        for track in result.suite.tracks:
            worlds = {}
            for one in result.worlds:
                if one.model == name and one.track == track:
                    worlds[one.world] = {**_score_record(one.score), "verdicts": one.verdicts}
            if worlds:
                tracks[track] = {**_score_record(result.of_track(name, track)), "worlds": worlds}
        models[name] = tracks
    left_out = []
    for (model, track), reason in result.left_out.items():
        left_out.append({"model": model, "track": track, "reason": reason})
    marked_names = {}
    for name in models:
        label = result.label_of(name)
        if label != name:
            marked_names[name] = label
    return {
        "suite": result.suite.full_name,
        "part": result.part,
        "form": result.form,
        "limit": result.limit,
        "models": models,
        "marked": marked_names,
        "restrictions": dict(result.restrictions),
        "left_out": left_out,
    }


def write_results(result: SuiteResult, folder: Path) -> Path:
    """Write results.json.

    Args:
        result: The results.
        folder: Folder of the suite's results.

    Returns:
        The path of the file.
    """
    path = folder / RESULTS_FILE
    write_json(path, results_record(result))
    return path


def _score_record(score: WorldScore) -> dict[str, Any]:
    """The parts of a score that have a value."""
    record = {}
    for part in PARTS_OF_SCORE:
        value = getattr(score, part)
        if value is not None:
            record[part] = value.record()
    return record
