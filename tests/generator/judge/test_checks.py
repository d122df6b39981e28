"""What each check of the judge finds, on small datasets made by hand."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from generator.judge.held_out import HeldOut, HeldOutCounts
from generator.judge.membership import _class_fault, shared_arrangements
from generator.judge.text_reader import read_text
from tests.generator.judge.datasets import (
    BENCHMARK,
    CROWDS,
    SPLITS,
    ask,
    details_of,
    edit,
    judged,
    make,
    restate,
)
from tests.generator.judge.hand_made_scenes import CLEVR, LEXICON, scene

CLASSES: list[dict[str, Any]] = [
    {"split": "train", "label": ["cube", "left", "cone"]},
    {"split": "ood_test", "label": ["cone", "right", "cube"]},
    {"split": "ood_val", "label": ["cube", "left", "sphere"]},
]


def lists(task: str, classes: list[dict[str, Any]] = CLASSES) -> HeldOut:
    data = {
        "kind": "color",
        "category": "shape",
        "design": "gzsl",
        "task": task,
        "bindings": [],
        "classes": classes,
    }
    return HeldOut.from_record(data, CLEVR)


def test_an_arrangement_and_its_converse_in_two_lists_are_one() -> None:
    ((one, other, triples),) = shared_arrangements(lists("relational"))
    assert one == "cube left cone (train) = cone right cube (ood_test)"
    assert other == "cone right cube (ood_test) = cube left cone (train)"
    assert triples == {("cube", "left", "cone"), ("cone", "right", "cube")}


def test_scenes_of_three_objects_have_three_labels_of_their_list() -> None:
    bound = [
        ("train", "red cube"),
        ("train", "green sphere"),
        ("train", "blue cone"),
        ("ood_test", "red cone"),
    ]
    held_out = lists(
        "three-object", [{"split": name, "label": label.split()} for name, label in bound]
    )

    def fault(split: str, *objects: str) -> str | None:
        return _class_fault(scene(*objects), split, held_out, frozenset())

    cube, sphere, cone = "red cube -1 0", "green sphere 0 0", "blue cone 1 0"
    assert fault("id_val", cube, sphere, cone) is None
    assert fault("train", cube, sphere) == "shows 2 objects, not 3 of 3 categories"
    assert fault("train", cube, sphere, "blue cube 1 0") == "shows 3 objects, not 3 of 3 categories"
    assert fault("train", cube, sphere, "red cone 1 0") == "two of its objects share a color"
    assert (
        fault("ood_test", cube, sphere, cone)
        == "shows red cube and green sphere and blue cone, no label of its list"
    )


def test_scenes_of_one_to_ten_objects_stand_in_the_split_of_their_bindings(tmp_path: Path) -> None:
    scenes = {**CROWDS, "000004": ["red cube"], "000005": ["blue cube"] * 9 + ["red sphere"]}
    splits = {**SPLITS, "000004": "unseen", "000005": "partial"}
    assert judged(make(tmp_path / "right", scenes, splits))["status"] == "clean"
    other = {"seen": "partial", "partial": "seen", "unseen": "partial", "val": "unseen"}
    wrong = {scene_id: other[split] for scene_id, split in splits.items()}
    certificate = judged(make(tmp_path / "wrong", scenes, wrong))
    assert certificate["faults"] == {"wrong split": 6}
    assert "scene 000002 is in partial and shows 3 held-out bindings" in details_of(
        certificate, "wrong split"
    )


def test_familiarity_is_compared_within_each_question(tmp_path: Path) -> None:
    questions = {
        "c": [("a red cube and a green cone", True)],
        "p": [("There is a red cube and a green cone.", True)],
        "n": [("a red sphere and a blue cone", False)],
        "d1": [
            ("There is a green cone in the image.", True),
            ("There is a blue cone in the image.", False),
        ],
    }
    assert judged(ask(tmp_path / "a", "partial", questions))["status"] == "clean"
    for slot, texts, number, sentence in (
        (
            "d2",
            [("There is a red cube.", True), ("There is a blue cube.", False)],
            1,
            "1 held-out bindings, its false ones 0 held-out bindings",
        ),
        ("p", [("There is a green cone.", True)], 2, "0 held-out bindings or 1 held-out bindings"),
    ):
        questions[slot] = texts
        certificate = judged(ask(tmp_path / slot, "partial", questions))
        assert certificate["faults"] == {"asymmetric familiarity": number}
        assert f"its true texts name {sentence}" in details_of(
            certificate, "asymmetric familiarity"
        )


def test_familiarity_that_is_declared_unequal_is_not_compared(tmp_path: Path) -> None:
    questions = {"c": [("a red cube", True)], "n": [("a blue cube", False)]}
    root = ask(tmp_path / "a", "partial", questions)
    assert judged(root)["faults"] == {"asymmetric familiarity": 1}
    restate(root, equal_familiarity=False)
    assert (
        details_of(judged(root), "undeclared leak")
        == "familiarity may be unequal; the manifest does not declare it"
    )
    restate(root, equal_familiarity=False, declared_leaks=["unequal"])
    certificate = judged(root)
    assert certificate["status"] == "as declared"
    assert "symmetric" not in certificate["sentence"]


def test_a_pool_with_relations(tmp_path: Path) -> None:
    pool = [
        f"a {one} that is to the left of a {other}"
        for one, other in permutations(("cube", "cone", "sphere"), 2)
    ]
    true = [(pool[n], True) for n in (0, 1, 3)]
    assert judged(ask(tmp_path / "a", "partial", {"c": true}, pool))["status"] == "clean"
    certificate = judged(ask(tmp_path / "b", "partial", {"c": true[:2]}, pool))
    assert "3 texts of the pool are true, 2 are listed" in details_of(
        certificate, "wrong pool truth"
    )
    both = [(pool[n], True) for n in (1, 4)]  # there is a cube on either side of the sphere
    certificate = judged(
        ask(tmp_path / "c", "unseen", {"c": both}, [*pool, "two cubes and a red object"])
    )
    assert certificate["faults"] == {"undecided text": 1, "no question": 1}


def test_a_text_that_cannot_be_read_is_found(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", {"c": [("a red cube", True)]})
    edit(root / "benchmarks" / BENCHMARK, "texts", lambda rows: rows[0].update(text="green ideas"))
    certificate = judged(root)
    assert certificate["faults"] == {"unreadable text": 1}
    assert "got 'ideas'" in details_of(certificate, "unreadable text")


HOLDOUT = {
    "kind": "color",
    "category": "shape",
    "design": "bindsplit",
    "bindings": [["red", "cube"], ["blue", "cone"]],
    "triples": [["cube", "left", "cone"]],
    "absent_values": ["gray"],
}
HELD_OUT = HeldOut.from_record(HOLDOUT, CLEVR)


def test_triples_are_held_out_with_their_converses_and_opposites() -> None:
    assert HELD_OUT.triples == {
        ("cube", "left", "cone"),
        ("cone", "right", "cube"),
        ("cube", "right", "cone"),
        ("cone", "left", "cube"),
    }
    alone = HeldOut.from_record({**HOLDOUT, "opposites": False}, CLEVR)
    assert alone.triples == {("cube", "left", "cone"), ("cone", "right", "cube")}


def test_a_scene_shows_bindings_triples_and_absent_atoms() -> None:
    geometry = scene("red cube -1 0", "blue cone 1 0", "gray sphere 3 0")
    assert HELD_OUT.held_out_bindings_of(geometry) == [("red", "cube"), ("blue", "cone")]
    assert HELD_OUT.held_out_triples_of(geometry) == [
        ("cone", "right", "cube"),
        ("cube", "left", "cone"),
    ]
    assert HELD_OUT.absent_names_of(geometry) == ["gray"]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("a red cube and a blue sphere", HeldOutCounts(1)),
        ("There is no red cube.", HeldOutCounts(1)),
        ("There is a cube that is not red.", HeldOutCounts(1)),
        ("There is a red object that is not a cube.", HeldOutCounts(1)),
        ("A red cube is to the left of a blue cone.", HeldOutCounts(2, 1)),
        ("a gray sphere", HeldOutCounts(absent=True)),
        ("a green sphere", HeldOutCounts()),
    ],
)
def test_a_text_names_what_it_asserts_or_denies(text: str, counts: HeldOutCounts) -> None:
    assert HELD_OUT.counts_named(read_text(text, LEXICON)) == counts
