"""Planted faults: the judge names each, and is apart from what it judges."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from generator.dataset.files import read_json, write_json, write_sums
from generator.dataset.schema import BENCHMARK_TABLES, SCENES
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.judge.verify import verify_dataset
from tests.conftest import run_command

BENCHMARK = "color-shape-3x3-b0"
Rows = list[dict[str, Any]]


def edit(folder: Path, table: str, change: Callable[[Rows], object]) -> None:
    """Change a table and seal the component again, so that only the judge's reasoning can find it out."""
    path = folder / f"{table}.parquet"
    schema = SCENES if table == "scenes" else BENCHMARK_TABLES[table]
    rows = pq.read_table(path, schema=schema).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    seal(folder)


def seal(folder: Path) -> None:
    manifest = read_json(folder / "manifest.json")
    manifest["sums"] = write_sums(folder, {})
    write_json(folder / "manifest.json", manifest)
    if folder.name == "world":
        for other in folder.parent.glob("benchmarks/*/manifest.json"):
            write_json(other, {**read_json(other), "world": manifest["sums"]})


def judged(root: Path) -> dict[str, Any]:
    certificate = verify_dataset(root, None)[BENCHMARK]
    assert read_json(root / "benchmarks" / BENCHMARK / "verify.json") == certificate
    return certificate


def said(certificate: dict[str, Any], fault: str) -> str:
    return " | ".join(finding["what"] for finding in certificate["findings"] if finding["fault"] == fault)


@pytest.fixture
def benchmark(copied: Path) -> Path:
    return copied / "benchmarks" / BENCHMARK


def scene_in(benchmark: Path, split: str) -> str:
    rows = pq.read_table(benchmark / "splits.parquet").to_pylist()
    return next(row["scene_id"] for row in rows if row["split"] == split)


def held_out(benchmark: Path) -> tuple[str, str]:
    value, thing = read_json(benchmark / "holdout.json")["bindings"][0]
    return value, thing


def test_a_clean_dataset_is_clean(copied: Path) -> None:
    certificate = judged(copied)
    assert certificate["status"] == "clean"
    assert certificate["findings"] == []
    assert "have no leak; every positive is true, every negative false" in certificate["sentence"]
    assert certificate["counts"]["scenes"] == 174


def test_a_leaked_scene(copied: Path, benchmark: Path) -> None:
    unseen = scene_in(benchmark, "unseen")
    edit(benchmark, "splits", lambda rows: [row.update(split="train") for row in rows if row["scene_id"] == unseen])
    certificate = judged(copied)
    assert certificate["status"] == "failed"
    assert f"training scene {unseen} shows the held-out" in said(certificate, "leaked binding")
    assert "shared group" in certificate["faults"]
    assert "wrong count" in certificate["faults"]


@pytest.mark.parametrize("truth", [True, False])
def test_a_leaked_text(copied: Path, benchmark: Path, truth: bool) -> None:
    value, thing = held_out(benchmark)
    texts = {row["text"]: row["text_id"] for row in pq.read_table(benchmark / "texts.parquet").to_pylist()}
    leak = next(text for text in texts if f"{value} {thing}" in text)

    def plant(rows: Rows) -> None:
        next(row for row in rows if row["item_id"].startswith("train-") and row["truth"] == truth)["text_id"] = texts[
            leak
        ]

    edit(benchmark, "candidates", plant)
    assert leak in said(judged(copied), "leaked binding")


def test_an_image_that_neither_files_nor_sums_have(copied: Path) -> None:
    (copied / "world/images/000007.png").unlink()
    seal(copied / "world")
    certificate = judged(copied)
    assert said(certificate, "missing image") == "scene 000007 has no image"
    assert certificate["faults"] == {"missing image": 1}


def test_a_false_positive_and_a_true_negative(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        true, false = [row for row in rows if row["item_id"].startswith("binary-")][:2]
        true["text_id"], false["text_id"] = false["text_id"], true["text_id"]

    edit(benchmark, "candidates", plant)
    certificate = judged(copied)
    item = pq.read_table(benchmark / "candidates.parquet").to_pylist()
    item_id = next(row["item_id"] for row in item if row["item_id"].startswith("binary-"))
    assert item_id in said(certificate, "false positive")
    assert item_id in said(certificate, "true negative")
    assert certificate["faults"]["false positive"] == certificate["faults"]["true negative"] == 1


def test_a_truncated_image(copied: Path) -> None:
    image = copied / "world/images/000007.png"
    image.write_bytes(image.read_bytes()[:-400])
    certificate = judged(copied)
    assert "world/images/000007.png does not decode" in said(certificate, "damaged image")
    assert "world/images/000007.png has other bytes" in said(certificate, "damaged file")
    assert set(certificate["faults"]) == {"damaged image", "damaged file"}


def test_a_missing_and_an_unlisted_file(copied: Path) -> None:
    (copied / "world/images/000003.png").rename(copied / "world/images/x.png")
    certificate = judged(copied)
    assert "000003.png is missing" in said(certificate, "damaged file")
    assert "images/x.png is not in SHA256SUMS" in said(certificate, "unlisted file")


def test_an_asymmetric_item(copied: Path, benchmark: Path) -> None:
    value, thing = held_out(benchmark)

    def plant(rows: Rows) -> None:
        seen = {
            row["scene_id"] for row in pq.read_table(benchmark / "splits.parquet").to_pylist() if row["split"] == "seen"
        }
        foils = [row for row in rows if row["scene_id"] in seen and not row["truth"]]
        texts = {row["text"]: row["text_id"] for row in pq.read_table(benchmark / "texts.parquet").to_pylist()}
        foils[0]["text_id"] = next(text_id for text, text_id in texts.items() if f"{value} {thing}" in text)

    edit(benchmark, "candidates", plant)
    assert "its true texts name 0 held-out bindings, its false ones" in said(judged(copied), "asymmetric familiarity")


def test_a_wrong_record(copied: Path) -> None:
    def plant(rows: Rows) -> None:
        relation = rows[0]["relations"][0]
        relation["holds"] = not relation["holds"]
        rows[1]["objects"][0]["category"] = "teapot"

    edit(copied / "world", "scenes", plant)
    found = said(judged(copied), "wrong record")
    assert "scene 000000: object 0 left of object 1 is listed as" in found
    assert "scene 000001: object 0 is listed as teapot" in found


def test_one_image_in_two_splits(copied: Path, benchmark: Path) -> None:
    first, second = (copied / f"world/images/{scene_in(benchmark, split)}.png" for split in ("train", "seen"))
    shutil.copyfile(first, second)
    seal(copied / "world")
    assert "is in seen and train" in said(judged(copied), "shared image")


def test_an_incomplete_pool_truth(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        rows.remove(next(row for row in rows if row["item_id"].startswith("retrieval-")))

    edit(benchmark, "candidates", plant)
    assert "2 texts of the pool are true, 1 are listed" in said(judged(copied), "wrong pool truth")


def test_texts_that_cannot_be_read_or_stand_twice(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        rows[0]["text"] = "colourless green ideas sleep furiously"
        rows[2]["text"] = rows[1]["text"]

    edit(benchmark, "texts", plant)
    certificate = judged(copied)
    assert "colourless" in said(certificate, "unreadable text")
    assert "repeated text" in certificate["faults"]
    assert certificate["faults"]["wrong text id"] == 2


def test_a_benchmark_over_another_world(copied: Path) -> None:
    manifest = copied / "world/manifest.json"
    (copied / "world/images/000000.png").write_bytes((copied / "world/images/000001.png").read_bytes())
    world = read_json(manifest)
    world["sums"] = write_sums(copied / "world", {})
    write_json(manifest, world)
    assert "another world" in judged(copied)["faults"]


def test_a_benchmark_without_its_block_is_not_clean(copied: Path, benchmark: Path) -> None:
    (benchmark / "holdout.json").unlink()
    seal(benchmark)
    certificate = judged(copied)
    assert certificate["status"] == "failed"
    assert set(certificate["faults"]) == {"missing holdout"}


def test_a_training_item_over_an_evaluation_scene(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        item = next(row for row in rows if row["protocol"] == "binary" and row["split"] == "seen")
        item.update(protocol="train", split="train")

    edit(benchmark, "items", plant)
    assert "is in train, its scene" in said(judged(copied), "wrong split")


def test_items_that_ask_nothing(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        binary = [row for row in rows if row["item_id"].startswith("binary-")]
        rows.remove(binary[0])
        rows.remove(binary[3])

    edit(benchmark, "candidates", plant)
    found = said(judged(copied), "missing row")
    assert "has no true text" in found
    assert "has neither a false text nor a pool" in found


def add_text(benchmark: Path, text: str, **listed: Any) -> str:
    """Add a text to the texts table as `gen split` would, without a form; returns its id."""
    lexicon = Lexicon.of((benchmark.parents[1] / "world/vocabulary.toml").read_text(encoding="utf-8"))
    said = read_text(text, lexicon)
    text_id = hashlib.sha256(text.encode()).hexdigest()[:16]
    counts = {"n_objects": said.n_objects, "n_attributes": said.n_attributes, "n_relations": len(said.links)}
    row = {"text_id": text_id, "text": text, "template": "x", "level": said.level, **counts, **listed}
    edit(benchmark, "texts", lambda rows: rows.append(row))
    return text_id


def test_an_undecided_text(copied: Path, benchmark: Path) -> None:
    text_id = add_text(benchmark, "two objects and an object")

    def plant(rows: Rows) -> None:
        next(row for row in rows if row["item_id"].startswith("binary-") and row["truth"]).update(text_id=text_id)

    edit(benchmark, "candidates", plant)
    certificate = judged(copied)
    assert certificate["faults"]["undecided text"] == 1
    assert "'two objects and an object' is listed as true, and is undecided" in said(certificate, "undecided text")


def test_forms_and_counts_that_the_words_do_not_bear_out(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        form = json.loads(rows[0]["form"])
        form["objects"].reverse()
        rows[0]["form"] = json.dumps(form)
        rows[1]["form"] = "{"
        rows[2].update(n_attributes=3, level="OAR")
        rows[3]["form"] = None

    edit(benchmark, "texts", plant)
    certificate = judged(copied)
    assert set(certificate["faults"]) == {"wrong form"}
    assert certificate["faults"]["wrong form"] == 3
    assert (
        "it is listed with level OAR, n_objects 2, n_attributes 3, n_relations 0; its words give OA, 2, 2, 0"
        in said(certificate, "wrong form")
    )


@pytest.mark.parametrize(
    "template",
    [
        "There is no {value} {thing}.",
        "There is a {thing} that is not {value}.",
        "There is a {value} object that is not a {thing}.",
        "There is a {thing} and a sphere. The {thing} is {value}.",
        "It is not true that there is a {value} {thing}.",
        "two {value} {thing}s",
    ],
)
def test_a_leaked_text_of_any_template(copied: Path, benchmark: Path, template: str) -> None:
    value, thing = held_out(benchmark)
    if thing in ("sphere", "arch", "hourglass"):
        value, thing = next(pair for pair in read_json(benchmark / "holdout.json")["bindings"] if pair[1] not in
                            ("sphere", "arch", "hourglass"))  # fmt: skip
    text = template.format(value=value, thing=thing)
    text_id = add_text(benchmark, text)

    def plant(rows: Rows) -> None:
        next(row for row in rows if row["item_id"].startswith("train-") and not row["truth"]).update(text_id=text_id)

    edit(benchmark, "candidates", plant)
    assert f"training negative '{text}' of item" in said(judged(copied), "leaked binding")


def test_tables_with_missing_cells_or_columns_or_repeated_rows(copied: Path, benchmark: Path) -> None:
    edit(benchmark, "splits", lambda rows: rows.append(rows[0]))
    edit(benchmark, "items", lambda rows: rows.append(rows[0]))
    certificate = judged(copied)
    assert certificate["faults"]["repeated scene"] == certificate["faults"]["repeated item"] == 1
    edit(benchmark, "candidates", lambda rows: rows[0].update(truth=None))
    assert "candidates.parquet cannot be read: it has rows without truth" in said(judged(copied), "damaged file")
    path = benchmark / "candidates.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["slot"]), path)
    assert "candidates.parquet cannot be read" in said(judged(copied), "damaged file")


def test_candidates_without_a_kind_can_be_judged(copied: Path, benchmark: Path) -> None:
    path = benchmark / "candidates.parquet"
    table = pq.read_table(path)
    pq.write_table(table.drop_columns([name for name in table.column_names if name == "kind"]), path)
    seal(benchmark)
    assert judged(copied)["status"] == "clean"


def test_a_record_that_is_none(copied: Path) -> None:
    def plant(rows: Rows) -> None:
        rows[0]["scene"] = "[]"
        rows[1]["relations"][0] = rows[1]["relations"][1]
        rows[2]["relations"][0]["object"] = 7

    edit(copied / "world", "scenes", plant)
    found = said(judged(copied), "wrong record")
    assert "scene 000000: its record cannot be read" in found
    assert "scene 000001: 8 relations are listed, not one for each ordered pair and relation" in found
    assert "scene 000002: 8 relations are listed" in found


# Worlds of other sizes, made by hand: images of one pixel, and only what the judge reads.

VOCABULARY = """
category = "shape"
[attributes.color]
red = {}
blue = {}
green = {}
[objects]
cube = {}
sphere = {}
cone = {}
[relations]
left = { phrase = "to the left of", rule = "left", margin = 0.2 }
"""
BLOCK = {"kind": "color", "category": "shape", "bindings": [["red", "cube"], ["red", "sphere"]]}


def make(root: Path, scenes: dict[str, list[str]], splits: dict[str, str], **tables: Rows) -> Path:
    """A dataset: the objects of each scene from left to right, as "red cube", 1 m apart; the split of each scene."""
    folders = root / "world", root / "benchmarks" / BENCHMARK
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "vocabulary.toml").write_text(VOCABULARY, encoding="utf-8")
    (folders[0] / "images").mkdir()
    for number, scene_id in enumerate(scenes):
        Image.new("L", (1, 1), number).save(folders[0] / f"images/{scene_id}.png")
    rows = [scene_row(scene_id, [words.split() for words in objects]) for scene_id, objects in scenes.items()]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCENES), folders[0] / "scenes.parquet")
    tables["splits"] = [{"scene_id": scene_id, "split": split} for scene_id, split in splits.items()]
    for name, schema in BENCHMARK_TABLES.items():
        pq.write_table(pa.Table.from_pylist(tables.get(name, []), schema=schema), folders[1] / f"{name}.parquet")
    write_json(folders[1] / "holdout.json", BLOCK)
    for folder in reversed(folders):
        write_json(folder / "manifest.json", {})
        seal(folder)
    return root


def scene_row(scene_id: str, objects: list[list[str]]) -> dict[str, Any]:
    things = [
        {"category": category, "attributes": {"color": color}, "position": [float(i), 0.0, 0.0]}
        for i, (color, category) in enumerate(objects)
    ]
    pairs = [(i, j) for i in range(len(objects)) for j in range(len(objects)) if i != j]
    return {
        "scene_id": scene_id,
        "status": "ok",
        "objects": [{"index": i, "amodal_box": [0, 0, 1, 1], **thing, "attributes": list(thing["attributes"].items())} for i, thing in enumerate(things)],
        "relations": [
            {"subject": i, "relation": "left", "object": j, "margin": float(j - i), "holds": j > i} for i, j in pairs
        ],
        "scene": json.dumps({"objects": things, "camera": {"position": [0, -9, 5], "target": [0, 0, 0]}}),
    }  # fmt: skip


CROWDS = {
    "seen": ["blue cube", "green cone", "blue sphere"],
    "partial": ["red cube", "green cone", "red sphere"],
    "unseen": ["red cube", "red sphere", "red cube"],
    "val": ["green cube"],
}


def test_scenes_of_one_to_ten_objects_stand_in_the_split_of_their_bindings(tmp_path: Path) -> None:
    single = {"one": ["red cube"], "ten": ["blue cube"] * 9 + ["red sphere"]}
    splits = {name: name for name in CROWDS} | {"one": "unseen", "ten": "partial"}
    assert judged(make(tmp_path / "right", {**CROWDS, **single}, splits))["status"] == "clean"
    wrong = {
        "seen": "partial",
        "partial": "unseen",
        "unseen": "partial",
        "val": "unseen",
        "one": "partial",
        "ten": "seen",
    }
    certificate = judged(make(tmp_path / "wrong", {**CROWDS, **single}, wrong))
    assert certificate["faults"] == {"wrong split": 6}
    assert "scene unseen is in partial and shows 3 held-out bindings" in said(certificate, "wrong split")


def text_row(text: str) -> dict[str, Any]:
    said = read_text(text, Lexicon.of(VOCABULARY))
    return {
        "text_id": hashlib.sha256(text.encode()).hexdigest()[:16], "text": text, "form": json.dumps(said.to_dict()),
        "level": said.level, "n_objects": said.n_objects, "n_attributes": said.n_attributes, "n_relations": len(said.links),
    }  # fmt: skip


def ask(root: Path, scene: str, texts: dict[str, list[tuple[str, bool]]], pool: Rows = [], **item: Any) -> Path:  # noqa: B006
    """A dataset of one item over a scene, with (text, truth) by slot."""
    words = {text for slot in texts.values() for text, _ in slot} | {row["text"] for row in pool}
    rows = {text: text_row(text) for text in sorted(words)}
    candidates = [
        {"item_id": "i", "scene_id": scene, "text_id": rows[text]["text_id"], "slot": slot, "truth": truth}
        for slot, pairs in texts.items()
        for text, truth in pairs
    ]
    pools = [{"pool_id": "pool", "text_id": rows[row["text"]]["text_id"]} for row in pool]
    items = [{"item_id": "i", "split": scene, **({"pool_id": "pool"} if pool else {}), **item}]
    splits = {name: name for name in CROWDS}
    return make(root, CROWDS, splits, texts=list(rows.values()), items=items, candidates=candidates, pools=pools)


def test_familiarity_is_compared_within_each_question(tmp_path: Path) -> None:
    questions = {
        "c": [("a red cube and a green cone", True)],
        "p": [("There is a red cube and a green cone.", True)],
        "n": [("a red sphere and a blue cone", False)],
        "d1": [("There is a green cone in the image.", True), ("There is a blue cone in the image.", False)],
    }
    assert (
        judged(ask(tmp_path / "a", "partial", questions, held_out_positive=1, held_out_negative=1))["status"] == "clean"
    )
    questions["d2"] = [("There is a red cube.", True), ("There is a blue cube.", False)]
    certificate = judged(ask(tmp_path / "b", "partial", questions, held_out_positive=1, held_out_negative=1))
    assert certificate["faults"] == {"asymmetric familiarity": 1}
    assert "its true texts name 1 held-out bindings, its false ones 0 held-out bindings" in said(
        certificate, "asymmetric familiarity"
    )
    questions["p"] = [("There is a green cone.", True)]
    certificate = judged(ask(tmp_path / "c", "partial", questions, held_out_positive=2))
    assert certificate["faults"] == {"asymmetric familiarity": 2, "wrong familiarity": 1}
    assert "its true texts name 0 held-out bindings or 1 held-out bindings" in said(
        certificate, "asymmetric familiarity"
    )


def test_familiarity_that_is_declared_unequal_is_not_compared(tmp_path: Path) -> None:
    questions = {"c": [("a red cube", True)], "n": [("a blue cube", False)]}
    root = ask(tmp_path / "a", "partial", questions, held_out_positive=1, held_out_negative=0)
    assert judged(root)["faults"] == {"asymmetric familiarity": 1}
    manifest = root / "benchmarks" / BENCHMARK / "manifest.json"
    write_json(manifest, {**read_json(manifest), "equal_familiarity": False, "declared_leaks": ["unequal"]})
    certificate = judged(root)
    assert certificate["status"] == "as declared"
    assert "symmetric" not in certificate["sentence"]


@pytest.mark.parametrize(
    ("true", "false", "fault"),
    [
        ("A cube is to the left of a cone.", "A cone is to the left of a cube.", None),
        ("A cone is to the left of a cube.", "A cube is to the left of a cone.", "false positive"),
        ("There is a cone and no blue cube.", "It is not true that there is a red cube.", None),
        ("two red objects", "three red objects", None),
        ("A cone is not to the left of a cube.", "a cube that is not red", None),
        ("A cube is not to the left of a red object.", "a cube that is not red", "false positive"),
        ("A red object is not to the left of a red object.", "a cube that is not red", None),
        ("A cone is not to the left of a red object.", "a cube that is not red", "undecided text"),
    ],
)
def test_texts_of_every_kind_are_decided(tmp_path: Path, true: str, false: str, fault: str | None) -> None:
    root = ask(tmp_path / "a", "partial", {"0": [(true, True)], "1": [(false, False)]})
    faults = set(judged(root)["faults"])
    assert (fault in faults) if fault else not faults


def test_a_pool_with_relations(tmp_path: Path) -> None:
    pairs = [
        (first, second)
        for first in ("cube", "sphere", "cone")
        for second in ("cube", "sphere", "cone")
        if first != second
    ]
    pool = [{"text": f"a {first} that is to the left of a {second}"} for first, second in pairs]
    true = [
        "a cube that is to the left of a cone",
        "a cube that is to the left of a sphere",
        "a cone that is to the left of a sphere",
    ]
    listed = [(text, True) for text in true]
    assert judged(ask(tmp_path / "a", "partial", {"c": listed}, pool))["status"] == "clean"
    certificate = judged(ask(tmp_path / "b", "partial", {"c": listed[:2]}, pool))
    assert "3 texts of the pool are true, 2 are listed" in said(certificate, "wrong pool truth")
    pool.append({"text": "two cubes and a red object"})
    certificate = judged(ask(tmp_path / "c", "unseen", {"c": [("a cube that is to the left of a sphere", True),
                                                             ("a sphere that is to the left of a cube", True)]}, pool))  # fmt: skip
    assert certificate["faults"] == {"undecided text": 1}


def test_an_unreadable_table(copied: Path, benchmark: Path) -> None:
    (benchmark / "items.parquet").write_bytes(b"PAR1 nonsense")
    assert "items.parquet cannot be read" in said(judged(copied), "damaged file")


def test_many_findings_are_counted_not_listed(copied: Path, benchmark: Path) -> None:
    edit(benchmark, "items", lambda rows: [row.update(held_out_positive=9) for row in rows])
    certificate = judged(copied)
    assert certificate["faults"]["wrong familiarity"] > 20
    assert len([f for f in certificate["findings"] if f["fault"] == "wrong familiarity"]) == 21
    assert "more" in said(certificate, "wrong familiarity")


def test_the_command_exits_1_and_names_the_fault(copied: Path) -> None:
    image = copied / "world/images/000007.png"
    image.write_bytes(image.read_bytes()[:100])
    done = run_command("gen", "verify", copied, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)[BENCHMARK]["status"] == "failed"
    assert "000007.png" in done.stderr
