"""Questions for other tools: right answers, letters in balance, images as they are, and files in the tools' forms."""

import base64
import csv
import json
import runpy
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from generator.dataset.reader import Dataset
from tests.conftest import refuse, succeed

csv.field_size_limit(sys.maxsize)


def exported(dataset: Path, tool: str, out: Path, *more: str) -> Path:
    succeed("gen export", tool, dataset, "--out", out, *more)
    return out


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def captions(dataset: Path) -> dict[str, dict[str, bool]]:
    """The truth of each item's texts, by their words, from the tables alone."""
    benchmark = Dataset.open(dataset).benchmark()
    found: dict[str, dict[str, bool]] = {}
    for row in benchmark.candidates.to_pylist():
        found.setdefault(row["item_id"], {})[benchmark.text_of[row["text_id"]]] = row["truth"]
    return found


@pytest.mark.parametrize("tool", ["lmms-eval", "inspect"])
def test_each_item_is_asked_in_both_orders_and_each_letter_is_right_as_often(
    rendered: Path, tmp_path: Path, tool: str
) -> None:
    out = exported(rendered, tool, tmp_path / "out", "--protocol", "binary")
    rows, truth = lines(out), captions(rendered)
    items = Dataset.open(rendered).benchmark().items_of("binary")
    assert Counter(row["item"] for row in rows) == dict.fromkeys(items["item_id"].to_pylist(), 2)
    assert Counter(row["answer"] for row in rows) == {"A": len(items), "B": len(items)}
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert [truth[row["item"]][option] for option in row["options"]] == [row["answer"] == letter for letter in "AB"]
    world = Dataset.open(rendered).world
    for row in rows[::29]:
        (scene,) = row["scenes"]
        assert (out / "images" / f"{scene}.png").read_bytes() == world.read(f"images/{scene}.png")


def test_one_order_favours_no_letter_by_much_and_yes_or_no_asks_every_caption(rendered: Path, tmp_path: Path) -> None:
    rows = lines(exported(rendered, "inspect", tmp_path / "one", "--protocol", "binary", "--orders", "1"))
    counts = Counter(row["answer"] for row in rows)
    assert set(counts) == {"A", "B"}
    assert abs(counts["A"] - counts["B"]) < 4 * len(rows) ** 0.5
    truth = captions(rendered)
    asked = lines(exported(rendered, "inspect", tmp_path / "yn", "--protocol", "binary", "--form", "yes-no"))
    assert len(asked) == 2 * len(rows)
    for row in asked:
        caption = row["question"].split('"')[1]
        assert (row["options"], row["answer"]) == ([], "yes" if truth[row["item"]][caption] else "no")


@pytest.fixture(scope="module")
def task(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unseen split for lmms-eval."""
    return exported(rendered, "lmms-eval", tmp_path_factory.mktemp("lmms-eval") / "out", "--split", "unseen")


@pytest.fixture(scope="module")
def functions(task: Path) -> dict[str, Any]:
    """What utils.py of the task defines."""
    return runpy.run_path(str(task / "utils.py"))


def test_lmms_eval_gets_a_task_of_yaml(task: Path, functions: dict[str, Any]) -> None:
    (path,) = task.glob("*.yaml")
    yaml.add_constructor("!function", lambda loader, node: node.value, yaml.SafeLoader)
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert (told["task"], told["dataset_kwargs"]) == (path.stem, {"data_files": {"test": "questions.jsonl"}})
    named = [told[name] for name in ("doc_to_visual", "doc_to_text", "process_results")]
    named += [metric["aggregation"] for metric in told["metric_list"]]
    assert all(each.removeprefix("utils.") in functions for each in named)
    rows = lines(task)
    assert {row["split"] for row in rows} == {"unseen"}
    assert functions["doc_to_visual"](rows[0])[0].size == (64, 64)
    right, always_b = (
        [functions["process_results"](row, [answer or row["answer"]])["right"] for row in rows] for answer in ("", "B")
    )
    assert functions["right_in_all_orders"](right) == 1
    assert functions["right_in_all_orders"](always_b) == 0
    assert functions["right"](always_b) == 0.5


@pytest.mark.parametrize(
    ("answer", "letter"),
    [("B", "B"), ("(B)", "B"), ("<think>A</think>Answer: B", "B"), ("A red cube.", "A"), ("A cube", ""), ("no", "")],
)
def test_what_lmms_eval_is_told_of_an_answer(functions: dict[str, Any], answer: str, letter: str) -> None:
    assert functions["read_answer"](answer, ["A red cube.", "A blue cube."]) == letter


def test_vlmevalkit_gets_a_tsv_for_circular_evaluation(rendered: Path, tmp_path: Path) -> None:
    out = exported(rendered, "vlmevalkit", tmp_path / "out", "--protocol", "binary")
    (path,) = out.glob("*_circular.tsv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    truth, world = captions(rendered), Dataset.open(rendered).world
    images = {row["index"]: row["image"] for row in rows}
    first = [int(row["index"]) for row in rows if int(row["index"]) < 1_000_000]
    assert first == list(range(len(rows) // 2))
    assert sorted(int(row["index"]) % 1_000_000 for row in rows) == sorted(2 * first)
    for row in rows[::17]:
        item = row["id"].split(".")[0]
        assert [truth[item][row[letter]] for letter in "AB"] == [row["answer"] == letter for letter in "AB"]
        image = row["image"] if len(row["image"]) > 64 else images[row["image"]]
        assert base64.b64decode(image) == world.read(f"images/{item.split('-')[1]}.png")


def test_clip_benchmark_gets_captions_with_negatives_as_sugarcrepe(rendered: Path, tmp_path: Path) -> None:
    out = exported(rendered, "clip-benchmark", tmp_path / "out", "--protocol", "binary")
    truth, found = captions(rendered), {}
    for folder in out.glob("binary-*"):
        for item, entry in json.loads((folder / "swap_att.json").read_text(encoding="utf-8")).items():
            assert (folder / "val2017" / entry["filename"]).read_bytes().startswith(b"\x89PNG")
            assert truth[item] == {entry["caption"]: True, entry["negative_caption"]: False}
            found[item] = folder.name
    items = Dataset.open(rendered).benchmark().items_of("binary").to_pylist()
    assert found == {row["item_id"]: f"binary-{row['kind']}-{row['split']}" for row in items}


def test_what_cannot_be_exported_is_one_sentence(rendered: Path, tmp_path: Path) -> None:
    for said, command in (
        ("no questions of the protocol 'binry'", "inspect --protocol binry"),
        ("no questions of the split 'new'", "inspect --split new"),
        ("leave --form yes-no out", "vlmevalkit --form yes-no"),
        ("no such items", "clip-benchmark --form yes-no"),
    ):
        refuse(said, f"gen export {command} --out out", rendered, cwd=tmp_path)
        assert not (tmp_path / "out").exists()
    exported(rendered, "inspect", tmp_path / "out", "--split", "unseen")
    refuse("is there already", "gen export inspect --out out", rendered, cwd=tmp_path)
