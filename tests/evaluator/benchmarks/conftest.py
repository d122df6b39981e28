"""Benchmarks of others in small, in their authors' layouts, and a model that knows colours and nothing else."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

COLORS = {"red": (220, 20, 30), "green": (20, 160, 40), "blue": (30, 60, 220), "gray": (128, 128, 128)}


def square(color: str, side: int = 24) -> Image.Image:
    """A square of one colour."""
    return Image.new("RGB", (side, side), COLORS[color])


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    """The bytes of an image file."""
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


class Colors:
    """The score of an image and a text is 1 where the text's first colour is the nearest to the image's mean."""

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """One-hot by the nearest colour, float32 (images, colours)."""
        means = np.array([np.asarray(image, float).mean(axis=(0, 1)) for image in images])
        apart = np.linalg.norm(means[:, None] - np.array(list(COLORS.values()), float), axis=2)
        return np.eye(len(COLORS), dtype=np.float32)[apart.argmin(axis=1)]

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """One-hot by the first word that is a colour, float32 (texts, colours)."""
        named = [next(list(COLORS).index(word) for word in text.split() if word in COLORS) for text in texts]
        return np.eye(len(COLORS), dtype=np.float32)[named]


def write_sugarcrepe(folder: Path) -> Path:
    """Two files; in the second one the caption is wrong, so the model chooses the negative."""
    images = folder / "images"
    images.mkdir(parents=True)
    for number, color in enumerate(COLORS):
        square(color).save(images / f"{number:012d}.jpg", quality=95)
    right = {
        str(n): {"filename": f"{n:012d}.jpg", "caption": f"a {color} car", "negative_caption": f"a {other} car"}
        for n, (color, other) in enumerate(zip(COLORS, reversed(COLORS), strict=True))
    }
    wrong = {"7": {"filename": "000000000000.jpg", "caption": "a blue dog", "negative_caption": "a red dog"}}
    (folder / "replace_att.json").write_text(json.dumps(right))
    (folder / "swap_obj.json").write_text(json.dumps(wrong))
    return folder


def write_aro(folder: Path) -> Path:
    """An image of four colours, of which each row shows one in its box."""
    (folder / "images").mkdir(parents=True)
    whole = Image.new("RGB", (48, 48))
    rows = []
    for n, color in enumerate(COLORS):
        left, upper = 24 * (n % 2), 24 * (n // 2)
        whole.paste(square(color), (left, upper))
        other = list(COLORS)[n - 1]
        rows.append(
            {
                "image_id": 1,
                "image_path": "1.jpg",
                "bbox_x": left,
                "bbox_y": upper,
                "bbox_w": 24,
                "bbox_h": 24,
                "relation_name": "on",
                "true_caption": f"the {color} cup is on the table",
                "false_caption": f"the {other} cup is on the table",
            }
        )
    whole.save(folder / "images" / "1.jpg", quality=95)
    (folder / "visual_genome_relation.json").write_text(json.dumps(rows))
    return folder


def _pairs() -> list[tuple[str, str]]:
    return [("red", "blue"), ("green", "gray"), ("blue", "gray")]


def write_winoground(folder: Path) -> Path:
    """JSON lines, and images named without their suffix."""
    (folder / "images").mkdir(parents=True)
    lines = []
    for n, pair in enumerate(_pairs()):
        row: dict[str, Any] = {"id": n, "collapsed_tag": "Object" if n else "Relation"}
        for k, color in enumerate(pair):
            square(color).save(folder / "images" / f"ex_{n}_img_{k}.png")
            row |= {f"image_{k}": f"ex_{n}_img_{k}", f"caption_{k}": f"a {color} thing beside another"}
        lines.append(json.dumps(row))
    (folder / "examples.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def _cells(colors: Sequence[str]) -> pa.Array:
    return pa.array([{"bytes": encoded(square(color)), "path": None} for color in colors])


def write_bivlc(folder: Path, shown: Sequence[tuple[str, str]] | None = None) -> Path:
    """Parquet with images in it, in the folder `data`, in two files and several row groups."""
    (folder / "data").mkdir(parents=True)
    shown = shown or _pairs()
    for n, pairs in enumerate((shown[:2], shown[2:])):
        table = pa.table(
            {
                "image": _cells([a for a, _ in pairs]),
                "caption": [f"a {a} hat" for a, _ in pairs],
                "negative_caption": [f"a {b} hat" for _, b in pairs],
                "negative_image": _cells([b for _, b in pairs]),
                "type": ["Replace"] * len(pairs),
                "subtype": ["Attribute"] * len(pairs),
            }
        )
        pq.write_table(table, folder / "data" / f"test-{n:05d}-of-00002.parquet", row_group_size=1)
    return folder


def write_vismin(folder: Path) -> Path:
    """One Parquet file with images in it."""
    folder.mkdir(parents=True)
    pairs = _pairs()
    table = pa.table(
        {
            "image_0": _cells([a for a, _ in pairs]),
            "text_0": [f"{a} apple on the left" for a, _ in pairs],
            "image_1": _cells([b for _, b in pairs]),
            "text_1": [f"{b} apple on the left" for _, b in pairs],
            "id": [f"x{n}" for n in range(3)],
            "category": ["attribute", "counting", "attribute"],
        }
    )
    pq.write_table(table, folder / "test.parquet")
    return folder


def write_table(folder: Path) -> Path:
    """A CSV of one's own, images beside it; returns the file."""
    folder.mkdir(parents=True)
    with (folder / "mine.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "protocol", "image", "text", "truth", "split", "cluster"])
        for n, color in enumerate(COLORS):
            square(color).save(folder / f"{color}.png")
            other = list(COLORS)[n - 1]
            writer.writerow([n, "binary", f"{color}.png", f"a {color} door", "true", "seen", f"c{n % 2}"])
            writer.writerow([n, "binary", f"{color}.png", f"a {other} door", "false", "seen", f"c{n % 2}"])
    return folder / "mine.csv"


def write_json(path: Path, data: object) -> None:
    """A file of JSON, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


def _photo(path: Path, color: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    square(color).save(path, quality=95)


def write_sugarcrepe_pp(folder: Path) -> Path:
    """Two files of one image a row. In the second the other true caption is read as another colour, and ties with
    the false one."""
    for number, color in enumerate(COLORS):
        _photo(folder / "images" / f"{number:012d}.jpg", color)
    rows = [
        {
            "id": n,
            "filename": f"{n:012d}.jpg",
            "caption": f"a {color} car",
            "caption2": f"The car is {color} .",
            "negative_caption": f"a {other} car",
        }
        for n, (color, other) in enumerate(zip(COLORS, reversed(COLORS), strict=True))
    ]
    write_json(folder / "data" / "replace_att.json", rows)
    write_json(folder / "data" / "swap_obj.json", [{**rows[0], "caption2": "a blue or red car"}])
    return folder


def _quarters(path: Path) -> list[tuple[int, int]]:
    """An image of four colours; returns the left and the upper edge of each."""
    places = [(24 * (n % 2), 24 * (n // 2)) for n in range(4)]
    whole = Image.new("RGB", (48, 48))
    for color, place in zip(COLORS, places, strict=True):
        whole.paste(square(color), place)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole.save(path, quality=95)
    return places


def write_crepe(folder: Path) -> Path:
    """Productivity of four and five atoms. Captions of the negated negatives are read as the first colour: true, so
    that they tie."""
    places = _quarters(folder / "images" / "VG_100K_2" / "7.jpg")
    for n in (4, 5):
        for kind in ("atom", "swap", "negate"):
            file = folder / "prod_hard_negatives" / kind / f"prod_vg_hard_negs_{kind}_complexity_{n}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("w", newline="") as out:
                writer = csv.writer(out)
                writer.writerow(["", "image_id", "caption", "x", "y", "width", "height", "hard_negs"])
                for row, (color, (x, y)) in enumerate(list(zip(COLORS, places, strict=True))[: n - 1]):
                    others = [color] if kind == "negate" else [other for other in COLORS if other != color]
                    negatives = [f"{other} cup, {kind} {n} it's" for other in others]
                    writer.writerow([row, 7, f"{color} cup of {n} atoms", x, y, 24, 24, negatives])
    return folder


def write_crepe_systematicity(folder: Path, corpora: Sequence[str] = ("laion",)) -> Path:
    """Seen and unseen compounds of some corpora. Of unseen ones the second caption has no negatives of compounds, and
    the first is read as another colour."""
    places = _quarters(folder / "images" / "VG_100K" / "7.jpg")
    for corpus in corpora:
        for split in ("seen", "unseen"):
            rows = [
                {
                    "region_id": str(n),
                    "image_id": "7",
                    "caption": f"a {color} cup",
                    "x": str(x),
                    "y": str(y),
                    "width": "24",
                    "height": "24",
                    "valid_hard_negs_atom": [f"a {other} cup" for other in COLORS if other != color],
                    "valid_hard_negs_comp": [f"a {list(COLORS)[n - 1]} hat and a {color} cup"],
                }
                for n, (color, (x, y)) in enumerate(zip(COLORS, places, strict=True))
            ]
            if split == "unseen":
                rows[0]["caption"], rows[1]["valid_hard_negs_comp"] = "an old gray cup", []
            write_json(folder / "syst" / f"syst_vg_hard_negs_{split}_compounds_in_{corpus}.json", rows)
    return folder


def write_vl_checklist(folder: Path) -> Path:
    """Two capabilities: colours of two corpora, and large objects of three roles; one role is wrong, and so is one
    of VAW's."""
    for number, color in enumerate(COLORS):
        for root in ("vg/VG_100K", "swig"):
            _photo(folder / "images" / root / f"{number}.jpg", color)

    def rows(path: str, colors: Sequence[str], wrong: bool = False) -> list[object]:
        found = []
        for color in colors:
            texts = [f"{color} car"], [f"{list(COLORS)[list(COLORS).index(color) - 1]} car"]
            true, false = texts[::-1] if wrong else texts
            found.append([path.format(list(COLORS).index(color)), {"POS": true, "NEG": false}])
        return found

    write_json(folder / "data" / "Attribute" / "vg" / "color.json", rows("VG_100K/{}.jpg", list(COLORS)))
    write_json(folder / "data" / "Attribute" / "vaw" / "color.json", rows("VG_100K/{}.jpg", ["red"], wrong=True))
    size = folder / "data" / "Object" / "Size"
    write_json(size / "swig_size" / "swig_agent" / "swig_agent_large.json", rows("{}.jpg", ["blue", "red"]))
    write_json(size / "swig_size" / "swig_item" / "swig_item_large.json", rows("{}.jpg", ["green"], wrong=True))
    write_json(size / "vg_size" / "vg_subj_large.json", rows("VG_100K/{}.jpg", ["red", "gray", "blue"]))
    return folder


def write_hard_positives(folder: Path) -> Path:
    """Attributes and relations of the published folders; of relations the hard positive is read as another colour."""
    for number, color in enumerate(COLORS):
        _photo(folder / "images" / "VG_100K" / f"{number}.jpg", color)
    for name, colors in (("attributes", list(COLORS)), ("relations", ["red"])):
        rows = [
            {
                "image_id": str(n),
                "image_path": f"data/VG_100K/{n}.jpg",
                "true_caption": f"{color} car",
                "false_caption": f"{list(COLORS)[n - 1]} car",
            }
            for n, color in enumerate(colors)
        ]
        swapped = [
            {**row, "true_caption": "green or red car" if name == "relations" else f"a {row['true_caption']}"}
            for row in rows
        ]
        write_json(folder / "data" / f"vl_checklist_{name}.json", rows)
        write_json(folder / "swapped_data" / f"vl_checklist_{name}.json", swapped)
    return folder


def write_compass(folder: Path) -> Path:
    """Two images. The caption of the first wins composed and decomposed; the second is shown another colour, and has
    too few negatives."""
    for name, color in (("11", "red"), ("12", "blue")):
        _photo(folder / "images" / f"{name}.jpg", color)
        parts = [
            {"There is a red cube.": ["There is a green cube."], "replaced": "attribute"},
            {"There is a red thing in the image.": ["There is a gray thing in the image."], "replaced": "object"},
        ]
        negatives = ["a green cube", "a gray thing"][: 2 if name == "11" else 1]
        write_json(folder / "gt-caption" / "l2-OA" / f"{name}.json", {"2": "a red cube", "3": "a red cube and a thing"})
        for form, found in (("composed", negatives), ("decomposed", parts)):
            write_json(folder / "compositional-integration" / "l2-OA" / form / f"{name}.json", {"2": found})
    return folder


def write_pearson(folder: Path) -> Path:
    """Two-object prompts; the model, which knows colours alone, ties on the shape. Two images of one label, one of
    another."""
    for label, images in (("red_cube_blue_sphere", 2), ("gray_cone_green_cube", 1)):
        color, shape, color2, shape2 = label.split("_")
        for n in range(images):
            _photo(folder / "images" / label / f"{color} {shape}" / f"{n}.png", color)
        others = sorted({"red", "green", "blue", "gray"} - {color, color2})
        names = [
            f"{color} {shape}",
            f"{color2} {shape}",
            f"{color} {shape2}",
            f"{others[0]} cylinder",
            f"{others[1]} cylinder",
            f"{color2} {shape2}",
        ]
        lines = [
            ",prompt,class_name,classidx\n",
            *(f"{n},a photo of {name},{name},{n}\n" for n, name in enumerate(names)),
        ]
        (folder / f"{label}.csv").write_text("".join(lines))
    return folder


def write_pug_spare(folder: Path) -> Path:
    """Labels of two worlds, and images in a folder of each."""
    lines = [
        "filename,world_name,character_name,character2_name,character_texture,character2_texture,"
        "character_pos,character2_pos"
    ]
    for world in ("Desert", "Island"):
        for n, color in enumerate(COLORS):
            other = list(COLORS)[n - 1]
            _photo(folder / world / f"{n:07d}.png", color)
            lines.append(f"{n:07d}.png,{world},DeerStag,Fox,{color.title()},{other.title()},,")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    return folder


WRITERS = {
    "sugarcrepe": write_sugarcrepe,
    "sugarcrepe_pp": write_sugarcrepe_pp,
    "crepe": write_crepe,
    "vl_checklist": write_vl_checklist,
    "hard_positives": write_hard_positives,
    "compass": write_compass,
    "pearson2025": write_pearson,
    "pug_spare": write_pug_spare,
    "aro": write_aro,
    "winoground": write_winoground,
    "bivlc": write_bivlc,
    "vismin": write_vismin,
    "table": write_table,
}


@pytest.fixture
def colors() -> Colors:
    return Colors()
