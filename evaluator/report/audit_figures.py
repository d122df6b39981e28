"""Figures of audits: comparisons, grids of values and objects, frequencies, familiarity, embeddings
and probes."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.report.chart import Spec
from evaluator.report.figure import Figure, chart_record, draw_figure


def differences(comparison: Mapping[str, Any]) -> list[Figure]:
    """Draw the results of `score compare`.

    Args:
        comparison: The results (evaluator.analysis.comparison).

    Returns:
        A figure of the paired differences, with a panel for each split; and a figure of changes of
        the lead, with a panel for each pair of models and question, by split.
    """
    labels = ("protocol", "metric", "kind", "skill", "first", "second")
    flipped = set()
    for flip in comparison.get("flips", ()):
        if flip["significant"]:
            flipped.add(tuple(flip.get(name) for name in labels))
    by_splits: dict[str, list[Spec]] = {}
    of_flips: dict[str, list[Spec]] = {}
    for row in comparison["rows"]:
        names = [str(row[name]) for name in ("protocol", "kind", "skill") if row.get(name)]
        question = ", ".join(names)
        pair = f"{row['first']} − {row['second']}"
        difference = {**row, "value": row["difference"], "unit": "difference"}
        panel = by_splits.setdefault(row["split"] or "all items", [])
        panel.append(chart_record(difference, pair, x=question))
        # Models were chosen on val, so who leads there is no finding.
        if row["split"] != "val" and tuple(row.get(name) for name in labels) in flipped:
            panel = of_flips.setdefault(f"{pair}: {question}", [])
            panel.append(chart_record(difference, pair, x=row["split"]))
    return [
        *draw_figure(
            "differences",
            title="Paired differences",
            about="Differences of two models on the same items, first − second, in points, with "
            "intervals.",
            kind="differences",
            panels=by_splits,
        ),
        *draw_figure(
            "differences-flips",
            title="Where the lead changes",
            about="Which model leads depends on the split: differences in points, first − second, "
            "with intervals.",
            kind="differences",
            panels=of_flips,
        ),
    ]


def grid(title: str, cells: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Draw accuracy by value and object; the held-out block is framed.

    Args:
        title: What the cells are of, such as a protocol.
        cells: Dictionaries with `model`, `value`, `object`, `share` (0..1), `items` and `held_out`.

    Returns:
        A figure with a panel for each model; [] without cells.
    """
    panels: dict[str, list[Spec]] = {}
    for cell in cells:
        record = {**cell, "percent": round(100 * cell["share"])}
        panels.setdefault(cell["model"], []).append(record)
    return draw_figure(
        f"grid-{title}",
        title=f"Values and objects, {title}",
        about="Percent of right answers on items whose scene shows the value on the object. "
        "Framed: held out of training.",
        kind="grid",
        panels=panels,
    )


def by_frequency(
    title: str, atoms: Sequence[Mapping[str, Any]], splits: Sequence[str]
) -> list[Figure]:
    """Draw how many captions of training and of each split name each atom.

    Args:
        title: The title of the figure.
        atoms: The counts of each atom (generator.dataset.counts).
        splits: The splits to draw.

    Returns:
        A figure with a panel for each split that names an atom; [] without such splits.
    """
    panels: dict[str, list[Spec]] = {}
    for split in splits:
        if not any(split in atom["captions"] for atom in atoms):
            continue
        panels[split] = []
        for atom in atoms:
            captions = atom["captions"]
            if not captions.get(split):
                continue
            panels[split].append(
                {
                    "series": atom["atom"].split()[0],
                    "group": atom["atom"],
                    # An atom that training never names stands at 0.
                    "x": captions.get("train", 0),
                    "y": captions[split],
                }
            )
    # Counts span several orders of magnitude and include 0, which a logarithm has no place for.
    symlog = {
        "type": "quantitative",
        "scale": {"type": "symlog"},
        "axis": {"labelOverlap": "greedy", "labelSeparation": 6},
    }
    return draw_figure(
        "frequency",
        title=title,
        about="How often the captions of training and of a split name each atom.",
        kind="points",
        panels=panels,
        encoding={
            "x": {"field": "x", "title": "captions of train", **symlog},
            "y": {"field": "y", "title": "captions of the split", **symlog},
            "shape": {"value": "circle"},
        },
    )


def by_overlap(
    title: str, panels: Mapping[str, Mapping[str, Mapping[str, float | None]]]
) -> list[Figure]:
    """Draw percent of the bindings in true and in false captions that a corpus shows.

    Args:
        title: What the captions are of, such as a benchmark.
        panels: {set of samples: its shares, 0..1} (evaluator.audits.familiarity.audit.shares).

    Returns:
        A figure with a panel for each set of samples; [] without sets.
    """
    records_of: dict[str, list[Spec]] = {}
    for name, sides in panels.items():
        records_of[name] = []
        for side in ("positive", "negative"):
            for order, match in enumerate(("perfect", "close", "none")):
                # A side without bindings has no shares.
                percent = 100 * (sides[side][match] or 0)
                records_of[name].append(
                    {"x": side, "series": match, "order": order, "value": percent}
                )
    return draw_figure(
        f"familiarity-{title}",
        title=f"Familiarity, {title}",
        about="Bindings of true (positive) and false (negative) captions that the corpus shows, "
        "shows closely, or lacks.",
        kind="overlap",
        panels=records_of,
    )


def embedding_maps(title: str, record: Mapping[str, Any]) -> list[Figure]:
    """Draw maps of embeddings.

    Args:
        title: What is embedded, such as a benchmark.
        record: The results of `score embeddings` (embeddings.json).

    Returns:
        A figure of texts and a figure of images, with a panel for each model.
    """
    split_of_caption = {text["caption"]: text["split"] for text in record["texts"]}
    short = short_captions(list(split_of_caption))
    short_name = dict(zip(split_of_caption, short, strict=True))
    drawings = []
    for what in ("texts", "images"):
        captions = [point["caption"] for point in record[what]]
        panels: dict[str, list[Spec]] = {}
        for model, places in record["places"][what].items():
            panels[model] = [
                {"series": short_name[caption], "group": split_of_caption[caption], "x": x, "y": y}
                for caption, (x, y) in zip(captions, places, strict=True)
            ]
        drawings += draw_figure(
            f"map-{title}-{what}",
            title=f"Embeddings of {what}, {title}",
            about="Close points have similar embeddings (t-SNE by cosine). Shapes: the first split "
            "of a caption.",
            kind="map",
            panels=panels,
        )
    return drawings


def by_probe(record: Mapping[str, Any]) -> list[Figure]:
    """Draw probe accuracy from images, texts and their alignment, by split.

    Args:
        record: The results of `score probe` (probe.json).

    Returns:
        A figure with a panel for each factor and model; [] without rows.
    """
    panels: dict[str, list[Spec]] = {}
    for model, results in record["models"].items():
        for row in results["rows"]:
            panel = panels.setdefault(f"{row['factor']}, {model}", [])
            panel.append(chart_record({**row, "unit": "share"}, row["place"], x=row["split"]))
    return draw_figure(
        "probe",
        title=f"Probes, {record['name']}",
        about="Accuracy of a linear probe on each tower, and of the alignment of both, for each "
        "factor. Dashed: chance.",
        kind="splits",
        panels=panels,
    )


def short_captions(captions: Sequence[str]) -> list[str]:
    """Remove the words that all captions share, if the captions stay distinct.

    Args:
        captions: The captions.

    Returns:
        The short captions, in the same order.

    Example:
        >>> short_captions(["a photo of a red cube", "a photo of a blue cube"])
        ['red', 'blue']
    """
    words = [caption.split() for caption in captions]
    shared = set(words[0]).intersection(*words) if words else set()
    short = [" ".join(word for word in text if word not in shared) for text in words]
    stay_distinct = len(set(short)) == len(set(captions)) > 1
    return short if stay_distinct else list(captions)
