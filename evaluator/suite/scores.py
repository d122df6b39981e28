"""Scores of models in the tracks of a suite: one number that can be compared across questions.

Questions differ in what guessing and what an oracle reach. A **skill** is a share right on the
scale from chance (0) to the ceiling (1), as kappa is for agreement: (value - chance) / (ceiling -
chance). The score of a track is the mean over its worlds of the mean over their questions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, isfinite
from typing import Any

from evaluator.protocols.records import Results
from evaluator.report.overview import MetricLine, main_lines

SEEN, UNSEEN = "seen", "unseen"
"""The splits of a rotation that scores are made of."""
_RECALL = "object recall"
_VALUES = "values right"
DESCRIBED = (_RECALL, _VALUES)
"""The measures of descriptions that count in a score: how many objects are named, and how many of
their values are right."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """A skill with its interval. 0 is chance, 1 is the ceiling; below 0 is worse than chance."""

    value: float
    """The skill, or a difference of two."""
    low: float | None
    """Lower end of the 95% interval; None if it has none."""
    high: float | None
    """Its upper end."""
    n_questions: int
    """The number of means that it averages."""

    def record(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "questions": self.n_questions,
        }


@dataclass(frozen=True, kw_only=True)
class WorldScore:
    """The scores of a model in a world."""

    seen: Score | None
    """On combinations that training shows; None where nothing is held out."""
    unseen: Score | None
    """On combinations that training never shows; None where nothing is held out."""
    gap: Score | None
    """Seen less unseen, on the same images in other turns; None where nothing is held out."""
    all_questions: Score | None
    """On all questions of a world that holds nothing out; None for others."""


def score_world(entries: Sequence[Results], *, is_trained: bool) -> WorldScore:
    """Score a model in a world.

    Args:
        entries: Pooled results of the model (evaluator.analysis.pooling), one for each benchmark.
        is_trained: Whether the world holds combinations out of training.

    Returns:
        The scores; all None if no question was scored.
    """
    if not is_trained:
        of_all = _mean_over_protocols(entries, lambda line: _skill(_row_of_all(line)))
        return WorldScore(seen=None, unseen=None, gap=None, all_questions=of_all)
    return WorldScore(
        seen=_mean_over_protocols(entries, lambda line: _skill(line.rows.get(SEEN))),
        unseen=_mean_over_protocols(entries, lambda line: _skill(line.rows.get(UNSEEN))),
        gap=_mean_over_protocols(entries, _skill_of_gap),
        all_questions=None,
    )


def score_descriptions(rows: Sequence[Mapping[str, Any]]) -> WorldScore:
    """Score the descriptions of a model in a world.

    Chance is the better floor: the description of another image, or the image's own values dealt
    to its objects at random.

    Args:
        rows: Rows of descriptions.json (evaluator.descriptions.results.result_rows).

    Returns:
        The score of the measures DESCRIBED over all images.
    """
    skills = []
    for row in rows:
        # Rows by number of objects, interference or load repeat the images of these.
        by_split_alone = row["objects"] is row["interference"] is row["load"] is None
        if row["measure"] not in DESCRIBED or not by_split_alone or row["value"] is None:
            continue
        floors = [row[floor] for floor in ("blind", "unbound") if row[floor] is not None]
        # The better floor, so that a model which does what a floor does has the skill 0 at most.
        chance = max(floors, default=0.0)
        skills.append(_skill({**row, "chance": chance, "ceiling": 1.0}))
    return WorldScore(seen=None, unseen=None, gap=None, all_questions=mean_within(skills))


def mean_within(scores: Sequence[Score | None]) -> Score | None:
    """Average scores of questions about the same images.

    The half-widths of their intervals are averaged too, as if the questions erred together: they
    share images, and how much is not known.

    Args:
        scores: The scores; None for those that are missing.

    Returns:
        The mean; None if none is there. Without interval if one has none.
    """
    present = [score for score in scores if score is not None]
    if not present:
        return None
    return _mean(present, lambda widths: sum(widths) / len(widths))


def mean_over_worlds(scores: Sequence[Score | None]) -> Score | None:
    """Average scores of worlds, which share no image and no training.

    The half-widths of the intervals are added as independent errors are: by their squares.

    Args:
        scores: The scores; None for worlds that have none.

    Returns:
        The mean; None if none is there. Without interval if one has none.

    Example:
        >>> worlds = [Score(value=0.5, low=0.2, high=0.8, n_questions=1)] * 4
        >>> mean = mean_over_worlds(worlds)
        >>> round(mean.low, 3), round(mean.high, 3)
        (0.35, 0.65)
    """
    present = [score for score in scores if score is not None]
    if not present:
        return None
    return _mean(present, lambda widths: hypot(*widths) / len(widths))


def _mean(scores: Sequence[Score], half_width: Callable[[Sequence[float]], float]) -> Score:
    """The mean of one score or more. half_width: gives that of the mean from those of the scores,
    below and above apart."""
    value = sum(score.value for score in scores) / len(scores)
    below: list[float] = []
    above: list[float] = []
    for score in scores:
        if score.low is not None and score.high is not None:
            below.append(score.value - score.low)
            above.append(score.high - score.value)
    # The mean is no surer than its least known part, so one score without an interval leaves it
    # without one.
    has_interval = len(below) == len(scores)
    return Score(
        value=value,
        low=value - half_width(below) if has_interval else None,
        high=value + half_width(above) if has_interval else None,
        n_questions=sum(score.n_questions for score in scores),
    )


def _mean_over_protocols(
    entries: Sequence[Results], skill_of: Callable[[MetricLine], Score | None]
) -> Score | None:
    """The mean over benchmarks and protocols of the mean over the kinds of their questions: a
    protocol of many kinds counts as much as one of few."""
    means = []
    for entry in entries:
        skills: dict[str, list[Score | None]] = {}
        for line in main_lines([entry]):
            skills.setdefault(line.first["protocol"], []).append(skill_of(line))
        means += [mean_within(of_protocol) for of_protocol in skills.values()]
    return mean_within(means)


def _row_of_all(line: MetricLine) -> Mapping[str, Any] | None:
    """The row of a line with most items: that of the only split, or of all splits together."""
    rows = list(line.rows.values())
    return max(rows, key=lambda row: row["items"] or 0) if rows else None


def _skill(row: Mapping[str, Any] | None) -> Score | None:
    """The skill of a row; None if it has no value, or if an oracle does no better than chance."""
    if row is None or row["value"] is None:
        return None
    chance = row["chance"] or 0.0
    room = _ceiling(row) - chance
    if room <= 0:
        return None
    # The scale is known exactly, so the ends of the interval move as the value does.
    low, high = row["low"], row["high"]
    return Score(
        value=(row["value"] - chance) / room,
        low=None if low is None else (low - chance) / room,
        high=None if high is None else (high - chance) / room,
        n_questions=1,
    )


def _skill_of_gap(line: MetricLine) -> Score | None:
    """The skill on seen less that on unseen; None if one is missing.

    Both splits of a rotation have the same images, so chance and ceiling are equal and cancel but
    for the scale.
    """
    seen = line.rows.get(SEEN)
    gap = line.gaps.get((SEEN, UNSEEN))
    if seen is None or gap is None or gap["value"] is None:
        return None
    room = _ceiling(seen) - (seen["chance"] or 0.0)
    if room <= 0:
        return None
    low, high = gap["low"], gap["high"]
    return Score(
        value=gap["value"] / room,
        low=None if low is None else low / room,
        high=None if high is None else high / room,
        n_questions=1,
    )


def _ceiling(row: Mapping[str, Any]) -> float:
    """What an oracle reaches; 1 if it is not known."""
    ceiling = row.get("ceiling")
    return 1.0 if ceiling is None or not isfinite(ceiling) else float(ceiling)
