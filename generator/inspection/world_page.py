"""Writes an HTML page that shows a dataset: its holdout, and every image with its texts, boxes and
masks."""

import base64
import io
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from generator.base.errors import visible
from generator.base.files import write_text
from generator.base.pages import as_json, coded, data_url, page_environment, thumbnails
from generator.dataset.own_frames import describe_own_frames, other_triples, own_frames_of
from generator.dataset.reader import Benchmark, Dataset, World
from generator.inspection.combinations import THUMBNAIL_SIDE, Combination, combination_grid
from generator.inspection.sheets import scenes_of
from generator.scene.scene import Scene

_MASK_SIDE = 192
"""Longest side of a mask on the page, pixels."""
_MASK_COLORS = (
    (0, 0, 0),  # no object; it is drawn transparent
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (0, 114, 178),
    (213, 94, 0),
    (204, 121, 167),
)
"""Okabe and Ito's palette, which colour-blind people can distinguish; it repeats for further
objects."""


class _ListedText(NamedTuple):
    """A text that the benchmark lists about a shown scene; sorts by scene, true texts first."""

    scene: int
    """Index of the scene on the page."""
    is_false: int
    """1 if it is false of the scene, else 0."""
    text_id: str
    """Id of the text in the benchmark."""
    protocol: str
    """The protocol that asks it."""


def write_world_page(
    root: Path,
    benchmark_name: str | None,
    *,
    splits: tuple[str, ...],
    number: int | None,
    seed: int,
    out: Path,
) -> Path:
    """Write a self-contained page that shows images of a dataset.

    Args:
        root: The folder of the dataset.
        benchmark_name: The benchmark; None for the only one, or the one made with the world.
        splits: The splits to show; all if empty.
        number: How many images of each split; None for all.
        seed: Chooses them.
        out: The HTML file.

    Returns:
        `out`.

    Raises:
        UserError: There is no such dataset, benchmark or split.
    """
    dataset = Dataset.open(root)
    benchmark = dataset.benchmark(benchmark_name)
    scenes: list[str] = []
    split_of: list[str] = []
    for split, own_scenes in scenes_of(benchmark, splits, number, seed).items():
        scenes += own_scenes
        split_of += [split] * len(own_scenes)
    counts = ", ".join(f"{split} {n:,}" for split, n in Counter(split_of).items())
    request = dataset.world.manifest["request"]
    page = page_environment("generator", "inspection/assets").get_template("world.html.jinja")
    html = page.render(
        title=f"{root.resolve().name}: {benchmark.name}",
        finding=_describe_holdout(benchmark, len(scenes)),
        facts=[
            f"family {request['family']}",
            f"{request['width']} × {request['height']} pixels, "
            f"quality {request['quality']['name']}",
            counts,
        ],
        items_data=as_json(
            [_gallery_data(dataset.world, benchmark, scenes=scenes, split_of=split_of)]
        ),
        **_grid_variables(dataset.world, benchmark),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, html)
    return out


def _describe_holdout(benchmark: Benchmark, n_images: int) -> str:
    """The sentence at the top of the page."""
    holdout = benchmark.holdout or {}
    kind = holdout.get("kind", "value")
    category = holdout.get("category", "object")
    n_bindings = len(holdout.get("bindings", ()))
    all_triples = holdout.get("triples", ())
    n_triples = len(other_triples(all_triples))
    own_frames = own_frames_of(all_triples)
    parts = []
    if n_bindings:
        parts.append(f"{n_bindings} combinations of {kind} and {category}")
    if n_triples:
        parts.append(f"{n_triples} relations between two objects")
    if own_frames:
        parts.append(f"the directions {describe_own_frames(own_frames)}")
    if not parts:
        return f"{n_images:,} images."
    return f"{n_images:,} images; training shows none of {' and '.join(parts)}."


def _grid_variables(world: World, benchmark: Benchmark) -> dict[str, Any]:
    """Template variables of the table of values × objects; empty if no bindings are held out."""
    if not (benchmark.holdout and benchmark.holdout.get("bindings")):
        return {}
    grid = combination_grid(world, benchmark.holdout)
    rows = []
    for value, combinations in grid.rows.items():
        rows.append((value, [_cell_variables(combination) for combination in combinations]))
    return {
        "rows": rows,
        "objects": grid.categories,
        "kind": grid.kind,
        "category": grid.category_word,
    }


def _cell_variables(combination: Combination) -> dict[str, Any]:
    words = f"{combination.value} {combination.category}"
    if combination.is_held_out:
        words += ", held out"
    thumbnail = combination.thumbnail
    return {
        "image": None if thumbnail is None else data_url(thumbnail, THUMBNAIL_SIDE),
        "held_out": combination.is_held_out,
        "binding": f"{combination.value}:{combination.category}",
        "said": words,
    }


def _gallery_data(
    world: World, benchmark: Benchmark, *, scenes: Sequence[str], split_of: Sequence[str]
) -> dict[str, Any]:
    """The data of the images for the gallery (generator.base.pages): an item without runs for each
    image."""
    index_of = {scene_id: i for i, scene_id in enumerate(scenes)}
    row_of = {
        row["scene_id"]: row for row in world.scenes.to_pylist() if row["scene_id"] in index_of
    }
    rows = [row_of[scene_id] for scene_id in scenes]

    # What each image shows.
    kind = (benchmark.holdout or {}).get("kind", "color")
    bindings = [_bindings_of(row, kind) for row in rows]
    environments = [Scene.from_json(row["scene"]).environment for row in rows]
    object_counts = [str(len(row["objects"])) for row in rows]
    boxes = [[_box_data(scene_object, row) for scene_object in row["objects"]] for row in rows]

    # The texts of image i are those from starts[i] to starts[i + 1]; each different text has one
    # number.
    listed = _listed_texts(benchmark, index_of)
    scene_of_text = [text.scene for text, _ in listed]
    starts = np.searchsorted(scene_of_text, np.arange(len(scenes) + 1))
    number_of: dict[str, int] = {}
    numbers = []
    for text, _ in listed:
        words = benchmark.text_of[text.text_id]
        numbers.append(number_of.setdefault(words, len(number_of)))

    masks = None
    if "masks" in world.outputs:
        masks = [_mask_url(world.mask(scene_id)) for scene_id in scenes]
    return {
        "benchmark": benchmark.name,
        "id": list(scenes),
        "labels": {
            "split": coded(split_of),
            "place": coded(environments),
            "number of objects": coded(object_counts),
        },
        "bindings": coded(bindings),
        "candidates": {
            "start": starts.tolist(),
            "scene": scene_of_text,
            "text": numbers,
            "truth": [1 - text.is_false for text, _ in listed],
            "kind": coded(protocols for _, protocols in listed),
        },
        "scenes": list(scenes),
        "runs": [],
        "texts": [visible(text) for text in number_of],
        "images": thumbnails(world.image, scenes),
        "boxes": boxes,
        "masks": masks,
        "folder": "",
    }


def _bindings_of(row: dict[str, Any], kind: str) -> str:
    """The bindings of a scene, as `red:cube;blue:ball` (generator.base.clusters)."""
    bindings = []
    for scene_object in row["objects"]:
        value = dict(scene_object["attributes"]).get(kind)
        bindings.append(f"{value}:{scene_object['category']}")
    return ";".join(bindings)


def _listed_texts(benchmark: Benchmark, index_of: dict[str, int]) -> list[tuple[_ListedText, str]]:
    """Each text that is listed about a shown scene, with the protocols that ask it."""
    item_ids = benchmark.items["item_id"].to_pylist()
    protocols = benchmark.items["protocol"].to_pylist()
    protocol_of = dict(zip(item_ids, protocols, strict=True))
    column_names = ("scene_id", "truth", "text_id", "item_id")
    columns = [benchmark.candidates[name].to_pylist() for name in column_names]
    listed = []
    for scene_id, truth, text_id, item_id in zip(*columns, strict=True):
        if scene_id in index_of:
            is_false = int(not truth)
            text = _ListedText(index_of[scene_id], is_false, text_id, protocol_of[item_id])
            listed.append(text)

    # Several items may list the same text.
    texts = []
    for _, group in groupby(sorted(listed), key=lambda text: text[:3]):
        same_texts = list(group)
        names = dict.fromkeys(text.protocol for text in same_texts)
        texts.append((same_texts[0], ", ".join(names)))
    return texts


def _box_data(scene_object: dict[str, Any], row: dict[str, Any]) -> list[Any]:
    """The name of an object, and its box as shares of the image's width and height: left, top,
    width, height."""
    left, top, right, bottom = scene_object["amodal_box"]
    values = dict(scene_object["attributes"]).values()
    name = " ".join([*values, scene_object["category"]])
    width, height = row["width"], row["height"]
    shares = (left / width, top / height, (right - left) / width, (bottom - top) / height)
    visible_percent = f"{100 * scene_object['visible_fraction']:.0f}% visible"
    return [f"{name}, {visible_percent}", *(round(share, 4) for share in shares)]


def _mask_url(mask: np.ndarray) -> str:
    """A mask as a PNG data URL: a colour for each object, transparent elsewhere."""
    n_colors = len(_MASK_COLORS) - 1
    colors = np.where(mask, (mask - 1) % n_colors + 1, 0).astype(np.uint8)
    image = Image.fromarray(colors, "P")
    image.putpalette([channel for color in _MASK_COLORS for channel in color])
    image.thumbnail((_MASK_SIDE, _MASK_SIDE), Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", transparency=0, optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
