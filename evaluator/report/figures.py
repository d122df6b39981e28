"""Figures, as SVG text to stand inside a page."""

import io
from collections.abc import Sequence
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

_COLOURS = ("#0b6e99", "#c2571a", "#4d7c0f", "#7c3aed", "#be123c", "#525252")


def accuracy_by_split(results: Sequence[dict[str, Any]], protocol: str) -> str:
    """Accuracy by split with 95% intervals, a line a run, and the chance level, as an <svg> element."""
    runs = [run for run in results if protocol in run["protocols"]]
    summary = runs[0]["protocols"][protocol]
    splits = [split for split in summary["splits"] if split != "val"]
    with plt.rc_context(
        {"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "jackalope"}
    ):
        figure, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
        for i, run in enumerate(runs):
            rows = [run["protocols"][protocol]["splits"][split] for split in splits]
            values = [100 * row["value"] if row["value"] is not None else float("nan") for row in rows]
            reach = [
                [v - 100 * (r["low"] or 0) for v, r in zip(values, rows, strict=True)],
                [100 * (r["high"] or 0) - v for v, r in zip(values, rows, strict=True)],
            ]
            places = [x + 0.06 * (i - (len(runs) - 1) / 2) for x in range(len(splits))]
            axes.errorbar(
                places, values, yerr=reach, marker="o", capsize=4, color=_COLOURS[i % len(_COLOURS)], label=run["model"]
            )
        axes.axhline(100 * summary["chance"], color="#888", linestyle="--", linewidth=1)
        axes.annotate(
            "chance",
            (-0.28, 100 * summary["chance"]),
            xytext=(0, 3),
            textcoords="offset points",
            color="#666",
            fontsize=9,
        )
        axes.set(xticks=range(len(splits)), xticklabels=splits, ylabel=f"{summary['metric']}, %", ylim=(-3, 103))
        axes.set_xlim(-0.3, len(splits) - 0.7)
        axes.spines[["top", "right"]].set_visible(False)
        if len(runs) > 1:
            axes.legend(fontsize=8, frameon=False)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
