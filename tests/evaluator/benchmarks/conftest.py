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


def other_than(color: str) -> str:
    """The colour before it, around the end."""
    return list(COLORS)[list(COLORS).index(color) - 1]


def write_json(path: Path, data: object) -> None:
    """A file of JSON, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


def write_csv(path: Path, rows: Sequence[Sequence[object]]) -> None:
    """A CSV whose first row has the names, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def _photo(path: Path, color: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    square(color).save(path, quality=95)


def _photos(folder: Path, name: str) -> None:
    """A photo of each colour, named by its number."""
    for number, color in enumerate(COLORS):
        _photo(folder / name.format(number), color)


def _quarters(path: Path) -> list[tuple[int, int]]:
    """An image of four colours; returns the left and the upper edge of each."""
    places = [(24 * (n % 2), 24 * (n // 2)) for n in range(4)]
    whole = Image.new("RGB", (48, 48))
    for color, place in zip(COLORS, places, strict=True):
        whole.paste(square(color), place)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole.save(path, quality=95)
    return places


def _sugarcrepe_rows() -> list[dict[str, Any]]:
    return [
        {"filename": f"{n:012d}.jpg", "caption": f"a {color} car", "negative_caption": f"a {other} car"}
        for n, (color, other) in enumerate(zip(COLORS, reversed(COLORS), strict=True))
    ]


def write_sugarcrepe(folder: Path) -> Path:
    """Two files; in the second one the caption is wrong, so the model chooses the negative."""
    _photos(folder / "images", "{:012d}.jpg")
    right = _sugarcrepe_rows()
    wrong = {**right[0], "caption": "a blue dog", "negative_caption": "a red dog"}
    write_json(folder / "replace_att.json", {str(n): row for n, row in enumerate(right)})
    write_json(folder / "swap_obj.json", {"7": wrong})
    return folder


def write_sugarcrepe_pp(folder: Path) -> Path:
    """Two files of one image a row. In the second the other true caption is read as another colour, and ties with
    the false one."""
    _photos(folder / "images", "{:012d}.jpg")
    named = zip(COLORS, _sugarcrepe_rows(), strict=True)
    rows = [{"id": n, **row, "caption2": f"The car is {color} ."} for n, (color, row) in enumerate(named)]
    write_json(folder / "data" / "replace_att.json", rows)
    write_json(folder / "data" / "swap_obj.json", [{**rows[0], "caption2": "a blue or red car"}])
    return folder


def write_aro(folder: Path) -> Path:
    """An image of four colours, of which each row shows one in its box."""
    rows = [
        {
            "image_id": 1,
            "image_path": "1.jpg",
            "bbox_x": left,
            "bbox_y": upper,
            "bbox_w": 24,
            "bbox_h": 24,
            "relation_name": "on",
            "true_caption": f"the {color} cup is on the table",
            "false_caption": f"the {other_than(color)} cup is on the table",
        }
        for color, (left, upper) in zip(COLORS, _quarters(folder / "images" / "1.jpg"), strict=True)
    ]
    write_json(folder / "visual_genome_relation.json", rows)
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
    rows: list[list[object]] = [["item", "protocol", "image", "text", "truth", "split", "cluster"]]
    for n, color in enumerate(COLORS):
        _photo(folder / f"{color}.png", color)
        for named, truth in ((color, "true"), (other_than(color), "false")):
            rows.append([n, "binary", f"{color}.png", f"a {named} door", truth, "seen", f"c{n % 2}"])
    write_csv(folder / "mine.csv", rows)
    return folder / "mine.csv"


def write_crepe(folder: Path) -> Path:
    """Productivity of four and five atoms. Captions of the negated negatives are read as the first colour: true, so
    that they tie."""
    places = _quarters(folder / "images" / "VG_100K_2" / "7.jpg")
    for n in (4, 5):
        for kind in ("atom", "swap", "negate"):
            rows: list[list[object]] = [["", "image_id", "caption", "x", "y", "width", "height", "hard_negs"]]
            for row, (color, (x, y)) in enumerate(list(zip(COLORS, places, strict=True))[: n - 1]):
                others = [color] if kind == "negate" else [other for other in COLORS if other != color]
                negatives = [f"{other} cup, {kind} {n} it's" for other in others]
                rows.append([row, 7, f"{color} cup of {n} atoms", x, y, 24, 24, negatives])
            file = f"prod_vg_hard_negs_{kind}_complexity_{n}.csv"
            write_csv(folder / "prod_hard_negatives" / kind / file, rows)
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
                    "valid_hard_negs_comp": [f"a {other_than(color)} hat and a {color} cup"],
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
    for root in ("vg/VG_100K", "swig"):
        _photos(folder / "images" / root, "{}.jpg")

    def rows(path: str, colors: Sequence[str], wrong: bool = False) -> list[object]:
        found = []
        for color in colors:
            texts = [f"{color} car"], [f"{other_than(color)} car"]
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
    _photos(folder / "images" / "VG_100K", "{}.jpg")
    for name, colors in (("attributes", list(COLORS)), ("relations", ["red"])):
        rows = [
            {
                "image_id": str(n),
                "image_path": f"data/VG_100K/{n}.jpg",
                "true_caption": f"{color} car",
                "false_caption": f"{other_than(color)} car",
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
        rows = [[n, f"a photo of {name}", name, n] for n, name in enumerate(names)]
        write_csv(folder / f"{label}.csv", [["", "prompt", "class_name", "classidx"], *rows])
    return folder


def write_pug_spare(folder: Path) -> Path:
    """Labels of two worlds, and images in a folder of each."""
    animals = ["character_name", "character2_name", "character_texture", "character2_texture"]
    rows = [["filename", "world_name", *animals, "character_pos", "character2_pos"]]
    for world in ("Desert", "Island"):
        _photos(folder / world, "{:07d}.png")
        for n, color in enumerate(COLORS):
            textures = [color.title(), other_than(color).title()]
            rows.append([f"{n:07d}.png", world, "DeerStag", "Fox", *textures, "", ""])
    write_csv(folder / "labels.csv", rows)
    return folder


def write_aro_order(folder: Path) -> Path:
    """The test cases of ARO's code, the caption before its other orders. The last caption has an order that ties."""
    _photos(folder / "images" / "val2014", "{}.jpg")
    rows = []
    for n, color in enumerate(COLORS):
        orders = [f"cup a {other_than(color)} {color} by", f"{other_than(color)} by a {color} cup"]
        orders += [f"a {color} cup by"] * (n == 3)
        caption = f"a {color} cup by a {other_than(color)} one"
        rows.append({"image": f"val2014/{n}.jpg", "caption_options": [caption, *orders]})
    write_json(folder / "coco_order.json", rows)
    return folder


def write_whatsup(folder: Path) -> Path:
    """Photographs with four captions each, and questions on images of COCO and Visual Genome by their numbers."""
    _photos(folder / "images" / "controlled_images", "{}.jpeg")
    _photos(folder / "images" / "val2017", "{:012d}.jpg")
    _photos(folder / "images" / "vg_images", "{}.jpg")
    rows = [
        {
            "image_path": f"data/controlled_images/{n}.jpeg",
            "caption_options": [f"A {each} mug on a table" for each in (color, *[c for c in COLORS if c != color])],
        }
        for n, color in enumerate(COLORS)
    ]
    write_json(folder / "controlled_images_dataset.json", rows)
    for name in ("coco_qa_one_obj", "vg_qa_two_obj"):
        right = [[n, f"a {color} cup", f"a {other_than(color)} cup"] for n, color in enumerate(COLORS)]
        write_json(folder / f"{name}.json", [*right[:3], [right[3][0], *right[3][:0:-1]]])
    return folder


def write_negbench(folder: Path) -> Path:
    """Multiple choices with the number of the true caption."""
    _photos(folder / "images", "{}.jpg")
    names = [*(f"caption_{k}" for k in range(4))]
    rows: list[list[object]] = [["image_path", "correct_answer", *names, "correct_answer_template"]]
    for n, color in enumerate(COLORS):
        others = [f"a car but no {each} one" for each in COLORS if each != color]
        template = "negative" if n == 3 else "hybrid"
        rows.append([f"data/{n}.jpg", n, *others[:n], f"a {color} car", *others[n:], template])
    write_csv(folder / "COCO_val_mcq_llama3.1_rephrased.csv", rows)
    return folder


def write_mmvp_vlm(folder: Path) -> Path:
    """Two patterns; the statements of the second pair are exchanged."""
    rows: list[list[object]] = [["Question ID", "Type", "Statement"]]
    for n, (pattern, colors) in enumerate((("Color and Appearance", ("red", "blue")), ("Texts", ("gray", "green")))):
        for k, color in enumerate(colors):
            number = 2 * n + k + 1
            _photo(folder / "MLLM_VLM Images" / pattern / f"{number}.jpg", color)
            rows.append([number, pattern, f"a {colors[1 - k] if n else color} sign"])
    write_csv(folder / "Questions.csv", rows)
    return folder


def write_vsr(folder: Path) -> Path:
    """JSON lines: two captions of each image, one of them true; a third image has a true one alone."""
    _photos(folder / "images", "{}.jpg")
    lines = []
    for n, color in enumerate(COLORS):
        for label, named in ((1, color), (0, other_than(color)))[: 1 if n == 3 else 2]:
            row = {"image": f"{n}.jpg", "caption": f"The {named} dog is on it.", "label": label, "relation": "on"}
            lines.append(json.dumps(row))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dev.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def write_cola(folder: Path) -> Path:
    """Lists of the address and the caption of two images."""
    rows = []
    for n, pair in enumerate(_pairs()):
        row = []
        for k, color in enumerate(pair):
            _photo(folder / "images" / f"{n}{k}.jpg", color)
            row += [f"https://example.org/vg_gqa_images/{n}{k}.jpg", f"{color} cup"]
        rows.append(row)
    write_json(folder / "data" / "COLA_multiobjects_matching_benchmark.json", rows)
    return folder


def _write_pairs(file: Path, image: str, caption: str, numbers: tuple[int, int], **more: object) -> Path:
    """A JSON list of objects with the names of two images and their captions, and the images beside it."""
    rows = []
    for n, pair in enumerate(_pairs()):
        row: dict[str, object] = {"index": n, **more}
        for k, color in zip(numbers, pair, strict=True):
            _photo(file.parent / "images" / f"img_{n}_{k}.png", color)
            row |= {image.format(k): f"img_{n}_{k}.png", caption.format(k): f"a {color} dress"}
        rows.append(row)
    write_json(file, rows)
    return file.parent


def write_colorswap(folder: Path) -> Path:
    """Images and captions 1 and 2, and who wrote the captions."""
    return _write_pairs(folder / "test.json", "image_{}", "caption_{}", (1, 2), caption_source="human")


def write_naturalbench(folder: Path) -> Path:
    """The file of NaturalBench-Retrieval."""
    return _write_pairs(folder / "metadata.json", "image_{}", "caption_{}", (0, 1))


def write_naturalbench_vqa(folder: Path) -> Path:
    """One Parquet file: questions with yes for their own image, with yes for the other one, with options, and two that
    both images answer alike."""
    folder.mkdir(parents=True)
    (a, b), *_ = _pairs()
    asked = [f"Is the {color} apple there?" for color in (a, b)]
    rows = [
        (asked, "yes_no", ("Yes", "No", "No", "Yes"), "DOCCI"),
        (asked[::-1], "yes_no", ("No", "Yes", "Yes", "No"), "Flickr30K"),
        (asked, "multiple_choice", ("A", "B", "B", "A"), "DOCCI"),
        (asked, "yes_no", ("Yes", "No", "Yes", "No"), "DOCCI"),
    ]
    names = [f"Image_{image}_Question_{k}" for k in (0, 1) for image in (0, 1)]
    table = {
        "Image_0": _cells([a] * 4),
        "Image_1": _cells([b] * 4),
        "Question_0": [questions[0] for questions, *_ in rows],
        "Question_1": [questions[1] for questions, *_ in rows],
        **{name: [answers[n] for *_, answers, _ in rows] for n, name in enumerate(names)},
        "Question_Type": [kind for _, kind, *_ in rows],
        "Source": [source for *_, source in rows],
    }
    pq.write_table(pa.table(table), folder / "train.parquet")
    return folder


def write_eqben(folder: Path) -> Path:
    """The published subset."""
    return _write_pairs(folder / "eqben_subset_10percent_final.json", "image{}", "caption{}", (0, 1))


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
    "aro_order": write_aro_order,
    "whatsup": write_whatsup,
    "negbench": write_negbench,
    "mmvp_vlm": write_mmvp_vlm,
    "vsr": write_vsr,
    "cola": write_cola,
    "colorswap": write_colorswap,
    "naturalbench": write_naturalbench,
    "naturalbench_vqa": write_naturalbench_vqa,
    "eqben": write_eqben,
    "table": write_table,
}


@pytest.fixture
def colors() -> Colors:
    return Colors()
