"""Class lists: what is drawn, and the published lists and numbers."""

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.holdout.class_lists import LISTS, ClassRule, shared_labels
from generator.holdout.designs.registry import find_design
from generator.holdout.request import draw_holdouts
from generator.vocabulary.schema import read_vocabulary

PUBLISHED = {"single": [1360, 340, 340, 400, 1100], "two-object": [7440, 1860, 1860, 600, 3700]}


@settings(max_examples=30, deadline=None)
@example(215, "clevr")
@given(st.integers(0, 10**6), st.sampled_from(["clevr", "pearson2025"]))
def test_class_lists_are_disjoint_and_training_has_every_name(seed: int, family: str) -> None:
    vocabulary = read_vocabulary(family)
    for holdout in draw_holdouts((), "gzsl", vocabulary, seed):
        labels = [each.label for each in holdout.classes]
        assert len({*labels}) == len(labels)
        train = {name for each in holdout.classes if each.split == "train" for name in each.label}
        assert {*vocabulary.objects} <= train
        if holdout.task != "relational":
            assert {*vocabulary.values("color")} <= train
            assert len(labels) == len(vocabulary.objects) * len(vocabulary.values("color"))
        assert shared_labels(holdout) == []


@pytest.mark.parametrize(
    ("preset", "relational"),
    [("pearson2025", [440, 110, 110, 250, 400]), ("pearson2025-clean", [480, 120, 120, 200, 400])],
)
def test_published_numbers_of_images(preset: str, relational: list[int]) -> None:
    """Protocols, section 2; Pearson et al. 2025, table 1."""
    vocabulary = read_vocabulary("pearson2025")
    found = {
        holdout.task: ClassRule(vocabulary, holdout).published_counts()
        for holdout in draw_holdouts((preset,), "gzsl", vocabulary, 0)
    }
    for task, numbers in {**PUBLISHED, "relational": relational}.items():
        assert found[task] == dict(zip(["train", "id_val", "id_test", "ood_val", "ood_test"], numbers, strict=True))


def test_three_published_arrangements_stand_in_two_lists_and_none_in_the_mended_ones() -> None:
    vocabulary = read_vocabulary("pearson2025")
    found = {
        preset: [leak for holdout in draw_holdouts((preset,), "gzsl", vocabulary, 0) for leak in shared_labels(holdout)]
        for preset in ("pearson2025", "pearson2025-clean")
    }
    assert found == {
        "pearson2025": [
            "cylinder left sphere (train) = sphere right cylinder (ood_val)",
            "sphere left cylinder (ood_val) = cylinder right sphere (ood_test)",
            "cube right cone (ood_val) = cone left cube (ood_test)",
        ],
        "pearson2025-clean": [],
    }


def test_labels_may_be_of_any_kind_that_has_enough_values() -> None:
    pug = read_vocabulary("pug").painted_with("texture")
    for holdout in draw_holdouts(("texture:animal=classes",), "gzsl", pug, 0):
        assert (holdout.kind, holdout.category) == ("texture", "animal")
        assert find_design("gzsl").benchmark_name(holdout) == f"gzsl-texture-animal-{holdout.task}-b0"
        if holdout.task != "relational":
            assert {each.label[0] for each in holdout.classes} == {*pug.values("texture")}
    sized = draw_holdouts(("color:shape=classes=70/6/20",), "gzsl", read_vocabulary("clevr"), 0)[0]
    assert [sum(each.split == name for each in sized.classes) for name in ("train", "ood_val", "ood_test")] == [
        70,
        6,
        20,
    ]


def test_lists_of_many_objects_are_drawn_at_once() -> None:
    """With 30 objects drawing again until no two labels of ood_val were converses took minutes."""
    clevr = read_vocabulary("clevr")
    many = clevr.model_copy(update={"objects": {f"thing{i}": clevr.objects["cube"] for i in range(60)}})
    relational = draw_holdouts((), "gzsl", many, 0)[2]
    pairs = [frozenset(each.label) for each in relational.classes if each.split == "ood_val" and "left" in each.label]
    assert len({*pairs}) == len(pairs) == 60 * 59 // 6


def test_three_objects_are_a_dataset_more_over_the_same_lists() -> None:
    vocabulary = read_vocabulary("clevr")
    *published, three = draw_holdouts(("color:shape=classes=70/6/20", "objects=3"), "gzsl", vocabulary, 3)
    two = published[1]
    assert [each.task for each in (*published, three)] == ["single", "two-object", "relational", "three-object"]
    assert (three.classes, three.bindings) == (two.classes, two.bindings)
    assert find_design("gzsl").benchmark_name(three) == "gzsl-color-shape-three-object-b3"
    rule, listed = ClassRule(vocabulary, three), {name: [] for name in LISTS}
    for each in three.classes:
        listed[each.split].append(each.label)
    for name in ("ood_val", "ood_test"):
        bindings = listed[name]
        by_hand = {
            (a, b, c)
            for a, b, c in product(bindings, repeat=3)
            if a[0] not in (b[0], c[0]) and b[0] != c[0] and a[1] not in (b[1], c[1]) and b[1] != c[1]
        }
        labels = rule.scenes(name)
        assert len(labels) == len(by_hand)
        assert {*labels} == by_hand
    assert not {*listed["train"]} & {*three.bindings}
    assert rule.published_counts() == ClassRule(vocabulary, two).published_counts()


def test_a_scene_of_three_objects_is_in_the_split_of_its_labels() -> None:
    vocabulary = read_vocabulary("clevr")
    rule = ClassRule(vocabulary, draw_holdouts(("objects=3",), "gzsl", vocabulary, 0)[-1])
    unseen, familiar = rule.scenes("ood_test")[0], rule.scenes("train")[0]
    assert rule.place(unseen).split == "ood_test"
    assert rule.place(unseen).held_out == list(unseen)
    assert {rule.place(familiar, scene_id=str(i)).split for i in range(40)} == {"train", "id_val", "id_test"}
    assert rule.place(unseen[:2]).split is None
    assert rule.place((*familiar[:2], unseen[2])).split is None
    assert rule.place((*unseen[:2], (unseen[0][0], unseen[2][1]))).split is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("objects=3",), "needs 5 values of color and 5 objects at least with objects=3; 'pearson2025' has 8 and 4"),
        (("pearson2025", "objects=3"), "with objects=3 beside drawn lists, got 'pearson2025 objects=3'"),
        (("classes", "objects=4"), "got 'classes objects=4'"),
    ],
)
def test_three_objects_that_cannot_be_are_refused(asked: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        draw_holdouts(asked, "gzsl", read_vocabulary("pearson2025"), 0)


def test_a_kind_with_too_few_values_is_refused() -> None:
    with pytest.raises(UserError, match="needs 4 values of size"):
        draw_holdouts(("size:shape=classes",), "gzsl", read_vocabulary("clevr"), 0)
