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
                "image_id": 1, "image_path": "1.jpg", "bbox_x": left, "bbox_y": upper, "bbox_w": 24, "bbox_h": 24,
                "relation_name": "on", "true_caption": f"the {color} cup is on the table", "false_caption": f"the {other} cup is on the table",
            }
        )  # fmt: skip
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
                "image": _cells([a for a, _ in pairs]), "caption": [f"a {a} hat" for a, _ in pairs],
                "negative_caption": [f"a {b} hat" for _, b in pairs], "negative_image": _cells([b for _, b in pairs]),
                "type": ["Replace"] * len(pairs), "subtype": ["Attribute"] * len(pairs),
            }
        )  # fmt: skip
        pq.write_table(table, folder / "data" / f"test-{n:05d}-of-00002.parquet", row_group_size=1)
    return folder


def write_vismin(folder: Path) -> Path:
    """One Parquet file with images in it."""
    folder.mkdir(parents=True)
    pairs = _pairs()
    table = pa.table(
        {
            "image_0": _cells([a for a, _ in pairs]), "text_0": [f"{a} apple on the left" for a, _ in pairs],
            "image_1": _cells([b for _, b in pairs]), "text_1": [f"{b} apple on the left" for _, b in pairs],
            "id": [f"x{n}" for n in range(3)], "category": ["attribute", "counting", "attribute"],
        }
    )  # fmt: skip
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


WRITERS = {
    "sugarcrepe": write_sugarcrepe,
    "aro": write_aro,
    "winoground": write_winoground,
    "bivlc": write_bivlc,
    "vismin": write_vismin,
    "table": write_table,
}


@pytest.fixture
def colors() -> Colors:
    return Colors()
