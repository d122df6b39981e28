"""What texts assert is read from their forms: held-out combinations as the generator counts them, and atoms."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.protocols.errors import read_assertions
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.writer import write_benchmark
from tests.evaluator.synthetic import Builder

HOLDOUT = {
    "kind": "color",
    "category": "shape",
    "bindings": [["red", "cube"], ["blue", "cone"]],
    "triples": [["cube", "left", "cone"], ["cone", "right", "cube"]],
}


def thing(
    category: str | None, *, count: int = 1, without: dict[str, str] | None = None, **attributes: str
) -> dict[str, object]:
    return {"category": category, "attributes": attributes, "count": count, "without": without or {}}


FORMS = {  # with how many held-out bindings and triples each names
    "two": (2, {"objects": [thing("cube", color="red"), thing("cone", color="blue")]}),
    "swapped": (0, {"objects": [thing("cube", color="blue"), thing("cone", color="red")]}),
    "reversed": (2, {"objects": [thing("cone", color="blue"), thing("cube", color="red")]}),
    "another": (1, {"objects": [thing("cube", color="red"), thing("ball", color="blue")]}),
    "left": (1, {"objects": [thing("cube"), thing("cone")], "relations": [[0, "left", 1, True]]}),
    "right": (0, {"objects": [thing("cube"), thing("cone")], "relations": [[0, "right", 1, True]]}),
    "denied": (1, {"objects": [thing("cube", without={"color": "red"})]}),
    "no cube": (1, {"objects": [thing(None, color="red", without={"shape": "cube"})]}),
    "three": (0, {"objects": [thing("ball", count=3, color="red")]}),
    "one": (0, {"objects": [thing("ball", color="red")]}),
}


@pytest.fixture
def written(tmp_path: Path) -> Benchmark:
    root = Builder().write(tmp_path / "dataset")
    texts = [{"text_id": name, "text": name, "form": json.dumps(form)} for name, (_, form) in FORMS.items()]
    texts.append({"text_id": "foreign", "text": "words alone"})
    write_benchmark(root, "forms", {"texts": texts}, HOLDOUT, {})
    write_benchmark(root, "no-holdout", {"texts": texts}, None, {})
    return Dataset.open(root).benchmark("forms")


def test_held_out_bindings_and_triples_are_counted(written: Benchmark) -> None:
    said: Any = read_assertions(written, list(FORMS))
    assert dict(zip(FORMS, said.held_out, strict=True)) == {name: count for name, (count, _) in FORMS.items()}


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("two", "swapped", [False] * 3),
        ("two", "reversed", [False] * 3),
        ("two", "another", [False, True, False]),
        ("left", "right", [False, False, True]),
        ("two", "left", [True, False, True]),
        ("three", "one", [True, True, False]),
        ("denied", "left", [True, True, True]),
    ],
)
def test_atoms_differ_where_texts_name_others(written: Benchmark, one: str, other: str, differ: list[bool]) -> None:
    said: Any = read_assertions(written, [one, other])
    assert (said.atoms[0] != said.atoms[1]).tolist() == differ


def test_texts_without_a_form_say_nothing_and_without_a_holdout_there_is_no_count(written: Benchmark) -> None:
    assert read_assertions(written, ["two", "foreign"]) is None
    assert read_assertions(written, ["two", "unknown"]) is None
    said: Any = read_assertions(Dataset.open(written.folder.parents[1]).benchmark("no-holdout"), ["two"])
    assert said.held_out is None


def test_counts_are_those_that_the_generator_recorded(benchmark: Benchmark) -> None:
    items = {row["item_id"]: row for row in benchmark.items.to_pylist()}
    rows = [row for row in benchmark.candidates.to_pylist() if items[row["item_id"]]["protocol"] != "train"]
    said: Any = read_assertions(benchmark, [row["text_id"] for row in rows])
    recorded = [items[row["item_id"]]["held_out_positive" if row["truth"] else "held_out_negative"] for row in rows]
    assert len(set(recorded)) > 1
    assert said.held_out.tolist() == recorded
