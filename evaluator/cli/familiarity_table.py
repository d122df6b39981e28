"""What `score familiarity` prints."""

from typing import Any

from evaluator.audits.familiarity.corpus_files import Corpus, by_number
from evaluator.audits.familiarity.counting import Counted


def said(summary: dict[str, Any]) -> str:
    """The figures of an audit as lines."""
    corpus, rates = summary["corpus"], summary["rates"]
    inside = sum(summary["buckets"].values())
    lines = [
        f"{summary['benchmark']} against {summary['reference']}: {inside:,} of {summary['samples']:,} samples, "
        f"captions read as "
        f"{summary['captions']}, phrases by {summary['extractor']}, match by {summary['match']}.",
        *(f"  excluded: {n:,}, {reason}" for reason, n in summary["excluded"].items()),
        f"Corpus: {corpus['captions']:,} captions, {corpus['phrases']:,} phrases "
        f"({_percent(_share(corpus['bare'], corpus['phrases']))} "
        f"bare nouns, which show no binding), {corpus['bindings']:,} different bindings ({corpus['function_words']:,} "
        f"with a function word).",
        "",
        "bucket              samples",
        *(f"{name:<18} {n:>8,}" for name, n in summary["buckets"].items()),
        f"Without those of close matches alone: "
        f"{', '.join(f'{name} {n:,}' for name, n in summary['partitions'].items())}.",
        *(
            f"No sample is {name}: that partition has no mean."
            for name, n in summary["partitions"].items()
            if not n and inside
        ),
        "",
        "samples            all seen  all unseen",
        *(
            f"{name:<18} {_percent(rates[name]['seen']):>8}  {_percent(rates[name]['unseen']):>10}"
            for name in ("strict", "loose")
        ),
        "",
        "bindings of         perfect     close      none",
        *_sides(summary["bindings"], ""),
        *_sides(summary["bindings_mixed"], ", mixed"),
        "",
    ]
    if summary["asymmetry"]["value"] is None:
        return "\n".join([*lines, "No sample is left, so there is no asymmetry."])
    lines.append(
        f"Of a true caption's bindings {_points(summary['asymmetry'])} more are perfect matches than of its false "
        f"one's (mean over samples, "
        "95% interval over images or other clusters)."
    )
    lines.extend(f"  true captions {slot}: {_points(each)}" for slot, each in summary["asymmetry_of"].items())
    if summary["duplicates"]:
        lines.append(
            f"{summary['duplicates']:,} samples repeat the image and both captions of another; they count as published."
        )
    return "\n".join(lines)


def corpus_said(corpus: Corpus, counted: Counted) -> list[str]:
    """What of a corpus was not counted, and what its numbers lack; no line where that is nothing."""
    lines = [
        f"{what}: {by_number(numbers)}."
        for what, numbers in (
            ("Entries of the corpus that are left out", counted.left_out),
            ("Not read", corpus.not_read),
            ("Not read, since a file beside them has the same captions", corpus.repeated),
        )
        if numbers
    ]
    if counted.tables:
        lines.append(
            f"Tables of counts: {counted.tables:,}; what they were counted from is not in the numbers of captions and "
            f"phrases."
        )
    return lines


def _sides(shares: dict[str, Any], of: str) -> list[str]:
    return [
        f"{side + of:<18} {_percent(each['perfect']):>8}  {_percent(each['close']):>8}  {_percent(each['none']):>8}"
        for side, each in shares.items()
    ]


def _points(asymmetry: dict[str, Any]) -> str:
    value, low, high = (
        None if asymmetry[name] is None else f"{100 * asymmetry[name]:+z.1f}" for name in ("value", "low", "high")
    )
    return f"{value} points" + ("" if low is None else f" [{low}, {high}]")


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"
