"""Draws points on a plane: a panel for each model, a colour for each caption, a marker for each split."""

import io
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np

from evaluator.audits.embeddings.points import Class

matplotlib.use("svg")
from matplotlib import pyplot as plt

_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
_STYLE = {"font.family": "sans-serif", "font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "jackalope", "text.parse_math": False}  # fmt: skip


def draw_points(classes: Sequence[Class], of: Sequence[int], places: Mapping[str, np.ndarray], title: str) -> str:
    """An <svg> element. of: the index of each point's class, n of them. places: (n, 2) by the name of the model."""
    splits = list(dict.fromkeys(each.split for each in classes))
    names = _short([each.caption for each in classes])
    owner = np.asarray(of)
    with plt.rc_context(_STYLE):  # type: ignore[arg-type]
        figure, grid = plt.subplots(1, len(places), figsize=(6.5 * len(places), 6), layout="constrained", squeeze=False)
        colours = plt.get_cmap("turbo")(np.linspace(0.05, 0.95, len(classes)))
        for axes, (model, points) in zip(grid[0], places.items(), strict=True):
            for i, each in enumerate(classes):
                own = points[owner == i]
                marker = _MARKERS[splits.index(each.split) % len(_MARKERS)]
                axes.scatter(*own.T, s=22, color=colours[i], marker=marker)
                axes.annotate(names[i], own.mean(0), xytext=(0, 4), textcoords="offset points", ha="center", fontsize=6)
            axes.margins(0.12)
            axes.set(title=f"{title}, {model}", xticks=[], yticks=[])
        for split, marker in zip(splits, _MARKERS * len(splits), strict=False):
            grid[0][0].scatter([], [], color="#555", marker=marker, label=split)
        figure.legend(loc="outside lower center", ncols=len(splits), frameon=False)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _short(captions: Sequence[str]) -> list[str]:
    """Captions without the words that all have, where this tells them apart.

    >>> _short(["a photo of a red cube", "a photo of a blue cube", "a photo of a red cone"])
    ['red cube', 'blue cube', 'red cone']
    """
    words = [caption.split() for caption in captions]
    shared = set(words[0]).intersection(*words) if words else set()
    short = [" ".join(word for word in each if word not in shared) for each in words]
    return short if len(set(short)) == len(set(captions)) > 1 else list(captions)
