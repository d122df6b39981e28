"""The tables of a suite: one of all models and tracks, and one of each track's worlds."""

from collections.abc import Mapping
from math import inf

from evaluator.metrics.formats import DASH, number
from evaluator.report.table import Cell, Column, Line, Table
from evaluator.suite.results import SuiteResult
from evaluator.suite.scores import Score, WorldScore

SKILL_NOTE = (
    "Skill in percent: 0 is chance, 100 the ceiling, the mean over the questions of a world and "
    "over worlds. The gap is seen less unseen, in points. Intervals: 95% about this vocabulary "
    "(docs/suite.md)."
)
"""What the numbers are."""
AS_THEY_ARE_NOTE = (
    "{tracks}: models as they are. Nothing is held out from them: what a pretrained model has seen "
    "is not known."
)
"""Stands below tables with tracks that hold nothing out."""
_HEADS: Mapping[str, str] = {
    "seen": "seen",
    "unseen": "unseen",
    "gap": "gap",
    "all_questions": "skill",
}
"""The heads of the parts of a score."""
_OF_TRAINED = ("seen", "unseen", "gap")
_OF_OTHERS = ("all_questions",)
"""The parts of a score that a track shows, if its models are trained on it, and if not."""


def overall_table(result: SuiteResult) -> Table:
    """Make the table of a suite: a line for each model, the scores of each track.

    Args:
        result: The results.

    Returns:
        The table, the best model of the first track first.
    """
    columns = []
    for track_name in result.suite.tracks:
        columns += [Column(_HEADS[part], track_name) for part in _parts(result, track_name)]
    lines = []
    for model in _ranked(result):
        cells = []
        for track_name in result.suite.tracks:
            reason = result.left_out.get((model, track_name), "")
            scores = result.of_track(model, track_name)
            cells += _cells(scores, _parts(result, track_name), reason)
        lines.append(Line([result.label_of(model)], cells))
    return Table(["model"], columns, lines, title=_title(result), notes=_notes(result))


def track_table(result: SuiteResult, track: str) -> Table:
    """Make the table of a track: a line for each model and world.

    Args:
        result: The results.
        track: Name of the track.

    Returns:
        The table, with the scores of each world, the best model of a world first.
    """
    parts = _parts(result, track)
    lines = []
    for world in result.suite.tracks[track].worlds:
        of_world = [one for one in result.worlds if one.track == track and one.world == world]
        of_world.sort(key=lambda one: -_rank_value(one.score))
        for place, one in enumerate(of_world):
            # A rule stands above the first model of a world.
            starts_world = place == 0
            lines.append(Line([world, one.label], _cells(one.score, parts, ""), starts_world))
    columns = [Column(_HEADS[part]) for part in parts]
    return Table(["world", "model"], columns, lines, title=track)


def _parts(result: SuiteResult, track: str) -> tuple[str, ...]:
    """The parts of a score that a track has."""
    return _OF_TRAINED if result.suite.tracks[track].trained else _OF_OTHERS


def _cells(scores: WorldScore, parts: tuple[str, ...], reason: str) -> list[Cell]:
    """The cells of scores. reason: why the model was not asked; "" if it was."""
    cells = []
    for part in parts:
        score = getattr(scores, part)
        if score is None and reason:
            cells.append(Cell(reason=reason))
        else:
            cells.append(_cell(score, part))
    return cells


def _cell(score: Score | None, part: str) -> Cell:
    if score is None:
        return Cell(DASH)
    unit = "difference" if part == "gap" else "skill"
    interval = ""
    if score.low is not None and score.high is not None:
        interval = f"[{number(score.low, unit)}, {number(score.high, unit)}]"
    numbers = {"value": score.value, "low": score.low, "high": score.high}
    return Cell(number(score.value, unit), interval, numbers=numbers)


def _ranked(result: SuiteResult) -> list[str]:
    """The models, the best first: by their skill in the first track, where it is equal or missing
    by that in the next. Models without a skill in a track come after those with one."""

    def order(model: str) -> list[float]:
        return [-_rank_value(result.of_track(model, track)) for track in result.suite.tracks]

    return sorted(result.models, key=order)


def _rank_value(scores: WorldScore) -> float:
    """The skill that models are ranked by: on unseen combinations where some are held out, else on
    all questions; -inf if there is none."""
    score = scores.unseen or scores.all_questions
    return -inf if score is None else score.value


def _title(result: SuiteResult) -> str:
    limited = "" if result.limit is None else f", at most {result.limit:,} items of a protocol"
    return f"{result.suite.full_name}, part {result.part}, form {result.form}{limited}"


def _notes(result: SuiteResult) -> list[str]:
    as_they_are = [name for name, track in result.suite.tracks.items() if not track.trained]
    notes = [SKILL_NOTE]
    if as_they_are:
        notes.append(AS_THEY_ARE_NOTE.format(tracks=", ".join(as_they_are)))
    for model, restriction in result.restrictions.items():
        if model in result.models:
            notes.append(f"{model}: asked {restriction}; not comparable with the others.")
    return notes
