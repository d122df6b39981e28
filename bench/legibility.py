"""Whether images show what they hold: a small network names objects and values, by family, size and
quality.

`python -m bench.legibility FOLDER` renders into FOLDER, continues there where it was stopped, and
writes
`scenes/legibility.csv`, which docs/gallery.md and `gen vocab check` read; some three hours on two
cores.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from bench.naming import Crops, crop, learn, predict_names
from generator.api import render
from generator.base.tables import read_csv, write_csv
from generator.dataset.reader import Dataset
from generator.inspection.legibility import (
    COLUMNS,
    LEGIBLE,
    QUALITIES,
    SETTINGS,
    SIDES,
    TABLE,
    Legibility,
    measured,
)
from generator.vocabulary.schema import Vocabulary, read_vocabulary

LEARNT = {64: 0, 128: 2, 224: 3}
"""The seed of the scenes to learn from, by size of the image: each size has other scenes."""
TESTED = 1
"""The seed of the scenes to name."""
ALSO = {"photo": ("clevr",)}
"""By world, others whose shapes are learnt from too: photographs leave few of each shape on each
ground."""
WORLDS = {
    "clevr-original": (6, ""),
    "clevr": (3, ""),
    "clevr-many": (6, ""),
    "clevr-relations": (3, ""),
    "things": (3, "color"),
    "things-texture": (3, "texture"),
    "photo": (3, ""),
    "pug": (3, "color"),
    "pug-texture": (3, "texture"),
}
"""Of each world the objects of a scene, as many as 64 pixels have room for, and its paint, where it
has a choice."""
_WELL = 99
"""Percent of objects named rightly at which a row of the table is left out."""


def world_of(row: Mapping[str, Any]) -> str:
    """The world of a row of the table."""
    return f"{row['family']}-texture" if row["tested"] == "texture" else row["family"]


def family(world: str) -> Vocabulary:
    """The family of a world, with its paint."""
    return read_vocabulary(world.removesuffix("-texture")).painted_with(WORLDS[world][1])


def rendered(folder: Path, world: str, side: int, quality: str, seed: int, scenes: int) -> Dataset:
    """Render a world, as far as its images are not in the folder yet.

    Args:
        folder: the folder of all worlds.
        world: a name of WORLDS.
        side: of its images, pixels.
        quality: draft, standard or reference.
        seed: of its scenes.
        scenes: their number.
    """
    vocabulary = family(world)
    path = folder / f"{world}.toml"
    path.write_text(vocabulary.toml(), encoding="utf-8")
    root = folder / f"{world}-{side}-{quality}-{seed}"
    options: dict[str, Any] = {
        "family": str(path),
        "holdout": "none",
        "scenes": str(scenes),
        "objects": str(WORLDS[world][0]),
    }
    return render(out=root, resolution=f"{side}x{side}", quality=quality, seed=seed, **options)


def kinds(vocabulary: Vocabulary) -> dict[str, list[str]]:
    """The kinds of names that the network learns: the category, and each attribute kind except
    size. Size is left out because an object's size in the image depends on distance, which a crop
    does not show."""
    names = {vocabulary.category: list(vocabulary.objects)}
    for kind, values in vocabulary.attributes.items():
        if not any(value.scale for value in values.values()):
            names[kind] = vocabulary.values(kind)
    return names


def cut_out_objects(dataset: Dataset, vocabulary: Vocabulary) -> Crops:
    """Every object of a family on the images of a dataset, cut out, with the numbers of its
    names."""
    names = kinds(vocabulary)
    category = vocabulary.category
    crops = []
    truths = []
    for row in dataset.world.scenes.to_pylist():
        if row["status"] == "failed":
            continue
        image = np.asarray(dataset.world.image(row["scene_id"]))
        for object_ in row["objects"]:
            # Another family may have objects that this one lacks (ALSO).
            if object_["category"] not in names[category]:
                continue
            own_names = {category: object_["category"], **dict(object_["attributes"])}
            crops.append(crop(image, object_["amodal_box"]))
            truths.append([known.index(own_names[kind]) for kind, known in names.items()])
    return Crops(np.stack(crops), np.array(truths))


def rows_of(
    folder: Path, world: str, scenes: tuple[int, int], epochs: int
) -> Iterator[dict[str, Any]]:
    """Measure how many percent of the objects of each name are named rightly, by size and quality.

    Args:
        folder: where worlds are rendered.
        world: a name of WORLDS.
        scenes: numbers of scenes of each size: those to learn from, as drafts, and those to name.
        epochs: how often each object is learnt from.

    Yields:
        A row of the table for each name.
    """
    vocabulary = family(world)
    names = kinds(vocabulary)
    scenes_to_learn, scenes_to_name = scenes

    # Learn from drafts of every size.
    drafts = []
    for source in (world, *ALSO.get(world, ())):
        for side, seed in LEARNT.items():
            dataset = rendered(folder, source, side, "draft", seed, scenes_to_learn)
            drafts.append(cut_out_objects(dataset, vocabulary))
    images, truths = (np.concatenate(part) for part in zip(*drafts, strict=True))
    model = learn(Crops(images, truths), [len(known) for known in names.values()], epochs)

    # Name the objects of other scenes.
    tests = {}
    is_right = {}
    for setting in SETTINGS:
        side_of_setting, quality = setting.split()
        dataset = rendered(folder, world, int(side_of_setting), quality, TESTED, scenes_to_name)
        tests[setting] = cut_out_objects(dataset, vocabulary)
        is_right[setting] = predict_names(model, tests[setting]) == tests[setting].truths

    for i, (kind, known) in enumerate(names.items()):
        for number, name in enumerate(known):
            outcomes = {}
            for setting, test in tests.items():
                outcomes[setting] = is_right[setting][test.truths[:, i] == number, i]
            percents = {
                setting: round(100 * float(right.mean()), 1) for setting, right in outcomes.items()
            }
            yield {
                "family": world.removesuffix("-texture"),
                "tested": vocabulary.tested,
                "kind": kind,
                "name": name,
                "objects": min(map(len, outcomes.values())),
                **percents,
            }


def table() -> str:
    """The table of docs/gallery.md: for each family and kind the percent that are named, and what
    is not legible; none where all of it is named on `_WELL` percent or more.
    """
    rows = [
        "| family | named | " + " | ".join(map(str, SIDES)) + " | below 95% |",
        "|---|---|---|---|---|---|",
    ]
    for (family, tested, kind), names in groupby(
        measured(), lambda row: (row.family, row.tested, row.kind)
    ):
        group = [*names]
        means = [
            [_mean_percent(group, f"{side} {quality}") for quality in QUALITIES] for side in SIDES
        ]
        below = _say_illegible(group)
        if not below and round(min(min(of_side) for of_side in means), 1) >= _WELL:
            continue
        painted = f", {tested}s" if read_vocabulary(family).paints else ""
        cells = [" / ".join(f"{mean:.1f}" for mean in of_side) for of_side in means]
        rows.append(f"| `{family}`{painted} | {kind} | {' | '.join(cells)} | {below} |")
    return "\n".join(rows)


def _mean_percent(group: Sequence[Legibility], setting: str) -> float:
    """The percent of all objects of a group that are named right in a setting."""
    total = sum(row.objects for row in group)
    return sum(row.percent[setting] * row.objects for row in group) / total


def _say_illegible(group: Sequence[Legibility]) -> str:
    """The names that are not legible at each side, with their percents; "" for none."""
    sides = []
    for side in SIDES:
        percents = {row.name: row.percent_at(side) for row in group}
        weak = [f"{name} {math.floor(p)}" for name, p in percents.items() if p < LEGIBLE]
        if weak:
            sides.append(f"{side}: {', '.join(weak)}")
    return "; ".join(sides)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--world",
    "worlds",
    type=click.Choice([*WORLDS]),
    multiple=True,
    help="Only this; may be given again.",
)
@click.option(
    "--learn", "learning", default=400, show_default=True, help="Scenes of each size to learn from."
)
@click.option(
    "--scenes", default=200, show_default=True, help="Scenes of each size and quality to name."
)
@click.option(
    "--epochs", default=24, show_default=True, help="How often each object is learnt from."
)
def main(folder: Path, worlds: tuple[str, ...], learning: int, scenes: int, epochs: int) -> None:
    """Render worlds into FOLDER and write into scenes/legibility.csv what a small network names on
    them."""
    folder.mkdir(parents=True, exist_ok=True)
    for world in worlds or WORLDS:
        # The table is written after each world, since all of them take hours.
        new = [*rows_of(folder, world, (learning, scenes), epochs)]
        old_rows = read_csv(TABLE, COLUMNS).to_pylist()
        rows = []
        for name in WORLDS:
            rows += new if name == world else [row for row in old_rows if world_of(row) == name]
        write_csv(TABLE, pa.Table.from_pylist(rows, pa.schema(COLUMNS)))
        click.echo(f"{world}: {len(new)} names", err=True)
    click.echo(table())


if __name__ == "__main__":
    main()
