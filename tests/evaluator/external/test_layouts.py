"""Benchmarks of others: read as published, scored by a model whose answers are known, run and measured again."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from evaluator import Dataset, evaluate
from evaluator.external.layouts import LAYOUTS, read_layout
from evaluator.measure import measure
from generator.dataset.errors import UserError
from generator.dataset.files import read_json
from tests.evaluator.external.conftest import (
    COLORS,
    WRITERS,
    Colors,
    encoded,
    square,
    write_aro,
    write_bivlc,
    write_sugarcrepe,
)
from tests.evaluator.synthetic import find


@pytest.mark.parametrize("name", WRITERS)
def test_a_benchmark_of_others_is_scored_by_its_name(name: str, tmp_path: Path, colors: Colors) -> None:
    path = WRITERS[name](tmp_path / "files")
    found = evaluate(colors, f"{name}:{path}", out=tmp_path / "run", name="colors")
    protocol = "pairs" if name in ("winoground", "bivlc", "vismin") else "binary"
    assert {row["protocol"] for row in found.results["rows"]} == {protocol}
    if protocol == "pairs":
        for metric in ("text", "image", "group"):
            kinds = {} if name == "bivlc" else {"kind": None}  # all of BiVLC's are of one kind here
            row = find(found.results, "pairs", "all", metric=metric, **kinds)
            assert (row["value"], row["items"], row["unscored"]) == (1, 3, 0)
    elif name == "sugarcrepe":
        of_kind = {
            kind: find(found.results, "binary", "all", kind=kind)["value"] for kind in ("replace_att", "swap_obj")
        }
        assert of_kind == {"replace_att": 1, "swap_obj": 0}
        assert find(found.results, "binary", "all", kind=None)["value"] == pytest.approx(4 / 5)
    else:
        row = find(found.results, "binary", "seen" if name == "table" else "all")
        assert (row["value"], row["items"]) == (1, 4)
    record = read_json(tmp_path / "run" / "run.json")
    assert record["dataset"] is None
    assert record["external"] == {"name": name, "path": str(path.resolve()), "images": None}
    assert record["certificate"] == "not verified"
    again = measure(tmp_path / "run")
    assert again["rows"] == found.results["rows"]


def test_a_finished_run_is_not_scored_again_and_one_of_changed_files_refused(tmp_path: Path, colors: Colors) -> None:
    folder = write_sugarcrepe(tmp_path / "files")
    first = evaluate(colors, f"sugarcrepe:{folder}", out=tmp_path / "run", name="colors")
    again = evaluate(colors, f"sugarcrepe:{folder}", out=tmp_path / "run", name="colors")
    assert again.results["rows"] == first.results["rows"]
    square("gray").save(folder / "images" / "000000000002.jpg")
    with pytest.raises(UserError, match="holds a run of another world"):
        evaluate(colors, f"sugarcrepe:{folder}", out=tmp_path / "run", name="colors")


def test_cells_of_a_file_that_was_written_again_are_read_again(tmp_path: Path) -> None:
    """As in a notebook, where one process opens a benchmark before and after."""
    write_bivlc(tmp_path / "files")
    first = Dataset.open(f"bivlc:{tmp_path / 'files'}")
    assert first[0]["images"][0].getpixel((0, 0)) == COLORS["red"]
    shutil.rmtree(tmp_path / "files")
    write_bivlc(tmp_path / "files", [("gray", "red"), ("blue", "green"), ("red", "blue")])
    second = first.reopened()
    assert second[0]["images"][0].getpixel((0, 0)) == COLORS["gray"]
    assert second.benchmark.digest != first.benchmark.digest


def test_negatives_of_one_image_are_one_cluster(tmp_path: Path) -> None:
    dataset = Dataset.open(f"sugarcrepe:{write_sugarcrepe(tmp_path / 'files')}")
    items = dataset.benchmark.items.to_pylist()
    assert [(row["item_id"], row["cluster_id"], row["kind"]) for row in items if row["cluster_id"].startswith("000000000000")] == [
        ("replace_att/0", "000000000000.jpg", "replace_att"), ("swap_obj/7", "000000000000.jpg", "swap_obj"),
    ]  # fmt: skip


def test_only_the_box_of_an_image_is_shown(tmp_path: Path) -> None:
    dataset = Dataset.open(f"aro:{write_aro(tmp_path / 'files')}")
    for question, color in zip(dataset, COLORS, strict=True):
        (image,) = question["images"]
        assert image.size == (24, 24)
        assert image.getpixel((12, 12)) == pytest.approx(COLORS[color], abs=6)
        true = question["texts"][question["truth"].index(True)]
        assert true.split()[1] == color


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "images" / "000000000001.jpg").unlink(), r"names the image 000000000001.jpg, which is not in"),
        (lambda folder: (folder / "images" / "000000000001.jpg").write_bytes(b"no image"), "cannot be read as JPEG, PNG, WEBP"),
        (lambda folder: (folder / "replace_att.json").write_text('{"0": {"filename": "a.jpg"}}'), "has no 'caption'|names the image"),
        (lambda folder: (folder / "replace_att.json").write_text('{"0": 3}'), "Expected an object as row 0"),
        (lambda folder: (folder / "replace_att.json").write_text("{"), "is damaged"),
        (lambda folder: (folder / "replace_att.json").write_text("[]"), "has no rows"),
        (
            lambda folder: (folder / "replace_att.json").write_text(
                json.dumps([{"filename": "../../secret.png", "caption": "a red car", "negative_caption": "a blue car"}])
            ),
            "is no path within that folder",
        ),
        (
            lambda folder: (folder / "replace_att.json").write_text(
                json.dumps([{"filename": "000000000001.jpg", "caption": ["a red car"], "negative_caption": "a blue car"}])
            ),
            "Expected a text as the 'caption'",
        ),
    ],
)  # fmt: skip
def test_files_that_are_not_as_published_are_refused(spoil, said: str, tmp_path: Path, colors: Colors) -> None:
    folder = write_sugarcrepe(tmp_path / "files")
    spoil(folder)
    with pytest.raises(UserError, match=said):
        evaluate(colors, f"sugarcrepe:{folder}", out=tmp_path / "run", name="colors")
    assert not (tmp_path / "run" / "run.json").exists()


def test_ids_that_occur_twice_are_refused(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in ("a", "b"):
        (tmp_path / "images" / f"{name}.png").write_bytes(encoded(square("red")))
    row = {"id": 3, "collapsed_tag": "Both", "image_0": "a", "image_1": "b", "caption_0": "x", "caption_1": "y"}
    (tmp_path / "examples.jsonl").write_text(f"{json.dumps(row)}\n{json.dumps(row)}\n")
    with pytest.raises(UserError, match="two questions with the id 3"):
        read_layout(LAYOUTS["winoground"], tmp_path, None)


def test_one_image_twice_is_refused(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    row = {"id": 3, "collapsed_tag": "Both", "image_0": "a", "image_1": "a", "caption_0": "x", "caption_1": "y"}
    (tmp_path / "examples.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(UserError, match="has one image twice"):
        read_layout(LAYOUTS["winoground"], tmp_path, None)


def test_a_box_without_pixels_is_refused(tmp_path: Path) -> None:
    folder = write_aro(tmp_path / "files")
    rows = json.loads((folder / "visual_genome_relation.json").read_text())
    rows[2]["bbox_w"] = 0
    (folder / "visual_genome_relation.json").write_text(json.dumps(rows))
    with pytest.raises(UserError, match="has a box of 0x24 pixels"):
        read_layout(LAYOUTS["aro"], folder, None)
