"""Published benchmarks in small, in their authors' layouts, and a model that knows colours and
nothing else."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

COLORS = {
    "red": (220, 20, 30),
    "green": (20, 160, 40),
    "blue": (30, 60, 220),
    "gray": (128, 128, 128),
}


def square(color: str, side: int = 24) -> Image.Image:
    """A square of one colour."""
    return Image.new("RGB", (side, side), COLORS[color])


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    """The bytes of an image file."""
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


class Colors:
    """The score of an image and a text is 1 where the text's first colour is the nearest to the
    image's mean."""

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """One-hot by the nearest colour, float32 (images, colours)."""
        means = np.array([np.asarray(image, float).mean(axis=(0, 1)) for image in images])
        apart = np.linalg.norm(means[:, None] - np.array(list(COLORS.values()), float), axis=2)
        return np.eye(len(COLORS), dtype=np.float32)[apart.argmin(axis=1)]

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """One-hot by the first word that is a colour, float32 (texts, colours)."""
        named = [
            next(list(COLORS).index(word) for word in text.split() if word in COLORS)
            for text in texts
        ]
        return np.eye(len(COLORS), dtype=np.float32)[named]


def other_than(color: str) -> str:
    """The colour before it, around the end."""
    return list(COLORS)[list(COLORS).index(color) - 1]


OTHERS = {color: [other for other in COLORS if other != color] for color in COLORS}


def write_json(path: Path, data: object) -> None:
    """A file of JSON, with its folders; JSON lines where its name ends so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = data if path.suffix == ".jsonl" and isinstance(data, list) else [data]
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in lines))


def write_csv(path: Path, rows: Sequence[dict[str, Any]], numbered: bool = False) -> None:
    """A CSV of rows with the same columns, with its folders. numbered: a first column without a
    name has numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, index=numbered)


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    """Parquet in row groups of two."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)


def _cell(color: str) -> dict[str, Any]:
    """A photo of a colour as Parquet holds it."""
    return {"bytes": encoded(square(color)), "path": None}


def _photo(path: Path, color: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    square(color).save(path, quality=95)


def _photos(folder: Path, name: str) -> None:
    """A photo of each colour, named by its number."""
    for number, color in enumerate(COLORS):
        _photo(folder / name.format(number), color)


def _quarters(path: Path) -> list[tuple[str, int, int]]:
    """An image of four colours; returns each with its left and upper edge."""
    places = [(color, 24 * (n % 2), 24 * (n // 2)) for n, color in enumerate(COLORS)]
    whole = Image.new("RGB", (48, 48))
    for color, x, y in places:
        whole.paste(square(color), (x, y))
    path.parent.mkdir(parents=True, exist_ok=True)
    whole.save(path, quality=95)
    return places


def _sugarcrepe_rows() -> list[dict[str, Any]]:
    return [
        {
            "filename": f"{n:012d}.jpg",
            "caption": f"a {color} car",
            "negative_caption": f"a {other} car",
        }
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
    """Two files of one image a row. In the second the other true caption is read as another colour,
    and ties with the false one."""
    _photos(folder / "images", "{:012d}.jpg")
    named = zip(COLORS, _sugarcrepe_rows(), strict=True)
    rows = [
        {"id": n, **row, "caption2": f"The car is {color} ."}
        for n, (color, row) in enumerate(named)
    ]
    write_json(folder / "data" / "replace_att.json", rows)
    write_json(folder / "data" / "swap_obj.json", [{**rows[0], "caption2": "a blue or red car"}])
    return folder


def write_aro(folder: Path) -> Path:
    """An image of four colours, of which each row shows one in its box."""
    rows = [
        {
            "image_id": 1,
            "image_path": "1.jpg",
            "bbox_x": x,
            "bbox_y": y,
            "bbox_w": 24,
            "bbox_h": 24,
            "relation_name": "on",
            "true_caption": f"the {color} cup is on the table",
            "false_caption": f"the {other_than(color)} cup is on the table",
        }
        for color, x, y in _quarters(folder / "images" / "1.jpg")
    ]
    write_json(folder / "visual_genome_relation.json", rows)
    return folder


PAIRS = [("red", "blue"), ("green", "gray"), ("blue", "gray")]


def _write_pairs(
    file: Path,
    image: str = "image_{}",
    caption: str = "caption_{}",
    numbers: tuple[int, int] = (0, 1),
    suffix: str = ".png",
    **more: list[str],
) -> Path:
    """A file of JSON with the names of two images and their captions, and the images beside it.
    more: other columns."""
    rows = []
    for n, pair in enumerate(PAIRS):
        row: dict[str, object] = {"id": n, **{name: values[n] for name, values in more.items()}}
        for k, color in zip(numbers, pair, strict=True):
            _photo(file.parent / "images" / f"ex_{n}_img_{k}.png", color)
            row |= {
                image.format(k): f"ex_{n}_img_{k}{suffix}",
                caption.format(k): f"a {color} thing",
            }
        rows.append(row)
    write_json(file, rows)
    return file.parent


def write_winoground(folder: Path) -> Path:
    """JSON lines, and images named without their suffix."""
    return _write_pairs(
        folder / "examples.jsonl", suffix="", collapsed_tag=["Relation", "Object", "Object"]
    )


def write_colorswap(folder: Path) -> Path:
    """Images and captions 1 and 2, and who wrote the captions."""
    return _write_pairs(folder / "test.json", numbers=(1, 2), caption_source=["human"] * 3)


def write_naturalbench(folder: Path) -> Path:
    """The file of NaturalBench-Retrieval."""
    return _write_pairs(folder / "metadata.json")


def write_eqben(folder: Path) -> Path:
    """The published subset."""
    return _write_pairs(folder / "eqben_subset_10percent_final.json", "image{}", "caption{}")


def write_cola(folder: Path) -> Path:
    """Lists of the address and the caption of two images."""
    rows = []
    for n, pair in enumerate(PAIRS):
        rows.append([])
        for k, color in enumerate(pair):
            _photo(folder / "images" / f"{n}{k}.jpg", color)
            rows[-1] += [f"https://example.org/vg_gqa_images/{n}{k}.jpg", f"{color} cup"]
    write_json(folder / "data" / "COLA_multiobjects_matching_benchmark.json", rows)
    return folder


def write_bivlc(folder: Path, color_pairs: Sequence[tuple[str, str]] = PAIRS) -> Path:
    """Parquet with images in it, in the folder `data`, in two files."""
    rows = [
        {
            "image": _cell(a),
            "caption": f"a {a} hat",
            "negative_caption": f"a {b} hat",
            "negative_image": _cell(b),
            "type": "Replace",
            "subtype": "Attribute",
        }
        for a, b in color_pairs
    ]
    for n, part in enumerate((rows[:2], rows[2:])):
        _write_parquet(folder / "data" / f"test-{n:05d}-of-00002.parquet", part)
    return folder


def write_vismin(folder: Path) -> Path:
    """One Parquet file with images in it."""
    texts = "{} apple on the left"
    rows = [
        {
            "image_0": _cell(a),
            "text_0": texts.format(a),
            "image_1": _cell(b),
            "text_1": texts.format(b),
            "id": f"x{n}",
            "category": "counting" if n == 1 else "attribute",
        }
        for n, (a, b) in enumerate(PAIRS)
    ]
    _write_parquet(folder / "test.parquet", rows)
    return folder


def write_naturalbench_vqa(folder: Path) -> Path:
    """One Parquet file: questions with yes for their own image, with yes for the other one, with
    options, and two that both images answer alike."""
    (a, b), *_ = PAIRS
    own_questions = [f"Is the {color} apple there?" for color in (a, b)]
    names = [f"Image_{image}_Question_{k}" for k in (0, 1) for image in (0, 1)]
    rows = [
        {
            "Image_0": _cell(a),
            "Image_1": _cell(b),
            "Question_0": questions[0],
            "Question_1": questions[1],
            **dict(zip(names, answers, strict=True)),
            "Question_Type": kind,
            "Source": source,
        }
        for questions, kind, answers, source in (
            (own_questions, "yes_no", ("Yes", "No", "No", "Yes"), "DOCCI"),
            (own_questions[::-1], "yes_no", ("No", "Yes", "Yes", "No"), "Flickr30K"),
            (own_questions, "multiple_choice", ("A", "B", "B", "A"), "DOCCI"),
            (own_questions, "yes_no", ("Yes", "No", "Yes", "No"), "DOCCI"),
        )
    ]
    _write_parquet(folder / "train.parquet", rows)
    return folder


def write_table(folder: Path) -> Path:
    """A CSV of one's own, images beside it; returns the file."""
    _photos(folder, "{}.png")
    rows = [
        {
            "item": n,
            "protocol": "binary",
            "image": f"{n}.png",
            "text": f"a {named} door",
            "truth": named == color,
        }
        | {"split": "seen", "cluster": f"c{n % 2}"}
        for n, color in enumerate(COLORS)
        for named in (color, other_than(color))
    ]
    write_csv(folder / "mine.csv", rows)
    return folder / "mine.csv"


def write_crepe(folder: Path) -> Path:
    """Productivity of four and five atoms. Captions of the negated negatives are read as the first
    colour: true, so that they tie."""
    places = _quarters(folder / "images" / "VG_100K_2" / "7.jpg")
    for n in (4, 5):
        for kind in ("atom", "swap", "negate"):
            rows = [
                {
                    "image_id": 7,
                    "caption": f"{color} cup of {n} atoms",
                    "x": x,
                    "y": y,
                    "width": 24,
                    "height": 24,
                    "hard_negs": [
                        f"{other} cup, {kind} {n} it's"
                        for other in ([color] if kind == "negate" else OTHERS[color])
                    ],
                }
                for color, x, y in places[: n - 1]
            ]
            file = f"prod_vg_hard_negs_{kind}_complexity_{n}.csv"
            write_csv(folder / "prod_hard_negatives" / kind / file, rows, numbered=True)
    return folder


def write_crepe_systematicity(folder: Path, corpora: Sequence[str] = ("laion",)) -> Path:
    """Seen and unseen compounds of some corpora. Of unseen ones the second caption has no negatives
    of compounds, and the first is read as another colour."""
    places = _quarters(folder / "images" / "VG_100K" / "7.jpg")
    for corpus in corpora:
        for split in ("seen", "unseen"):
            rows: list[dict[str, Any]] = [
                {
                    "region_id": str(n),
                    "image_id": "7",
                    "caption": f"a {color} cup",
                    "x": str(x),
                    "y": str(y),
                    "width": "24",
                    "height": "24",
                    "valid_hard_negs_atom": [f"a {other} cup" for other in OTHERS[color]],
                    "valid_hard_negs_comp": [f"a {other_than(color)} hat and a {color} cup"],
                }
                for n, (color, x, y) in enumerate(places)
            ]
            if split == "unseen":
                rows[0]["caption"], rows[1]["valid_hard_negs_comp"] = "an old gray cup", []
            write_json(
                folder / "syst" / f"syst_vg_hard_negs_{split}_compounds_in_{corpus}.json", rows
            )
    return folder


def write_vl_checklist(folder: Path) -> Path:
    """Two capabilities: colours of two corpora, and large objects of three roles; one role is
    wrong, and so is one of VAW's."""
    for root in ("vg/VG_100K", "swig"):
        _photos(folder / "images" / root, "{}.jpg")
    for file, path, wrong, colors in (
        ("Attribute/vg/color", "VG_100K/{}.jpg", False, list(COLORS)),
        ("Attribute/vaw/color", "VG_100K/{}.jpg", True, ["red"]),
        ("Object/Size/swig_size/swig_agent/swig_agent_large", "{}.jpg", False, ["blue", "red"]),
        ("Object/Size/swig_size/swig_item/swig_item_large", "{}.jpg", True, ["green"]),
        ("Object/Size/vg_size/vg_subj_large", "VG_100K/{}.jpg", False, ["red", "gray", "blue"]),
    ):
        rows = []
        for color in colors:
            true, false = (other_than(color), color) if wrong else (color, other_than(color))
            texts = {"POS": [f"{true} car"], "NEG": [f"{false} car"]}
            rows.append([path.format(list(COLORS).index(color)), texts])
        write_json(folder / "data" / f"{file}.json", rows)
    return folder


def write_hard_positives(folder: Path) -> Path:
    """Attributes and relations of the published folders; of relations the hard positive is read as
    another colour."""
    _photos(folder / "images" / "VG_100K", "{}.jpg")
    for name, colors, positive in (
        ("attributes", list(COLORS), "a {} car"),
        ("relations", ["red"], "green or {} car"),
    ):
        for part, caption in (("data", "{} car"), ("swapped_data", positive)):
            rows = [
                {
                    "image_id": str(n),
                    "image_path": f"data/VG_100K/{n}.jpg",
                    "true_caption": caption.format(color),
                    "false_caption": f"{other_than(color)} car",
                }
                for n, color in enumerate(colors)
            ]
            write_json(folder / part / f"vl_checklist_{name}.json", rows)
    return folder


def write_compass(folder: Path) -> Path:
    """Two images. The caption of the first wins composed and decomposed; the second is shown
    another colour, and has too few negatives."""
    for name, color in (("11", "red"), ("12", "blue")):
        _photo(folder / "images" / f"{name}.jpg", color)
        parts = [
            {"There is a red cube.": ["There is a green cube."], "replaced": "attribute"},
            {
                "There is a red thing in the image.": ["There is a gray thing in the image."],
                "replaced": "object",
            },
        ]
        negatives = ["a green cube", "a gray thing"][: 2 if name == "11" else 1]
        write_json(
            folder / "gt-caption" / "l2-OA" / f"{name}.json",
            {"2": "a red cube", "3": "a red cube and a thing"},
        )
        for form, content in (("composed", negatives), ("decomposed", parts)):
            write_json(
                folder / "compositional-integration" / "l2-OA" / form / f"{name}.json",
                {"2": content},
            )
    return folder


def write_prompts(path: Path, *names: str) -> Path:
    """The prompts of a label of Pearson et al.; returns the file."""
    rows = [{"prompt": "x", "class_name": name, "classidx": n} for n, name in enumerate(names)]
    write_csv(path, rows, numbered=True)
    return path


def write_pearson(folder: Path) -> Path:
    """Two-object prompts; the model, which knows colours alone, ties on the shape. Two images of
    one label, one of another."""
    for label, images in (("red_cube_blue_sphere", 2), ("gray_cone_green_cube", 1)):
        color, shape, color2, shape2 = label.split("_")
        for n in range(images):
            _photo(folder / "images" / label / f"{color} {shape}" / f"{n}.png", color)
        others = [f"{other} cylinder" for other in sorted({*COLORS} - {color, color2})]
        mixed = f"{color2} {shape}", f"{color} {shape2}"
        write_prompts(
            folder / f"{label}.csv", f"{color} {shape}", *mixed, *others, f"{color2} {shape2}"
        )
    return folder


def write_pug_spare(folder: Path) -> Path:
    """Labels of two worlds, and images in a folder of each."""
    rows = []
    for world in ("Desert", "Island"):
        _photos(folder / world, "{:07d}.png")
        rows += [
            {
                "filename": f"{n:07d}.png",
                "world_name": world,
                "character_name": "DeerStag",
                "character2_name": "Fox",
                "character_texture": color.title(),
                "character2_texture": other_than(color).title(),
            }
            for n, color in enumerate(COLORS)
        ]
    write_csv(folder / "labels.csv", rows)
    return folder


def write_aro_order(folder: Path) -> Path:
    """The test cases of ARO's code, the caption before its other orders. The last caption has an
    order that ties."""
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
    """Photographs with four captions each, and questions on images of COCO and Visual Genome by
    their numbers, of which the last is wrong."""
    for place in ("controlled_images/{}.jpeg", "val2017/{:012d}.jpg", "vg_images/{}.jpg"):
        _photos(folder / "images", place)
    rows = [
        {
            "image_path": f"data/controlled_images/{n}.jpeg",
            "caption_options": [f"A {entry} mug on a table" for entry in (color, *OTHERS[color])],
        }
        for n, color in enumerate(COLORS)
    ]
    write_json(folder / "controlled_images_dataset.json", rows)
    for name in ("coco_qa_one_obj", "vg_qa_two_obj"):
        texts = [[f"a {color} cup", f"a {other_than(color)} cup"] for color in COLORS]
        texts[3].reverse()
        write_json(folder / f"{name}.json", [[n, *entry] for n, entry in enumerate(texts)])
    return folder


def write_negbench(folder: Path) -> Path:
    """Multiple choices with the number of the true caption."""
    _photos(folder / "images", "{}.jpg")
    rows: list[dict[str, object]] = []
    for n, color in enumerate(COLORS):
        captions = [f"a car but no {entry} one" for entry in OTHERS[color]]
        captions.insert(n, f"a {color} car")
        row = {
            "image_path": f"data/{n}.jpg",
            "correct_answer": n,
            **{f"caption_{k}": captions[k] for k in range(4)},
        }
        rows.append({**row, "correct_answer_template": "negative" if n == 3 else "hybrid"})
    write_csv(folder / "COCO_val_mcq_llama3.1_rephrased.csv", rows)
    return folder


def write_mmvp_vlm(folder: Path) -> Path:
    """Two patterns; the statements of the second pair are exchanged."""
    rows: list[dict[str, object]] = []
    for pattern, *colors in (("Color and Appearance", "red", "blue"), ("Texts", "gray", "green")):
        for color, named in zip(colors, colors[::-1] if rows else colors, strict=True):
            number = len(rows) + 1
            _photo(folder / "MLLM_VLM Images" / pattern / f"{number}.jpg", color)
            rows.append({"Question ID": number, "Type": pattern, "Statement": f"a {named} sign"})
    write_csv(folder / "Questions.csv", rows)
    return folder


def write_vsr(folder: Path) -> Path:
    """JSON lines: two captions of each image, one of them true; a last image has a true one
    alone."""
    _photos(folder / "images", "{}.jpg")
    rows = [
        {
            "image": f"{n}.jpg",
            "caption": f"The {named} dog is on it.",
            "label": int(named == color),
            "relation": "on",
        }
        for n, color in enumerate(COLORS)
        for named in (color, other_than(color))
    ]
    write_json(folder / "dev.jsonl", rows[:-1])
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
