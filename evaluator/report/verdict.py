"""The verdict on a model: one sentence that says whether it composes, from a closed list of kinds.

Every run gets one. A run that cannot answer the question says so and says why, so that a low number
is never read as a result about composing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evaluator.metrics.formats import number
from evaluator.protocols.errors import BY_ATOM, BY_FAMILIARITY, FAMILIARITY, WRONG
from evaluator.protocols.items import ASYMMETRIC
from evaluator.protocols.records import LABELS, Results
from evaluator.provenance.contamination import CONTAMINATED, UNKNOWN, mark_of
from evaluator.report.overview import MetricLine, main_lines
from evaluator.report.table import confidence, interval
from evaluator.statistics.intervals import claim_of

Row = Mapping[str, Any]
"""A row of results (evaluator.protocols.records.Row)."""

NOT_MEASURED = "not measured"
"""No main metric has a value."""
CONTAMINATED_MODEL = "contaminated"
"""Training showed what is held out, or images that are scored."""
NOTHING_HELD_OUT = "nothing held out"
"""The benchmark holds nothing out of training."""
OTHER_SPLITS = "other splits"
"""The questions are of neither seen nor unseen combinations, as in class lists."""
ONLY_SEEN = "only seen"
ONLY_UNSEEN = "only unseen"
"""Only one of the two splits was scored."""
DIFFERENT_CEILINGS = "different ceilings"
"""The questions of the two splits differ in what an oracle reaches."""
AT_CHANCE = "at chance on seen"
"""The interval of seen contains chance or lies below it."""
FALLS = "falls"
"""The interval of the gap lies above 0."""
RISES = "rises"
"""The interval of the gap lies below 0."""
DOES_NOT_FALL = "does not fall"
"""The interval of the gap contains 0 and excludes a fall that matters (SMALL_FALL)."""
OPEN = "open"
"""The interval of the gap contains 0 and a fall that matters."""
KINDS = (
    NOT_MEASURED,
    CONTAMINATED_MODEL,
    NOTHING_HELD_OUT,
    OTHER_SPLITS,
    ONLY_SEEN,
    ONLY_UNSEEN,
    DIFFERENT_CEILINGS,
    AT_CHANCE,
    FALLS,
    RISES,
    DOES_NOT_FALL,
    OPEN,
)

SMALL_FALL = 0.1
"""The largest fall that is called small, as a share of the skill on seen, which is its value less
chance. With it, at least nine tenths of the skill are shown to carry over. A number of points would
not do: five points of 98% are little, and of 6% almost everything."""

_SEEN, _UNSEEN = "seen", "unseen"
_NO_CONCLUSION = "no conclusion about composing"
_MADE_OF = {
    "object": "name a wrong object",
    "attribute": "name a wrong attribute",
    "relation": "name a wrong relation",
    "binding": "name the right words in a wrong combination",
}
"""{kind of error by atom: what such answers do}; kinds with several atoms follow from these."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a model."""

    kind: str
    """One of KINDS."""
    sentence: str
    """The verdict in words, with its numbers and the claim of their intervals."""

    def record(self) -> dict[str, str]:
        """Make a record for JSON.

        Returns:
            `kind` and `sentence`.
        """
        return {"kind": self.kind, "sentence": self.sentence}


class _Change(NamedTuple):
    """The scored rows of a metric on both splits."""

    seen: Row
    """The row of seen."""
    unseen: Row
    """The row of unseen."""
    gap: Row
    """The row of seen - unseen, in 0..1."""


@dataclass(frozen=True)
class _MainMetric:
    """A main metric on one group of items of one model."""

    line: MetricLine
    """The rows of the metric, by split, and their gaps."""

    @property
    def name(self) -> str:
        """The metric, with what tells it from metrics of the same name, and the model."""
        first = self.line.first
        labels = [first[label] for label in ("protocol", "kind", "skill", "level") if first[label]]
        return f"{first['metric']} ({', '.join(labels)}) of {self.line.entry['model']}"

    @property
    def seen(self) -> Row | None:
        """The row of seen; None if it was not scored."""
        return _scored(self.line.rows.get(_SEEN))

    @property
    def unseen(self) -> Row | None:
        """The row of unseen; None if it was not scored."""
        return _scored(self.line.rows.get(_UNSEEN))

    @property
    def gap(self) -> Row | None:
        """The row of seen - unseen, in 0..1; None if there is none."""
        return _scored(self.line.gaps.get((_SEEN, _UNSEEN)))

    @property
    def change(self) -> "_Change | None":
        """What happens from seen to unseen; None if one of them was not scored."""
        if self.seen is None or self.unseen is None or self.gap is None:
            return None
        return _Change(self.seen, self.unseen, self.gap)

    @property
    def any_row(self) -> Row | None:
        """A scored row of any split, for runs without seen and unseen."""
        return next((row for row in self.line.rows.values() if _scored(row)), None)

    @property
    def comparable(self) -> bool:
        """Whether seen and unseen were scored and have the same ceiling. The gap's `ceiling` is the
        difference of theirs; None if it is not known, as for runs without recorded truths."""
        return self.change is not None and not self.change.gap.get("ceiling")

    @property
    def above_chance(self) -> bool:
        """Whether the interval of seen lies above chance; true if interval or chance is not
        known."""
        seen = self.seen
        if seen is None:
            return False
        if seen["low"] is None or seen["chance"] is None:
            return True
        return bool(seen["low"] > seen["chance"])


def judge(entry: Results) -> Verdict:
    """Judge whether a model composes.

    The verdict is about R@1 of retrieval if that can answer the question, else about the first main
    metric that can: one whose splits have the same ceiling and whose seen questions are above
    chance.

    Args:
        entry: One entry of pooled results (evaluator.analysis.pooling).

    Returns:
        The verdict.

    Example:
        >>> judge({"model": "m", "rows": []}).sentence
        'No conclusion: no question was scored.'
    """
    metric = _choose_metric(entry)
    if metric is None or metric.any_row is None:
        return Verdict(NOT_MEASURED, "No conclusion: no question was scored.")
    training = entry.get("training") or {}
    # First, because nothing that follows is about combinations that are new to the model.
    if training.get("status") == CONTAMINATED:
        return _contaminated(metric)
    change = metric.change
    if change is None:
        return _one_sided(metric)
    # An oracle would show this gap too, so it says nothing about a model.
    if not metric.comparable:
        return _different_ceilings(metric, change)
    # A model that cannot do the task on seen combinations has nothing that it could lose.
    if not metric.above_chance:
        return _at_chance(metric, change.seen)
    low, high = change.gap["low"], change.gap["high"]
    if low is not None and low > 0:
        return _falls(metric, change)
    if high is not None and high < 0:
        return _rises(metric, change)
    # An interval that holds 0 shows no fall only if it is narrow, relative to what can be lost.
    above_chance = change.seen["value"] - (change.seen["chance"] or 0)
    if high is not None and high <= SMALL_FALL * above_chance:
        return _does_not_fall(metric, change)
    return _open(metric, change)


def headline(entries: Sequence[Results]) -> str:
    """Join the sentences of `headline_sentences`.

    Args:
        entries: Pooled results.

    Returns:
        The text.
    """
    return " ".join(headline_sentences(entries))


def headline_sentences(entries: Sequence[Results], paired: str = "") -> list[str]:
    """Write the verdict on the best model, and what follows from its results.

    The best model is the one with the highest value on unseen combinations. Without seen and unseen
    there is no best one, and the verdict is that of the first model.

    Args:
        entries: Pooled results.
        paired: A sentence that compares two models on the same items, which is sharper than the
            lead of one value over another and stands in its place.

    Returns:
        The verdict; then what the model's wrong answers name, its lead over the next model, and
        what familiarity gains, each only if it says something.
    """
    ranked = _ranked(entries)
    if not ranked:
        sentences = [judge(entries[0]).sentence]
        if paired:
            sentences.append(paired)
        return sentences
    best = ranked[0]
    verdict = judge(best.line.entry)
    following = [
        _explanation(best) if verdict.kind == FALLS else "",
        paired or _lead(ranked),
        _tax(best.line.entry),
    ]
    return [verdict.sentence, *filter(None, following)]


def main_line(entry: Results) -> MetricLine | None:
    """Choose the main metric that the verdict on an entry is about.

    Args:
        entry: One entry of pooled results.

    Returns:
        Its rows by split; None without any.
    """
    metric = _choose_metric(entry)
    return None if metric is None else metric.line


def best_entry(entries: Sequence[Results]) -> Results:
    """Choose the entry that the headline is about.

    Args:
        entries: Pooled results.

    Returns:
        The one with the highest value on unseen combinations; without such values the first.
    """
    ranked = _ranked(entries)
    return ranked[0].line.entry if ranked else entries[0]


def other_verdicts(entries: Sequence[Results]) -> list[str]:
    """Write the verdicts on all models but that of the headline.

    Args:
        entries: Pooled results.

    Returns:
        A sentence for each model.
    """
    best = best_entry(entries)
    return [judge(entry).sentence for entry in entries if entry is not best]


def _choose_metric(entry: Results) -> _MainMetric | None:
    metrics = []
    for line in main_lines([entry]):
        if line.first["unit"] != "score":
            metrics.append(_MainMetric(line))
    # Python's sort is stable: apart from retrieval, protocols keep their order.
    metrics.sort(key=lambda metric: metric.line.first["protocol"] != "retrieval")
    # In the order of the verdicts that follow from them: a metric that can answer, then one that
    # can at least say why it cannot.
    preferences = (
        lambda metric: metric.comparable and metric.above_chance,
        lambda metric: metric.comparable,
        lambda metric: metric.gap is not None,
        lambda metric: metric.any_row is not None,
    )
    for preferred in preferences:
        for metric in metrics:
            if preferred(metric):
                return metric
    return metrics[0] if metrics else None


def _contaminated(metric: _MainMetric) -> Verdict:
    values = [f"{_value(row)} on {row['split']}" for row in (metric.seen, metric.unseen) if row]
    numbers = f" {metric.name} is {' and '.join(values)}." if values else ""
    reason = mark_of(metric.line.entry)
    return Verdict(CONTAMINATED_MODEL, f"{_NO_CONCLUSION.capitalize()}. {reason}{numbers}")


def _one_sided(metric: _MainMetric) -> Verdict:
    """The verdict on a run without both splits."""
    any_row = metric.any_row
    assert any_row is not None
    entry = metric.line.entry
    held_out = entry.get("held_out")
    seen, unseen = metric.seen, metric.unseen
    if not held_out and unseen is None:
        return Verdict(
            NOTHING_HELD_OUT,
            f"{metric.name} is {_with_interval(any_row, entry)}: {_NO_CONCLUSION}, because the "
            "benchmark holds nothing out of training.",
        )
    if seen is not None:
        return Verdict(
            ONLY_SEEN,
            f"{metric.name} is {_with_interval(seen, entry)} on seen combinations: "
            f"{_NO_CONCLUSION}, because no question about unseen combinations was scored.",
        )
    if unseen is not None:
        return Verdict(
            ONLY_UNSEEN,
            f"{metric.name} is {_with_interval(unseen, entry)} on unseen combinations: "
            "whether this is a fall is open, because no question about seen combinations was "
            "scored.",
        )
    return Verdict(
        OTHER_SPLITS,
        f"{metric.name} is {_with_interval(any_row, entry)} on {any_row['split']}: "
        f"{_NO_CONCLUSION}, because no question about seen and unseen combinations was scored.",
    )


def _different_ceilings(metric: _MainMetric, change: _Change) -> Verdict:
    seen, unseen, _ = change
    return Verdict(
        DIFFERENT_CEILINGS,
        f"{metric.name} is {_value(seen)} on seen and {_value(unseen)} on unseen combinations: "
        f"{_NO_CONCLUSION}, because an oracle reaches {_ceiling(seen)} and {_ceiling(unseen)}.",
    )


def _at_chance(metric: _MainMetric, seen: Row) -> Verdict:
    entry = metric.line.entry
    chance = number(seen["chance"], "share")
    return Verdict(
        AT_CHANCE,
        f"{metric.name} is at chance on seen combinations, {_with_interval(seen, entry)} where "
        f"chance is {chance}%: {_NO_CONCLUSION}.",
    )


def _falls(metric: _MainMetric, change: _Change) -> Verdict:
    gap = change.gap
    by = f"{_points(gap['value'])} points {_bracketed(gap, metric.line.entry)}"
    return Verdict(FALLS, f"{metric.name} falls {_from_to(change)} by {by}.")


def _rises(metric: _MainMetric, change: _Change) -> Verdict:
    entry, gap = metric.line.entry, change.gap
    # The ends of the interval change places with the sign.
    reverse = {**gap, "value": -gap["value"], "low": -gap["high"], "high": -gap["low"]}
    by = f"{_points(reverse['value'])} points {_bracketed(reverse, entry)}"
    return Verdict(
        RISES,
        f"{metric.name} does not fall: it rises {_from_to(change)} by {by}.{_doubt(entry)}",
    )


def _does_not_fall(metric: _MainMetric, change: _Change) -> Verdict:
    entry, gap = metric.line.entry, change.gap
    most = _points(max(gap["high"], 0.0))
    return Verdict(
        DOES_NOT_FALL,
        f"{metric.name} does not fall by more than {most} points {_from_to(change)}; the "
        f"difference is {number(gap['value'], 'difference')} "
        f"{_bracketed(gap, entry)}.{_doubt(entry)}",
    )


def _open(metric: _MainMetric, change: _Change) -> Verdict:
    entry = metric.line.entry
    seen, unseen, gap = change
    more = "more blocks or trainings" if entry.get("blocks", 1) > 1 else "a rotation or more blocks"
    advice = f"use {more} (docs/splits.md#rotation)"
    values = f"{metric.name} is {_value(seen)} on seen and {_value(unseen)} on unseen combinations"
    if gap["low"] is None:
        return Verdict(OPEN, f"{values}: open, because the difference has no interval; {advice}.")
    half_width = number((gap["high"] - gap["low"]) / 2, "share")
    return Verdict(
        OPEN,
        f"{values}: open, ±{half_width} points {_bracketed(gap, entry)}; {advice}.",
    )


def _ranked(entries: Sequence[Results]) -> list[_MainMetric]:
    """The models that answer the same question on seen and unseen as the first that does, best on
    unseen first."""
    both = []
    for entry in entries:
        metric = _choose_metric(entry)
        if metric is not None and metric.comparable:
            both.append(metric)
    if not both:
        return []
    labels = _labels(both[0].line)
    # Values of different questions have no rank.
    same = [metric for metric in both if _labels(metric.line) == labels]
    return sorted(same, key=lambda metric: -metric.line.rows[_UNSEEN]["value"])


def _labels(line: MetricLine) -> tuple[Any, ...]:
    return (*(line.first[name] for name in LABELS), line.entry["benchmark"])


def _explanation(metric: _MainMetric) -> str:
    """A sentence on the wrong answers on unseen combinations; "" if they are as random texts would
    be.

    A kind of error is told only if the whole interval of its share is above the share of random
    texts. Familiarity comes first, because it is a reason and not a description.
    """
    first = metric.line.first
    entry = metric.line.entry
    labels = {name: first[name] for name in ("protocol", "kind", "skill", "level")}
    labels |= {"split": _UNSEEN, "n": None}
    more_than_random = []
    for row in entry["rows"]:
        is_error = row["metric"] in (BY_FAMILIARITY, BY_ATOM)
        # As familiar and less familiar texts explain nothing.
        is_wrong = row["error"] in (FAMILIARITY[0], *WRONG)
        if not (labels.items() <= row.items() and is_error and is_wrong):
            continue
        if row["low"] is None or row["chance"] is None:
            continue
        if row["low"] > row["chance"]:
            more_than_random.append(row)
    if not more_than_random:
        return ""
    clearest = max(
        more_than_random,
        key=lambda row: (row["metric"] == BY_FAMILIARITY, row["value"] - row["chance"]),
    )
    return (
        f"{_with_interval(clearest, entry)} of its wrong answers on unseen combinations "
        f"{error_in_words(clearest['error'])} (random texts: "
        f"{number(clearest['chance'], 'share')}%)."
    )


def error_in_words(error: str) -> str:
    """Say what answers with a kind of error do.

    Args:
        error: The column `error` of a row of results.

    Returns:
        A verb and its object, in the plural.

    Example:
        >>> error_in_words("attribute and object")
        'name a wrong attribute and a wrong object'
    """
    if error == FAMILIARITY[0]:
        return "name a text that is more familiar from training than the true one"
    if error in _MADE_OF:
        return _MADE_OF[error]
    return "name " + " and ".join(f"a wrong {atom}" for atom in error.split(" and "))


def _lead(ranked: Sequence[_MainMetric]) -> str:
    """A sentence on the best model against the next one; "" for a single model."""
    if len(ranked) < 2:
        return ""
    best, other = ranked[0].line, ranked[1].line
    best_row, other_row = best.rows[_UNSEEN], other.rows[_UNSEEN]
    points = _points(best_row["value"] - other_row["value"])
    names = f"{best.entry['model']} {{}} {other.entry['model']}"
    # As printed: "leads by 0.0 points" would say nothing.
    if points == "0.0":
        return f"On unseen combinations {names.format('is level with')}."
    low_of_best, high_of_other = best_row["low"], other_row["high"]
    is_known = low_of_best is not None and high_of_other is not None
    overlap = not is_known or low_of_best <= high_of_other
    doubt = " (their intervals overlap; `score compare` tests the difference)" if overlap else ""
    return f"On unseen combinations {names.format('leads')} by {points} points{doubt}."


def _tax(entry: Results) -> str:
    """A sentence on what a model gains when the true text is more familiar than its foil; "" if
    this was not asked or may be chance."""
    line = next((line for line in main_lines([entry]) if ASYMMETRIC in line.gaps), None)
    if line is None:
        return ""
    tax = line.gaps[ASYMMETRIC]
    # A tax that the interval does not tell from 0 is no finding for the first screen.
    if tax["low"] is None or tax["low"] <= 0 <= tax["high"]:
        return ""
    familiar_split, unfamiliar_split = ASYMMETRIC
    familiar = _value(line.rows[familiar_split])
    unfamiliar = _value(line.rows[unfamiliar_split])
    return (
        f"When training shows only what the true text names, it is right in {familiar}; when "
        f"training shows only what the foil names, in {unfamiliar}: "
        f"{number(tax['value'], 'difference')} points {_bracketed(tax, entry)}."
    )


def _doubt(entry: Results) -> str:
    """What a result without a fall cannot exclude: a model of unknown training may have seen it
    all."""
    if (entry.get("training") or {}).get("status") != UNKNOWN:
        return ""
    return " Its training is unknown, so it may have seen the held-out combinations."


def _scored(row: Row | None) -> Row | None:
    return None if row is None or row["value"] is None else row


def _from_to(change: _Change) -> str:
    return f"from {_value(change.seen)} on seen to {_value(change.unseen)} on unseen combinations"


def _value(row: Row) -> str:
    return f"{number(row['value'], row['unit'])}%"


def _ceiling(row: Row) -> str:
    return f"{number(row.get('ceiling'), 'share')}%"


def _points(difference: float) -> str:
    return number(difference, "difference").removeprefix("+")


def _with_interval(row: Row, entry: Results) -> str:
    """The value of a row, with its interval and the claim of the interval."""
    return f"{_value(row)} {_bracketed(row, entry)}".strip()


def _bracketed(row: Row, entry: Results) -> str:
    """The interval of a row, with its level and claim; "" if it has none."""
    if row["low"] is None:
        return ""
    ends = interval(row).replace(", ", ",\N{NO-BREAK SPACE}")
    claim = claim_of(row["population"])
    return f"{ends} ({', '.join(filter(None, [confidence(entry), claim]))})"
