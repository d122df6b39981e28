"""The questions that rows of results answer beyond the verdict, each with one plain sentence.

The page folds its tables and figures by them, and the terminal prints their sentences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.metrics.formats import number
from evaluator.protocols.errors import BY_ATOM, BY_FAMILIARITY
from evaluator.protocols.hard_positives import BRITTLENESS
from evaluator.protocols.records import LABELS, Results
from evaluator.protocols.steps import HALF_POINT, Steps, read_step
from evaluator.report.overview import MetricLine, read_lines
from evaluator.report.verdict import (
    AT_CHANCE,
    DOES_NOT_FALL,
    FALLS,
    OPEN,
    RISES,
    error_in_words,
    judge,
)

Row = Mapping[str, Any]
"""A row of results (evaluator.protocols.records.Row)."""
Cells = Sequence[Mapping[str, Any]]
"""Cells of a grid of values and objects (evaluator.report.audit_figures.grid)."""

_NAMED = 3
"""How many measures a sentence names: with more, nobody reads it."""
_SPLITS = ("unseen", "full", "seen")
"""The split that a sentence is about: the first of these that has a value, else any."""
_IN_WORDS = {
    FALLS: "falls",
    RISES: "rises",
    DOES_NOT_FALL: "does not fall",
    OPEN: "is open",
    AT_CHANCE: "is at chance on seen",
}
"""{kind of verdict: what a measure does}; other kinds allow no conclusion."""


@dataclass(frozen=True)
class ReportQuestion:
    """A question, which rows of results answer."""

    name: str
    """The anchor of its section on the page, and the first word of the names of its figures."""
    title: str
    """The question in words."""
    owns: Callable[[Row], bool]
    """Whether a row of results belongs to it."""
    sentence: Callable[[Sequence[MetricLine]], str]
    """The answer, from the lines of one model; "" if they have no value."""
    by_complexity: bool = False
    """Whether its lines are one for each number of atoms."""


def answers_of(entry: Results) -> list[tuple[ReportQuestion, str, list[MetricLine]]]:
    """Answer the questions that have rows of results.

    Args:
        entry: One entry of pooled results.

    Returns:
        (question, its sentence, its lines) of each question that the rows answer, in the order of
        the page.
    """
    answers = []
    for question in QUESTIONS:
        lines = read_lines([entry], question.owns, by_n=question.by_complexity)
        if lines:
            answers.append((question, question.sentence(lines), lines))
    return answers


def lines_of(question: ReportQuestion, entries: Sequence[Results]) -> list[MetricLine]:
    """Collect the rows of a question over several models.

    Args:
        question: The question.
        entries: Pooled results.

    Returns:
        The lines.
    """
    return read_lines(entries, question.owns, by_n=question.by_complexity)


def about_grid(cells: Cells) -> str:
    """Say which combinations of a grid of values and objects are hard.

    Args:
        cells: The cells of one model: `value`, `object`, `share` (0..1) and `held_out`.

    Returns:
        A sentence; "" without cells.

    Example:
        >>> red = {"value": "red", "object": "cube", "share": 0.25, "held_out": True}
        >>> blue = {"value": "blue", "object": "star", "share": 0.75, "held_out": False}
        >>> about_grid([red, blue]).split("; ")[1]
        'red cube is hardest (25.0%), blue star easiest (75.0%).'
    """
    if not cells:
        return ""
    ordered = sorted(cells, key=lambda cell: cell["share"])
    hardest, easiest = ordered[0], ordered[-1]
    ends = (
        f"{hardest['value']} {hardest['object']} is hardest "
        f"({number(hardest['share'], 'share')}%), "
        f"{easiest['value']} {easiest['object']} easiest ({number(easiest['share'], 'share')}%)."
    )
    held_out = [cell["share"] for cell in cells if cell["held_out"]]
    others = [cell["share"] for cell in cells if not cell["held_out"]]
    if not held_out or not others:
        return ends
    held_out_mean = number(sum(held_out) / len(held_out), "share")
    other_mean = number(sum(others) / len(others), "share")
    return f"Held-out combinations average {held_out_mean}%, others {other_mean}%; {ends}"


def _about_tasks(lines: Sequence[MetricLine]) -> str:
    """What each main metric does from seen to unseen combinations."""
    changes = []
    for line in lines:
        if {"seen", "unseen"} <= set(line.rows):
            rows = [*line.rows.values(), *line.gaps.values()]
            changes.append((line, judge({**line.entry, "rows": rows}).kind))
    if not changes:
        return _values(lines)
    if len(changes) <= _NAMED:
        return _sentence([f"{_name(line)} {_change(line, kind)}" for line, kind in changes])
    # Too many to name: how many of them do what.
    counts: dict[str, int] = {}
    for _, kind in changes:
        words = _IN_WORDS.get(kind, "allows no conclusion")
        counts[words] = counts.get(words, 0) + 1
    parts = ", ".join(f"{count} {_for_several(words, count)}" for words, count in counts.items())
    return f"Of {len(changes)} main measures from seen to unseen combinations, {parts}."


def _for_several(words: str, count: int) -> str:
    """What several measures do.

    >>> _for_several("is open", 2), _for_several("does not fall", 2), _for_several("falls", 1)
    ('are open', 'do not fall', 'falls')
    """
    if count == 1:
        return words
    verb, _, rest = words.partition(" ")
    plural = {"is": "are", "does": "do"}.get(verb, verb.removesuffix("s"))
    return f"{plural} {rest}".strip()


def _change(line: MetricLine, kind: str) -> str:
    """What a measure does, with its values.

    The words depend on the kind of verdict: only a fall or a rise goes "from … to".
    """
    seen = _percent(line.rows["seen"])
    unseen = _percent(line.rows["unseen"])
    words = _IN_WORDS.get(kind, "allows no conclusion")
    if kind in (FALLS, RISES):
        return f"{words} from {seen} to {unseen}"
    return f"{words} (seen {seen}, unseen {unseen})"


def _about_errors(lines: Sequence[MetricLine]) -> str:
    """The most frequent kind of wrong answer."""
    rows = []
    for line in lines:
        row = _row_of(line)
        if row is not None and row["value"] > 0:
            rows.append(row)
    if not rows:
        return ""
    # Rows of the split that the first of _SPLITS names come first, whatever other lines have.
    split = min((row["split"] for row in rows), key=_rank)
    same_split = [row for row in rows if row["split"] == split]
    row = max(same_split, key=lambda row: row["value"])
    of = "all answers" if "prediction" in row["metric"] else "wrong answers"
    where = "" if split in ("full", None) else f" on {split} combinations"
    kind = f"are of the kind '{row['error']}'"
    words = error_in_words(row["error"]) if row["metric"] == BY_ATOM else kind
    return f"{_percent(row)} of {of}{where} {words}{_random(row)}."


def _about_familiarity(lines: Sequence[MetricLine]) -> str:
    """Whether wrong answers name more familiar texts than random ones would."""
    for line in lines:
        row = line.rows.get("unseen")
        if line.first["error"] != "more familiar" or row is None or row["value"] is None:
            continue
        share = (
            f"{_percent(row)} of wrong answers on unseen combinations name a text that is more "
            f"familiar from training than the true one"
        )
        if row["chance"] is None:
            return f"{share}."
        chance = f"{number(row['chance'], 'share')}%"
        if row["low"] is not None and row["low"] > row["chance"]:
            return f"Yes: {share}, random texts {chance}."
        if row["high"] is not None and row["high"] < row["chance"]:
            return f"No, less than random texts would: {share}, random texts {chance}."
        return f"Not shown: {share}, random texts {chance}, which the interval contains."
    return "No wrong answer on unseen combinations could name a more familiar text."


def _about_rules(lines: Sequence[MetricLine]) -> str:
    """The same items by other metrics."""
    return _values([line for line in lines if line.first["unit"] == "share"])


def _about_rewording(lines: Sequence[MetricLine]) -> str:
    """How often a false text lies between two true ones."""
    for line in lines:
        row = _row_of(line)
        if row is not None:
            return (
                f"In {_percent(row)} of the questions{_where(row)} a false text lies between a "
                f"caption and its paraphrase{_random(row)}."
            )
    return ""


def _about_complexity(lines: Sequence[MetricLine]) -> str:
    """The first main metric with the fewest and with the most atoms."""
    main = [line for line in lines if line.first["is_main"] and _row_of(line) is not None]
    if not main:
        return ""
    labels = [main[0].first[name] for name in LABELS]
    # Two ends of one curve: other kinds or protocols have captions of other lengths.
    same = [line for line in main if [line.first[name] for name in LABELS] == labels]
    same.sort(key=lambda line: line.first["n"])
    fewest, most = same[0], same[-1]
    fewest_row = _row_of(fewest)
    most_row = _row_of(most)
    assert fewest_row is not None
    assert most_row is not None
    return (
        f"{_name(fewest)} is {_percent(fewest_row)} with {fewest.first['n']} atoms and "
        f"{_percent(most_row)} with {most.first['n']}{_where(fewest_row)}."
    )


def _about_steps(lines: Sequence[MetricLine]) -> str:
    """Where accuracy falls to half between 100% and chance."""
    sentences = []
    for line in lines:
        if line.first["metric"] != HALF_POINT:
            continue
        factor = line.first["kind"]
        row = next(iter(line.rows.values()))
        if row["value"] is not None:
            sentences.append(f"At {factor} {row['value']:.3g}{_between(row)}.")
            continue
        # The curve does not cross half within the ladder.
        steps = _rows_of_factor(lines, factor)
        if not steps:
            continue
        easiest, hardest = steps[0], steps[-1]
        # Half of the way from 100% to chance, since no model falls below chance.
        half = (1 + easiest["chance"]) / 2
        if easiest["value"] < half:
            sentences.append(
                f"It is below half ({number(half, 'share')}%) at the easiest step already, "
                f"{easiest['kind']}: {_percent(easiest)}."
            )
        else:
            sentences.append(
                f"It does not fall to half ({number(half, 'share')}%) up to the hardest step, "
                f"{hardest['kind']}: {_percent(hardest)}."
            )
    return " ".join(sentences)


def _rows_of_factor(lines: Sequence[MetricLine], factor: str) -> list[Row]:
    """The scored rows of accuracy at each step of a factor, easiest first, as the rows are."""
    rows = []
    for line in lines:
        if line.first["metric"] == HALF_POINT:
            continue
        own_factor, _ = read_step(line.first["kind"])
        row = _row_of(line)
        if own_factor == factor and row is not None:
            rows.append(row)
    return rows


def _between(row: Row) -> str:
    """The interval of a half point; an open end lies beyond the ladder."""
    if row["low"] is None and row["high"] is None:
        return ""
    low = "…" if row["low"] is None else f"{row['low']:.3g}"
    high = "…" if row["high"] is None else f"{row['high']:.3g}"
    return f" [{low}, {high}]"


def _values(lines: Sequence[MetricLine]) -> str:
    """The values of the first measures, on seen and unseen combinations where both are known."""
    parts = []
    for line in lines:
        rows = [line.rows[split] for split in ("seen", "unseen") if split in line.rows]
        scored = [row for row in rows if row["value"] is not None]
        if not scored:
            alone = _row_of(line)
            scored = [] if alone is None else [alone]
        if scored:
            values = " and ".join(f"{_percent(row)}{_on(row)}" for row in scored)
            parts.append(f"{_name(line)} is {values}")
    return _sentence(parts[:_NAMED])


def _sentence(parts: Sequence[str]) -> str:
    return f"{'; '.join(parts)}." if parts else ""


def _rank(split: str | None) -> int:
    return _SPLITS.index(split) if split in _SPLITS else len(_SPLITS)


def _row_of(line: MetricLine) -> Row | None:
    """The scored row of the split that comes first in _SPLITS; None without one."""
    scored = [row for row in line.rows.values() if row["value"] is not None]
    return min(scored, key=lambda row: _rank(row["split"]), default=None)


def _on(row: Row) -> str:
    return "" if row["split"] in ("full", None) else f" on {row['split']}"


def _where(row: Row) -> str:
    return f"{_on(row)} combinations" if _on(row) else ""


def _random(row: Row) -> str:
    return "" if row["chance"] is None else f" (by chance: {number(row['chance'], 'share')}%)"


def _percent(row: Row) -> str:
    return f"{number(row['value'], row['unit'])}%"


def _name(line: MetricLine) -> str:
    """A measure in words: its metric, and in brackets what tells it from others."""
    first = line.first
    labels = [first[name] for name in ("protocol", "kind", "skill", "level") if first[name]]
    return f"{first['metric']} ({', '.join(labels)})"


def _is_reworded(row: Row) -> bool:
    return row["metric"] == BRITTLENESS


def _is_of_ladder(row: Row) -> bool:
    return row["protocol"] == Steps.name and row["error"] is None


# The predicates exclude one another, so that no row is shown in two sections.
QUESTIONS = (
    ReportQuestion(
        "split",
        "Does every task show the same?",
        lambda row: (
            row["is_main"] and row["error"] is None and row["n"] is None and not _is_of_ladder(row)
        ),
        _about_tasks,
    ),
    ReportQuestion(
        "steps",
        "Where does accuracy fall to half between 100% and chance?",
        _is_of_ladder,
        _about_steps,
    ),
    ReportQuestion(
        "familiar",
        "Do wrong answers follow what training has shown?",
        lambda row: row["metric"] == BY_FAMILIARITY,
        _about_familiarity,
    ),
    ReportQuestion(
        "errors",
        "What do wrong answers name?",
        lambda row: row["error"] is not None and row["metric"] != BY_FAMILIARITY,
        _about_errors,
    ),
    ReportQuestion(
        "rewording",
        "Does another wording change the answer?",
        lambda row: _is_reworded(row) and row["n"] is None,
        _about_rewording,
    ),
    ReportQuestion(
        "complexity",
        "Are longer captions harder?",
        lambda row: row["error"] is None and row["n"] is not None,
        _about_complexity,
        by_complexity=True,
    ),
    ReportQuestion(
        "rules",
        "What do other rules of counting give?",
        lambda row: (
            not row["is_main"]
            and row["error"] is None
            and row["n"] is None
            and not _is_reworded(row)
            and not _is_of_ladder(row)
        ),
        _about_rules,
    ),
)
"""All questions, in the order of the page. Each row of results belongs to one of them, except the
errors by number of atoms, which only the table of every row has."""
