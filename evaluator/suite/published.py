"""Reads results.json of `score suite` where its runs are not: tables that somebody published.

Nothing can be computed again from them, so a board shows them as self-reported, apart from
submissions (docs/leaderboard.md).
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from evaluator.suite.results import PARTS_OF_SCORE, RESULTS_FILE, SuiteResult, WorldResult
from evaluator.suite.scores import Score, WorldScore
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.paths import file_in
from generator.suite.definition import read_suite, suite_names

_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Text = Annotated[str, Field(max_length=2000)]
"""A name or a sentence of a page."""


class _ScoreRecord(TypedDict):
    """What `Score.record` wrote."""

    value: _Finite
    """The skill, or a difference of two; 1 is the ceiling."""
    low: _Finite | None
    """Lower end of its interval; None if it has none."""
    high: _Finite | None
    """Upper end of its interval; None if it has none."""
    questions: int
    """The number of means that it averages."""


class _WorldRecord(TypedDict, total=False):
    """The scores of a model in a world; parts without a value are left out."""

    seen: _ScoreRecord
    """As `WorldScore.seen`."""
    unseen: _ScoreRecord
    """As `WorldScore.unseen`."""
    gap: _ScoreRecord
    """As `WorldScore.gap`."""
    all_questions: _ScoreRecord
    """As `WorldScore.all_questions`."""
    verdicts: list[_Text]
    """What the results say in words."""


class _TrackRecord(TypedDict):
    """The worlds of a track. Its means are computed again from them."""

    worlds: dict[_Text, _WorldRecord]
    """By name of the world."""


class _LeftOut(TypedDict):
    """A model that lacks results in a track."""

    model: _Text
    """Name of the model."""
    track: _Text
    """Name of the track."""
    reason: _Text
    """Why it has none, as a clause."""


class _Published(TypedDict):
    """The contents of results.json (`evaluator.suite.results.results_record`)."""

    suite: _Text
    """Name of the suite with its version."""
    part: _Text
    """Part of the suite."""
    form: _Text
    """Form of the suite."""
    limit: int | None
    """Most items of each protocol; None for all."""
    models: dict[_Text, dict[_Text, _TrackRecord]]
    """By name of the model and of the track."""
    marked: dict[_Text, _Text]
    """By name of a contaminated model or stand-in, the name with its mark."""
    restrictions: dict[_Text, _Text]
    """By name of a model, what its file leaves out of the questions."""
    left_out: list[_LeftOut]
    """The models without results in a track."""


def published_in(folder: Path) -> list[Path]:
    """Find published results.

    Args:
        folder: A folder with results.json of `score suite`, or a folder of such folders.

    Returns:
        The folders that have one, sorted.
    """
    if _has_results(folder):
        return [folder]
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.glob("[!.]*") if _has_results(path))


def _has_results(folder: Path) -> bool:
    # The results.json of a single run lies beside its run.json.
    return (folder / RESULTS_FILE).is_file() and not (folder / "run.json").exists()


def read_published(folder: Path) -> SuiteResult:
    """Read published results.

    Args:
        folder: The folder of results.json.

    Returns:
        The results, without runs. Means over worlds are computed from the worlds, as for results
        that have runs.

    Raises:
        UserError: The file is damaged, a link, or of a suite, part, track or world that is not
            known here.
    """
    # A board is made of strangers' folders: a link could lead to a file of the organiser's.
    path = file_in(folder, RESULTS_FILE)
    record = read_json(path, _Published)
    # Which worlds a track has stands in the declaration of the suite, not in its results.
    if record["suite"] not in suite_names():
        known = ", ".join(suite_names())
        raise UserError(
            f"{path} is of the suite '{record['suite']}', which this version does not have (it has "
            f"{known}); give submissions of `score submit` instead."
        )
    suite = read_suite(record["suite"]).in_part(record["part"])
    worlds = []
    for model, tracks in record["models"].items():
        for track, of_track in tracks.items():
            for world, scores in of_track["worlds"].items():
                if track not in suite.tracks or world not in suite.tracks[track].worlds:
                    raise UserError(
                        f"{path} has the world '{world}' of the track '{track}', which "
                        f"{suite.full_name} does not have; write it again with `score suite`."
                    )
                worlds.append(
                    WorldResult(
                        model=model,
                        label=record["marked"].get(model, model),
                        track=track,
                        world=world,
                        score=_score_of(scores),
                        entries=(),
                        runs=(),
                        described=(),
                        verdicts=tuple(scores.get("verdicts", ())),
                    )
                )
    left_out = {(one["model"], one["track"]): one["reason"] for one in record["left_out"]}
    return SuiteResult(
        suite=suite,
        part=record["part"],
        form=record["form"],
        limit=record["limit"],
        worlds=tuple(worlds),
        left_out=left_out,
        restrictions=record["restrictions"],
    )


def _score_of(record: _WorldRecord) -> WorldScore:
    parts: dict[str, Score | None] = dict.fromkeys(PARTS_OF_SCORE)
    for part in PARTS_OF_SCORE:
        values = record.get(part)
        if isinstance(values, dict):
            parts[part] = Score(
                value=values["value"],
                low=values["low"],
                high=values["high"],
                n_questions=values["questions"],
            )
    return WorldScore(**parts)
