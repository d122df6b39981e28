"""Questions, atoms and compounds are counted as a plain loop over a small benchmark counts them."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from generator.dataset import relations
from generator.dataset.counts import count_benchmark, count_questions
from generator.dataset.reader import Benchmark
from generator.dataset.relations import Axis
from generator.dataset.writer import WorldWriter, write_benchmark
from tests.generator.scenes import VOCABULARY_TEXT

VOCABULARY = tomllib.loads(VOCABULARY_TEXT)


def form_object(category: str | None, **attributes: str) -> dict[str, Any]:
    return {"category": category, "attributes": attributes}


FORMS: dict[str, dict[str, Any]] = {
    "red cube": {"objects": [form_object("cube", color="red")]},
    "blue cone": {"objects": [form_object("cone", color="blue", size="large")]},
    "red cone": {"objects": [form_object("cone", color="red")]},
    "left": {
        "objects": [form_object("cube"), form_object("cone")],
        "relations": [[0, "left", 1, True]],
    },
    "right": {
        "objects": [form_object("cone"), form_object("cube")],
        "relations": [[0, "right", 1, True]],
    },
    "between": {
        "objects": [form_object("cube"), form_object("cone"), form_object("sphere")],
        "relations": [[0, "between", 1, True, 2]],
    },
    "above": {
        "objects": [form_object("cube"), form_object("cone")],
        "relations": [[0, "above", 1, True]],
    },
    "above, exchanged": {
        "objects": [form_object("cone"), form_object("cube")],
        "relations": [[0, "above", 1, True]],
    },
    "below": {
        "objects": [form_object("cone"), form_object("cube")],
        "relations": [[0, "below", 1, True]],
    },
    "an object": {"objects": [{**form_object(None), "without": {"color": "green"}}]},
}


def _counts(form: dict[str, Any]) -> dict[str, int]:
    objects = form["objects"]
    return {
        "n_objects": len(objects),
        "n_attributes": sum(len(obj["attributes"]) for obj in objects),
        "n_relations": len(form.get("relations", ())),
    }


Questions = dict[str, tuple[str, str, str, list[str], list[str]]]
"""By item: its protocol, kind and split, and its texts in the slots c and n."""


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    items: Questions = {
        "a": ("train", "caption", "train", ["red cube"], []),
        "b": ("train", "caption", "train", ["blue cone", "left"], ["red cone"]),
        "c": ("systematicity", "atom", "unseen", ["red cone"], ["red cube", "blue cone"]),
        "d": ("systematicity", "atom", "unseen", ["red cone"], ["an object"]),
        "e": ("systematicity", "raw", "seen", ["right"], []),
        "f": ("productivity", "atom", "seen", ["right"], ["left"]),
    }
    return write_questions(tmp_path, items)


def write_questions(root: Path, items: Questions) -> Benchmark:
    """Write a benchmark with these items over a world without scenes."""
    with WorldWriter(
        root, {"family": "none", "width": 8, "height": 8, "scenes": {}, "seed": 0}
    ) as writer:
        writer.finish("")
    texts = [
        {"text_id": name, "text": name, "form": json.dumps(form), "level": "OA", **_counts(form)}
        for name, form in FORMS.items()
    ]
    rows = [
        {"item_id": item_id, "protocol": protocol, "kind": kind, "split": split, "cluster_id": "k"}
        for item_id, (protocol, kind, split, _, _) in items.items()
    ]
    candidates = [
        {
            "item_id": item_id,
            "scene_id": item_id,
            "text_id": text,
            "slot": slot,
            "truth": slot == "c",
            "changed": [],
        }
        for item_id, (_, _, _, true, false) in items.items()
        for slot, slot_texts in (("c", true), ("n", false))
        for text in slot_texts
    ]
    tables = {"texts": texts, "items": rows, "candidates": candidates}
    return Benchmark(write_benchmark(root, "small", tables, None, {}))


def test_questions_are_counted_by_kind_and_split(benchmark: Benchmark) -> None:
    _, atom, raw = count_benchmark(benchmark, VOCABULARY)["questions"]
    labels = {"protocol": "systematicity", "kind": "atom", "split": "unseen"}
    assert atom == {**labels, "items": 2, "captions": 2, "false_texts": 3, "set_size": None}
    assert (raw["kind"], raw["items"], raw["false_texts"], raw["set_size"]) == ("raw", 1, 0, 1)


def test_names_are_counted_in_captions_and_compared_with_training(benchmark: Benchmark) -> None:
    counts = count_benchmark(benchmark, VOCABULARY)
    names = {
        (row.pop("protocol"), row.pop("split")): tuple(row.values()) for row in counts["names"]
    }
    assert names == {
        ("train", "train"): (3, 6, 0, 4, 0),
        # the converse of a training relation: a word that training lacks, the same compound
        ("productivity", "seen"): (1, 3, 1, 1, 0),
        ("systematicity", "unseen"): (2, 2, 0, 1, 1),
    }
    frequency = {
        row["atom"]: row["captions"]
        for row in counts["atoms"]
        if row["protocol"] == "systematicity"
    }
    assert frequency["color red"] == {"train": 1, "unseen": 2}
    assert "color green" not in frequency  # only a false text names it


def test_captions_of_raw_retrieval_and_of_other_protocols_name_nothing_in_the_hard_negative_set(
    benchmark: Benchmark,
) -> None:
    """CREPE, table 7, counts the systematicity hard negative set; its raw captions are many
    more."""
    counts = count_benchmark(benchmark, VOCABULARY)
    assert ("systematicity", "seen") not in {
        (row["protocol"], row["split"]) for row in counts["names"]
    }


def test_questions_are_counted_by_any_labels(benchmark: Benchmark) -> None:
    counted = {row["n"]: row for row in count_questions(benchmark, [("protocol", "level", "n")])}
    assert set(counted) == {2, 3}  # a red cone; a cone, a cube and their relation
    numbers = {"items": 2, "captions": 2, "false_texts": 3, "set_size": None}
    assert counted[2] == {"protocol": "systematicity", "level": "OA", "n": 2, **numbers}


def test_a_relation_that_a_family_adds_is_counted_with_its_converse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CONTRIBUTING.md adds above and below: cube above cone is cone below cube, and not cone above
    cube."""
    heights = Axis(("above", "below"), lambda first, second, _: first.foot - second.foot, "stacks")
    for rule in heights.rules:
        monkeypatch.setitem(relations.AXIS_OF, rule, heights)
    items: Questions = {
        "a": ("train", "caption", "train", ["above"], []),
        "b": ("binary", "atom", "seen", ["below"], []),
        "c": ("binary", "atom", "unseen", ["above, exchanged"], []),
    }
    counts = count_benchmark(write_questions(tmp_path, items), VOCABULARY)
    new_compounds = {row["split"]: row["compounds_not_in_training"] for row in counts["names"]}
    assert new_compounds == {"train": 0, "seen": 0, "unseen": 1}
