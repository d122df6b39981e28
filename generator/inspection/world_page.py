"""Writes an HTML page that shows a dataset: its holdout, and every image with its texts, boxes and
masks."""

import base64
import io
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from generator.base.errors import visible
from generator.base.files import write_text
from generator.base.pages import as_json, coded, data_url, page_environment, thumbnails
from generator.dataset.reader import Benchmark, Dataset, World
from generator.holdout.holdout import Holdout
from generator.inspection.sheets import clearest, cut_out, scenes_of
from generator.scene.scene import Scene
from generator.vocabulary.schema import parse_vocabulary

_MASK_SIDE = 192
_MASK_COLORS = [
    0,
    0,
    0,
    230,
    159,
    0,
    86,
    180,
    233,
    0,
    158,
    115,
    240,
    228,
    66,
    0,
    114,
    178,
    213,
    94,
    0,
    204,
    121,
    167,
]
"""Okabe and Ito's palette, which colour-blind people can tell apart; it repeats for further
objects."""


def write_world_page(
    root: Path,
    benchmark: str | None,
    splits: tuple[str, ...],
    number: int | None,
    seed: int,
    out: Path,
) -> Path:
    """Write the self-contained page `out`; returns `out`.

    `splits`: the splits to show; all if empty. `number`: how many images per split, chosen by
    `seed`; None for all.
    Raises UserError when there is no such dataset, benchmark or split.
    """
    dataset = Dataset.open(root)
    chosen = dataset.benchmark(benchmark)
    shown = [
        (scene, split)
        for split, scenes in scenes_of(chosen, splits, number, seed).items()
        for scene in scenes
    ]
    data = _items(
        dataset.world, chosen, [scene for scene, _ in shown], [split for _, split in shown]
    )
    page = page_environment("generator", "inspection/assets").get_template("world.html.jinja")
    request = dataset.world.manifest["request"]
    html = page.render(
        title=f"{root.resolve().name}: {chosen.name}",
        finding=_finding(chosen, len(shown)),
        facts=[
            f"family {request['family']}",
            f"{request['width']} × {request['height']} pixels, "
            f"quality {request['quality']['name']}",
            ", ".join(
                f"{split} {n:,}" for split, n in Counter(split for _, split in shown).items()
            ),
        ],
        items_data=as_json([data]),
        **_block(dataset.world, chosen),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, html)
    return out


def _finding(benchmark: Benchmark, images: int) -> str:
    holdout = benchmark.holdout or {}
    kind, category = holdout.get("kind", "value"), holdout.get("category", "object")
    counts = {
        f"combinations of {kind} and {category}": len(holdout.get("bindings", ())),
        "relations between two objects": len(holdout.get("triples", ())),
    }
    said = " and ".join(f"{n} {what}" for what, n in counts.items() if n)
    return f"{images:,} images; training shows none of {said}." if said else f"{images:,} images."


def _block(world: World, benchmark: Benchmark) -> dict[str, Any]:
    """Template variables of the table of values × objects; empty if no bindings are held out."""
    if not (benchmark.holdout and benchmark.holdout.get("bindings")):
        return {}
    holdout = Holdout.from_dict(benchmark.holdout)
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    best = clearest(world, holdout.kind)

    def cell(value: str, thing: str) -> dict[str, Any]:
        found = best.get((value, thing))
        held_out = holdout.holds_out(value, thing) or holdout.absent(value, thing)
        return {
            "image": data_url(cut_out(world, found), 112) if found else None,
            "held_out": held_out,
            "binding": f"{value}:{thing}",
            "said": f"{value} {thing}, held out" if held_out else f"{value} {thing}",
        }

    objects = list(vocabulary.objects)
    rows = [
        (value, [cell(value, thing) for thing in objects])
        for value in vocabulary.values(holdout.kind)
    ]
    return {"rows": rows, "objects": objects, "kind": holdout.kind, "category": holdout.category}


def _items(
    world: World, benchmark: Benchmark, scenes: Sequence[str], splits: Sequence[str]
) -> dict[str, Any]:
    """The data of the images for the gallery (generator.base.pages): an item without runs for each
    image."""
    wanted = {scene: i for i, scene in enumerate(scenes)}
    rows = {row["scene_id"]: row for row in world.scenes.to_pylist() if row["scene_id"] in wanted}
    objects = [rows[scene]["objects"] for scene in scenes]
    kind = (benchmark.holdout or {}).get("kind", "color")
    shows = [
        ";".join(f"{dict(thing['attributes']).get(kind)}:{thing['category']}" for thing in of)
        for of in objects
    ]
    texts: dict[str, int] = {}
    said = _said(benchmark, wanted)
    places = [Scene.from_json(rows[scene]["scene"]).environment for scene in scenes]
    return {
        "benchmark": benchmark.name,
        "id": list(scenes),
        "labels": {
            "split": coded(splits),
            "place": coded(places),
            "number of objects": coded(str(len(of)) for of in objects),
        },
        "bindings": coded(shows),
        "candidates": {
            "start": np.searchsorted([row[0] for row in said], np.arange(len(scenes) + 1)).tolist(),
            "scene": [scene for scene, *_ in said],
            "text": [
                texts.setdefault(benchmark.text_of[text], len(texts)) for _, _, text, _ in said
            ],
            "truth": [1 - false for _, false, _, _ in said],
            "kind": coded(what for *_, what in said),
        },
        "scenes": list(scenes),
        "runs": [],
        "texts": [visible(text) for text in texts],
        "images": thumbnails(world.image, scenes),
        "boxes": [
            [_box(thing, rows[scene]) for thing in of]
            for scene, of in zip(scenes, objects, strict=True)
        ],
        "masks": [_mask(world.mask(scene)) for scene in scenes]
        if "masks" in world.outputs
        else None,
        "folder": "",
    }


def _said(benchmark: Benchmark, wanted: dict[str, int]) -> list[tuple[int, int, str, str]]:
    """(scene index, whether the text is false of it, text_id, protocols that ask it), by scene,
    true texts first."""
    protocols = dict(
        zip(*(benchmark.items[name].to_pylist() for name in ("item_id", "protocol")), strict=True)
    )
    columns = (
        benchmark.candidates[name].to_pylist()
        for name in ("scene_id", "truth", "text_id", "item_id")
    )
    found = sorted(
        (wanted[scene], int(not truth), text, protocols[item])
        for scene, truth, text, item in zip(*columns, strict=True)
        if scene in wanted
    )
    return [
        (*key, ", ".join(dict.fromkeys(protocol for *_, protocol in rows)))
        for key, rows in groupby(found, key=lambda row: row[:3])
    ]


def _box(thing: dict[str, Any], row: dict[str, Any]) -> list[Any]:
    """The name of an object, and its box as shares of the image's width and height: left, top,
    width, height."""
    left, top, right, bottom = thing["amodal_box"]
    name = " ".join([*dict(thing["attributes"]).values(), thing["category"]])
    corner = [left / row["width"], top / row["height"]]
    size = [(right - left) / row["width"], (bottom - top) / row["height"]]
    return [
        f"{name}, {100 * thing['visible_fraction']:.0f}% visible",
        *(round(x, 4) for x in (*corner, *size)),
    ]


def _mask(mask: np.ndarray) -> str:
    """A mask as a PNG data URL: a colour for each object, transparent elsewhere."""
    colors = len(_MASK_COLORS) // 3 - 1
    image = Image.fromarray(np.where(mask, (mask - 1) % colors + 1, 0).astype(np.uint8), "P")
    image.putpalette(_MASK_COLORS)
    image.thumbnail((_MASK_SIDE, _MASK_SIDE), Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", transparency=0, optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
