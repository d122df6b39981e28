"""Planted faults: the judge names each, and is apart from what it judges."""

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import generator
from generator.dataset.files import read_json, write_json, write_sums
from generator.dataset.schema import BENCHMARK_TABLES, SCENES
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
    assert "its true texts name [0] held-out bindings, its false ones" in said(judged(copied), "asymmetric familiarity")


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


def test_the_judge_imports_nothing_of_what_it_judges() -> None:
    judge = Path(generator.__file__).parent / "judge"
    allowed = ("generator.dataset", "generator.judge")
    for path in judge.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [node.module]
                if isinstance(node, ast.ImportFrom)
                else [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            for name in names:
                assert not (name or "").startswith("generator") or (name or "").startswith(allowed), (
                    f"{path.name} imports {name}"
                )


def test_only_the_dataset_folder_serves_both_packages() -> None:
    package = Path(generator.__file__).parent
    for path in [*(package / "dataset").glob("*.py"), *(package.parent / "evaluator").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module and module.startswith("generator"):
                assert module.startswith("generator.dataset"), f"{path} imports {module}"


def test_only_the_blender_folder_imports_bpy() -> None:
    package = Path(generator.__file__).parent
    for path in package.rglob("*.py"):
        if path.parent.name != "blender":
            tree = ast.parse(path.read_text())
            names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            assert not names & {"bpy", "bmesh", "mathutils"}, path
