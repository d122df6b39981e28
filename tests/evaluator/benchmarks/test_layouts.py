"""Published benchmarks: read as published, scored by a model whose answers are known, run and
measured again."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from evaluator import Dataset, evaluate
from evaluator.benchmarks.reading import describe_reading
from evaluator.benchmarks.registry import LAYOUTS, read_layout, read_texts
from evaluator.runs.measure import measure
from generator.base.errors import UserError
from generator.base.files import read_json
from tests.evaluator.benchmarks.conftest import (
    COLORS,
    WRITERS,
    Colors,
    square,
    write_bivlc,
    write_compass,
    write_crepe,
    write_crepe_systematicity,
    write_sugarcrepe,
    write_table,
    write_vl_checklist,
)
from tests.evaluator.synthetic import find

EXPECTED = {
    "sugarcrepe": [
        ("accuracy", "replace_att", 1),
        ("accuracy", "swap_obj", 0),
        ("accuracy", None, 4 / 5),
        ("accuracy, mean of categories", None, 1 / 2),
    ],
    "sugarcrepe_pp": [
        ("original accuracy", None, 1),
        ("augmented accuracy", None, 4 / 5),
        ("augmented accuracy, mean of categories", None, 1 / 2),
        ("augmented accuracy", "swap_obj", 0),
    ],
    "vl_checklist": [
        ("accuracy", None, 9 / 11),
        ("accuracy", "Attribute color", 4 / 5),
        ("accuracy, mean of categories", "Attribute color", 1 / 2),
        ("accuracy", "Object Size large", 5 / 6),
        ("accuracy, mean of categories", "Object Size large", 3 / 4),
        ("accuracy, mean of categories", None, 5 / 8),
    ],
    "hard_positives": [
        ("original accuracy", "replace", 1),
        ("augmented accuracy", "replace", 4 / 5),
    ],
    "pearson2025": [("GZSL", "two-object", 0), ("ZSL", "two-object", 1)],
    "pug_spare": [("accuracy", "Desert", 1), ("accuracy", "Island", 1), ("accuracy", None, 1)],
    "aro": [("accuracy", "visual_genome_relation", 1)],
    "table": [("accuracy", None, 1)],
    "winoground": [(metric, None, 1) for metric in ("text", "image", "group")],
    "vismin": [(metric, None, 1) for metric in ("text", "image", "group")],
    "bivlc": [(metric, "Replace Attribute", 1) for metric in ("text", "image", "group")],
    "aro_order": [("accuracy", "coco_order", 3 / 4)],
    "whatsup": [
        ("accuracy", "controlled_images_dataset", 1),
        ("accuracy", "coco_qa_one_obj", 3 / 4),
        ("accuracy", "vg_qa_two_obj", 3 / 4),
    ],
    "negbench": [("accuracy", "COCO_val_mcq_llama3.1_rephrased hybrid", 1), ("accuracy", None, 1)],
    "mmvp_vlm": [
        ("image", "Color and Appearance", 1),
        ("image", "Texts", 0),
        ("image", None, 1 / 2),
    ],
    "vsr": [("accuracy", "dev", 1)],
    "cola": [("group", "COLA_multiobjects_matching_benchmark", 1)],
    "colorswap": [("group", "human", 1)],
    "naturalbench": [("group", "metadata", 1)],
    "naturalbench_vqa": [("group", "DOCCI", 1), ("group", "Flickr30K", 1)],
    "eqben": [("group", "eqben_subset_10percent_final", 1)],
}
"""Metric, kind and value of the model that knows colours alone, in benchmarks with one protocol and
split."""


@pytest.mark.parametrize("name", EXPECTED)
def test_a_benchmark_of_others_is_scored_by_its_name(
    name: str, tmp_path: Path, colors: Colors
) -> None:
    path = WRITERS[name](tmp_path / "files")
    images = tmp_path / "files" / "images"
    dataset = Dataset.open(f"{name}:{path}", images=images if images.is_dir() else None)
    evaluation = evaluate(colors, dataset, out=tmp_path / "run", name="colors")
    split = "seen" if name == "table" else "all"
    (protocol,) = {row["protocol"] for row in evaluation.results["rows"]}
    for metric, kind, value in EXPECTED[name]:
        row = find(
            evaluation.results, protocol, split, metric=metric, kind=kind, skill=None, error=None
        )
        assert row["value"] == pytest.approx(value), (metric, kind)
        assert row["unscored"] == 0
        assert row["average"].startswith("macro" if "mean of" in metric else "micro")
    record = read_json(tmp_path / "run" / "run.json")
    assert record["dataset"] is None
    where = None if dataset.source.images is None else str(images.resolve())
    assert record["external"] == {
        "name": name,
        "path": str(path.resolve()),
        "images": where,
        "filters": [],
    }
    assert record["certificate"] == "not verified"
    remeasured = measure(tmp_path / "run")
    assert remeasured == evaluation.results


def test_a_finished_run_is_not_scored_again_and_one_of_changed_files_refused(
    tmp_path: Path, colors: Colors
) -> None:
    folder = write_sugarcrepe(tmp_path / "files")
    first = evaluate(colors, f"sugarcrepe:{folder}", out=tmp_path / "run", name="colors")
    second = evaluate(colors, f"sugarcrepe:{folder}", out=tmp_path / "run", name="colors")
    assert second.results["rows"] == first.results["rows"]
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
    second = Dataset.open(f"bivlc:{tmp_path / 'files'}")
    assert second[0]["images"][0].getpixel((0, 0)) == COLORS["gray"]
    assert second.benchmark.digest != first.benchmark.digest


ROW = {"filename": "000000000001.jpg", "caption": "a red car", "negative_caption": "a blue car"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("images/000000000001.jpg", None, r"names the image 000000000001.jpg, which is not in"),
        ("images/000000000001.jpg", "no image", "cannot be read as JPEG, PNG, WEBP"),
        ("replace_att.json", '{"0": 3}', "Expected an object as row 0"),
        ("replace_att.json", "{", "is damaged"),
        ("replace_att.json", "[]", "has no rows"),
        ("replace_att.json", json.dumps([{"filename": "a.jpg"}]), "has no 'caption'"),
        (
            "replace_att.json",
            json.dumps([{**ROW, "filename": "../../secret.png"}]),
            "is not a path within that folder",
        ),
        (
            "replace_att.json",
            json.dumps([{**ROW, "caption": ["a red car"]}]),
            "as its 'caption'; expected a text",
        ),
    ],
)
def test_files_that_are_not_as_published_are_refused(
    name: str, content: str | None, message: str, tmp_path: Path, colors: Colors
) -> None:
    folder = write_sugarcrepe(tmp_path / "files")
    (folder / name).unlink() if content is None else (folder / name).write_text(content)
    with pytest.raises(UserError, match=message):
        evaluate(colors, f"sugarcrepe:{folder}", out=tmp_path / "run", name="colors")
    assert not (tmp_path / "run" / "run.json").exists()


def test_one_image_twice_is_refused(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    row = {
        "id": 3,
        "collapsed_tag": "Both",
        "image_0": "a",
        "image_1": "a",
        "caption_0": "x",
        "caption_1": "y",
    }
    (tmp_path / "examples.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(UserError, match="has one image twice"):
        read_layout("winoground", tmp_path, images=None)


def test_crepe_is_asked_by_kind_and_complexity(tmp_path: Path, colors: Colors) -> None:
    results = evaluate(
        colors, f"crepe:{write_crepe(tmp_path / 'files')}", out=tmp_path / "run", name="colors"
    ).results
    for kind, value, items in (("atom", 1, 7), ("swap", 1, 7), ("neg", 0, 7), ("all", 0, 7)):
        row = find(results, "productivity", "all", metric="R@1", kind=kind, n=None)
        assert (row["value"], row["items"], row["ties"]) == (value, items, 7 * (1 - value))
        assert row["chance"] == pytest.approx({"neg": 1 / 2, "all": 1 / 8}.get(kind, 1 / 4))
        assert find(results, "productivity", "all", metric="R@1", kind=kind, n=4)["items"] == 3
        mean = find(results, "productivity", "all", metric="R@1, mean of categories", kind=kind)
        assert (mean["value"], mean["average"]) == (value, "macro (over categories)")


def test_compounds_of_crepe_are_seen_and_unseen(tmp_path: Path, colors: Colors) -> None:
    path = write_crepe_systematicity(tmp_path / "files")
    results = evaluate(colors, f"crepe:{path}", out=tmp_path / "run", name="colors").results
    for kind, split, value, items in (
        ("atom", "seen", 1, 4),
        ("comp", "seen", 1, 4),
        ("both", "unseen", 2 / 3, 3),
        ("comp", "unseen", 2 / 3, 3),
    ):
        row = find(results, "systematicity", split, metric="R@1", kind=kind)
        assert (row["value"], row["items"]) == (pytest.approx(value), items)
    assert results["reading"]["excluded"] == {"it has no negative of this kind": 2}


def test_compass_is_asked_composed_and_decomposed(tmp_path: Path, colors: Colors) -> None:
    path = write_compass(tmp_path / "files")
    results = evaluate(colors, f"compass:{path}", out=tmp_path / "run", name="colors").results
    for metric, value, chance in (
        ("R@1 composed", 1 / 2, (1 / 3 + 1 / 2) / 2),
        ("R@1 decomposed", 1 / 2, 1 / 4),
    ):
        row = find(results, "integration", "all", metric=metric, n=2)
        assert (row["level"], row["value"], row["chance"]) == (
            "OA",
            value,
            pytest.approx(chance, abs=1e-6),
        )
    whole = Dataset.open(f"compass:{path}", filters=["complete"])
    results = evaluate(colors, whole, out=tmp_path / "whole", name="colors").results
    assert find(results, "integration", "all", metric="R@1 composed", n=2)["value"] == 1
    assert (results["benchmark"], results["rules"]["filters"]) == (
        "compass (complete)",
        {"complete": "yes"},
    )
    assert results["reading"]["excluded"] == {"its complete is not yes": 1}


def test_filters_are_named_and_what_they_leave_out_is_counted(
    tmp_path: Path, colors: Colors
) -> None:
    folder = write_vl_checklist(tmp_path / "files")
    (folder / "images" / "swig" / "2.jpg").unlink()
    with pytest.raises(
        UserError, match=r"names the image swig/2.jpg, which is not in .*--filter present"
    ):
        Dataset.open(f"vl_checklist:{folder}", images=folder / "images")
    dataset = Dataset.open(
        f"vl_checklist:{folder}", images=folder / "images", filters=["first=02", "present"]
    )
    results = evaluate(colors, dataset, out=tmp_path / "run", name="colors").results
    assert results["benchmark"] == "vl_checklist (first=2, present)"
    assert results["factors"]["design"]["filters"] == {"first": "2", "present": "yes"}
    assert results["reading"]["excluded"] == {
        "it is not among the first of its file": 3,
        "its image is not there": 1,
    }
    assert find(results, "binary", "all", metric="accuracy", kind=None)["items"] == 7
    assert measure(tmp_path / "run") == results


def test_images_of_questions_that_a_filter_drops_are_not_looked_for(tmp_path: Path) -> None:
    folder = write_sugarcrepe(tmp_path / "files")
    (folder / "images" / "000000000003.jpg").unlink()
    assert len(Dataset.open(f"sugarcrepe:{folder}", filters=["first=3"]).benchmark.items) == 4
    with pytest.raises(UserError, match=r"names the image 000000000003\.jpg"):
        Dataset.open(f"sugarcrepe:{folder}", filters=["first=4"])


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    _, about = read_texts("sugarcrepe", write_sugarcrepe(tmp_path / "files") / "swap_obj.json")
    assert about["versions"] == [
        "swap_obj.json has 1 questions, the published file 245: it is another version."
    ]
    assert describe_reading(about) == about["versions"]
    with pytest.raises(UserError, match="has no 'caption2'"):
        read_texts("sugarcrepe_pp", tmp_path / "files" / "swap_obj.json")


def test_texts_are_read_without_images(tmp_path: Path) -> None:
    for name in LAYOUTS:
        path = WRITERS[name](tmp_path / name)
        shutil.rmtree(tmp_path / name / "images", ignore_errors=True)
        questions, _ = read_texts(name, path)
        assert questions
    with pytest.raises(UserError, match="looks for images, which are not read here"):
        read_texts(name, path, ["present"])


def test_filters_that_leave_nothing_are_refused(tmp_path: Path) -> None:
    path = write_crepe_systematicity(tmp_path / "files", ("laion", "cc12m"))
    with pytest.raises(
        UserError,
        match=r"questions for 2 values of 'corpus' \(cc12m, laion\).*--filter corpus=cc12m",
    ):
        read_texts("crepe", path)
    questions, about = read_texts("crepe", path, ["corpus=laion"])
    assert (len(questions), about["filters"]) == (22, {"corpus": "laion"})
    with pytest.raises(
        UserError,
        match=r"None of the 48 questions .* is left .*its labels are corpus: cc12m, laion",
    ):
        read_texts("crepe", path, ["corpus=yfcc"])
    with pytest.raises(UserError, match=r"'table' has no filters \(first=1\)"):
        Dataset.open(f"table:{write_table(tmp_path / 'table')}", filters=["first=1"])
