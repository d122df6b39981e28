"""What `score familiarity` prints."""

from typing import Any


def said(summary: dict[str, Any]) -> str:
    """The figures of an audit as lines."""
    corpus, rates, shares = summary["corpus"], summary["rates"], summary["bindings"]
    inside = sum(summary["buckets"].values())
    lines = [
        f"{summary['benchmark']} against {summary['reference']}: {inside:,} of {summary['samples']:,} samples, captions read as "
        f"{summary['captions']}, phrases by {summary['extractor']}, match by {summary['match']}.",
        *(f"  excluded: {n:,}, {reason}" for reason, n in summary["excluded"].items()),
        f"Corpus: {corpus['captions']:,} captions, {corpus['phrases']:,} phrases ({_percent(_share(corpus['bare'], corpus['phrases']))} "
        f"bare nouns, which show no binding), {corpus['bindings']:,} different bindings ({corpus['function_words']:,} with a function word).",
        "",
        "bucket              samples",
        *(f"{name:<18} {n:>8,}" for name, n in summary["buckets"].items()),
        "",
        "samples            all seen  all unseen",
        *(
            f"{name:<18} {_percent(rates[name]['seen']):>8}  {_percent(rates[name]['unseen']):>10}"
            for name in ("strict", "loose")
        ),
        "",
        "bindings of         perfect     close      none",
        *(
            f"{side:<18} {_percent(shares[side]['perfect']):>8}  {_percent(shares[side]['close']):>8}  {_percent(shares[side]['none']):>8}"
            for side in ("positive", "negative")
        ),
        "",
    ]
    asymmetry = summary["asymmetry"]
    if asymmetry["value"] is None:
        return "\n".join([*lines, "No sample is left, so there is no asymmetry."])
    numbers = [100 * asymmetry[name] for name in ("value", "low", "high")]
    lines.append(
        f"Of a true caption's bindings {numbers[0]:+.1f} points [{numbers[1]:+.1f}, {numbers[2]:+.1f}] more are perfect matches than of its "
        "false one's (mean over samples, 95% interval)."
    )
    if summary["duplicates"]:
        lines.append(f"{summary['duplicates']:,} samples repeat the bindings of another; they count as published.")
    return "\n".join(lines)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"
