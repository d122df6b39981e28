"""What each check of the judge finds, on small datasets made by hand."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from generator.base.files import read_json
from generator.dataset.records import BENCHMARK_TABLES
from generator.judge.benchmark import FALSE, TRUE, UNREADABLE, Benchmark
from generator.judge.held_out import HeldOut, Named
from generator.judge.membership import _scene_fault, shared_arrangements
from generator.judge.text_reader import read_text
from generator.judge.world import World
from tests.generator.judge.datasets import (
    BENCHMARK,
    CROWDS,
    SPLITS,
    ask,
    edit,
    judged,
    make,
    restate,
    said,
)
from tests.generator.judge.hand_made_scenes import CLEVR, LEXICON, scene

CLASSES: list[dict[str, Any]] = [
    {"split": "train", "label": ["cube", "left", "cone"]},
    {"split": "ood_test", "label": ["cone", "right", "cube"]},
    {"split": "ood_val", "label": ["cube", "left", "sphere"]},
]


def lists(task: str, classes: list[dict[str, Any]] = CLASSES) -> HeldOut:
    data = {"kind": "color", "category": "shape", "design": "gzsl", "task": task, "bindings": [], "classes": classes}
    return HeldOut.of(data, CLEVR)


def test_an_arrangement_and_its_converse_in_two_lists_are_one() -> None:
    ((one, other, triples),) = shared_arrangements(lists("relational"))
    assert one == "cube left cone (train) = cone right cube (ood_test)"
    assert other == "cone right cube (ood_test) = cube left cone (train)"
    assert triples == {("cube", "left", "cone"), ("cone", "right", "cube")}


def test_scenes_of_three_objects_have_three_labels_of_their_list() -> None:
    bound = [("train", "red cube"), ("train", "green sphere"), ("train", "blue cone"), ("ood_test", "red cone")]
    held_out = lists("three-object", [{"split": name, "label": label.split()} for name, label in bound])

    def fault(split: str, *objects: str) -> str | None:
        return _scene_fault(scene(*objects), split, held_out, frozenset())

    cube, sphere, cone = "red cube -1 0", "green sphere 0 0", "blue cone 1 0"
    assert fault("id_val", cube, sphere, cone) is None
    assert fault("train", cube, sphere) == "shows 2 objects, not 3 of 3 categories"
    assert fault("train", cube, sphere, "blue cube 1 0") == "shows 3 objects, not 3 of 3 categories"
    assert fault("train", cube, sphere, "red cone 1 0") == "two of its objects share a color"
    assert (
        fault("ood_test", cube, sphere, cone) == "shows red cube and green sphere and blue cone, no label of its list"
    )


def test_scenes_of_one_to_ten_objects_stand_in_the_split_of_their_bindings(tmp_path: Path) -> None:
    scenes = {**CROWDS, "000004": ["red cube"], "000005": ["blue cube"] * 9 + ["red sphere"]}
    splits = {**SPLITS, "000004": "unseen", "000005": "partial"}
    assert judged(make(tmp_path / "right", scenes, splits))["status"] == "clean"
    other = {"seen": "partial", "partial": "seen", "unseen": "partial", "val": "unseen"}
    wrong = {scene_id: other[split] for scene_id, split in splits.items()}
    certificate = judged(make(tmp_path / "wrong", scenes, wrong))
    assert certificate["faults"] == {"wrong split": 6}
    assert "scene 000002 is in partial and shows 3 held-out bindings" in said(certificate, "wrong split")


ITEM = {"c": [("a green cone", True)]}


def test_an_item_trains_in_its_own_split_alone(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", ITEM, protocol="train", kind="plain")
    told = said(judged(root), "training outside train")
    assert "item i is of the protocol train and in the split partial" in told
    assert "item i trains on scene 000001, which is in partial" in told


def test_an_item_in_the_split_train_is_of_the_protocol_train(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "val", ITEM, protocol="binary", kind="swap", split="train")
    edit(
        root / "benchmarks" / BENCHMARK,
        "splits",
        lambda rows: [row.update(split="train") for row in rows if row["scene_id"] == "000003"],
    )
    told = said(judged(root), "training outside train")
    assert told == "item i is of the protocol binary and in the split train"


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ({"exposed_negatives": True}, "training negatives may name what is held out"),
        ({"equal_familiarity": False}, "familiarity may be unequal"),
    ],
)
def test_a_deviation_is_declared_or_named(tmp_path: Path, stated: dict[str, Any], what: str) -> None:
    root = make(tmp_path / "a", CROWDS, SPLITS)
    restate(root, **stated)
    assert what in said(judged(root), "undeclared leak")
    restate(root, **stated, declared_leaks=["on purpose"])
    assert judged(root)["status"] == "as declared"


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
    assert certificate["faults"] == {"asymmetric familiarity": 2}
    assert "its true texts name 0 held-out bindings or 1 held-out bindings" in said(
        certificate, "asymmetric familiarity"
    )


def test_familiarity_that_is_declared_unequal_is_not_compared(tmp_path: Path) -> None:
    questions = {"c": [("a red cube", True)], "n": [("a blue cube", False)]}
    root = ask(tmp_path / "a", "partial", questions, held_out_positive=1, held_out_negative=0)
    assert judged(root)["faults"] == {"asymmetric familiarity": 1}
    restate(root, equal_familiarity=False, declared_leaks=["unequal"])
    certificate = judged(root)
    assert certificate["status"] == "as declared"
    assert "symmetric" not in certificate["sentence"]


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
    certificate = judged(
        ask(
            tmp_path / "c",
            "unseen",
            {"c": [("a cube that is to the left of a sphere", True), ("a sphere that is to the left of a cube", True)]},
            pool,
        )
    )
    assert certificate["faults"] == {"undecided text": 1, "no question": 1}


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


def opened(root: Path) -> Benchmark:
    folder = root / "benchmarks" / BENCHMARK
    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in BENCHMARK_TABLES}
    return Benchmark(
        World(root / "world"), tables, read_json(folder / "manifest.json"), read_json(folder / "holdout.json")
    )


def test_candidates_are_decided_and_familiarity_is_numbered(tmp_path: Path) -> None:
    root = ask(
        tmp_path / "a", "partial", {"c": [("a red cube", True), ("a green cone", True)], "n": [("a blue cube", False)]}
    )
    benchmark = opened(root)
    words = [benchmark.text(row) for row in range(3)]
    assert benchmark.familiarity[words.index("a green cone")] == benchmark.familiarity[words.index("a blue cube")] == 0
    assert benchmark.familiarity[words.index("a red cube")] > 0
    assert benchmark.verdicts.tolist() == [TRUE, TRUE, FALSE]
    assert (benchmark.item_id(0), benchmark.scene_id(0)) == ("i", "000001")


def test_a_text_that_cannot_be_read_has_no_meaning(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", {"c": [("a red cube", True)]})
    edit(root / "benchmarks" / BENCHMARK, "texts", lambda rows: rows[0].update(text="green ideas"))
    benchmark = opened(root)
    assert benchmark.meanings == [None]
    assert benchmark.familiarity.tolist() == [-1]
    assert benchmark.verdicts.tolist() == [UNREADABLE]


HOLDOUT = {
    "kind": "color",
    "category": "shape",
    "design": "bindsplit",
    "bindings": [["red", "cube"], ["blue", "cone"]],
    "triples": [["cube", "left", "cone"]],
    "absent_values": ["gray"],
}
HELD_OUT = HeldOut.of(HOLDOUT, CLEVR)


def test_triples_are_held_out_with_their_converses_and_opposites() -> None:
    assert HELD_OUT.triples == {
        ("cube", "left", "cone"),
        ("cone", "right", "cube"),
        ("cube", "right", "cone"),
        ("cone", "left", "cube"),
    }
    alone = HeldOut.of({**HOLDOUT, "opposites": False}, CLEVR)
    assert alone.triples == {("cube", "left", "cone"), ("cone", "right", "cube")}


def test_a_scene_shows_bindings_triples_and_absent_atoms() -> None:
    shown = scene("red cube -1 0", "blue cone 1 0", "gray sphere 3 0")
    assert HELD_OUT.bindings_shown(shown) == [("red", "cube"), ("blue", "cone")]
    assert HELD_OUT.triples_shown(shown) == [("cone", "right", "cube"), ("cube", "left", "cone")]
    assert HELD_OUT.absent_shown(shown) == ["gray"]


def test_the_group_of_a_scene_ignores_order_and_pairing() -> None:
    one, other = scene("red cube -1 0", "blue sphere 1 1"), scene("red sphere -1 0", "blue cube 1 1")
    assert HELD_OUT.cluster(one) == HELD_OUT.cluster(other) == "blue+red|cube+sphere"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a red cube and a blue sphere", Named(1)),
        ("There is no red cube.", Named(1)),
        ("There is a cube that is not red.", Named(1)),
        ("There is a red object that is not a cube.", Named(1)),
        ("A red cube is to the left of a blue cone.", Named(2, 1)),
        ("a gray sphere", Named(absent=True)),
        ("a green sphere", Named()),
    ],
)
def test_a_text_names_what_it_asserts_or_denies(text: str, named: Named) -> None:
    assert HELD_OUT.named(read_text(text, LEXICON)) == named


def test_class_lists_are_read_by_list() -> None:
    classes = [
        {"split": "train", "label": ["red", "cube"]},
        {"split": "ood_test", "label": ["cube", "left", "cone"]},
    ]
    read = HeldOut.of(json.loads(json.dumps({**HOLDOUT, "classes": classes})), CLEVR)
    assert read.labels == {"train": [("red", "cube")], "ood_test": [("cube", "left", "cone")]}
