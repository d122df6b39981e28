"""Class lists: what is drawn, and the published lists and numbers."""

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from generator.holdout.class_lists import LISTS, SPLITS, ClassRule, shared_labels
from generator.holdout.designs import find_design
from generator.holdout.request import draw_holdouts
from generator.vocabulary.schema import Vocabulary, read_vocabulary

CLEVR, PEARSON = read_vocabulary("clevr"), read_vocabulary("pearson2025")
PUBLISHED = [1360, 340, 340, 400, 1100], [7440, 1860, 1860, 600, 3700]  # of one object, and of two


@settings(max_examples=30, deadline=None)
@example(215, CLEVR)
@given(st.integers(0, 10**6), st.sampled_from([CLEVR, PEARSON]))
def test_class_lists_are_disjoint_and_training_has_every_name(
    seed: int, vocabulary: Vocabulary
) -> None:
    for holdout in draw_holdouts((), "gzsl", vocabulary=vocabulary, block_seed=seed):
        labels = [listed.label for listed in holdout.classes]
        assert len({*labels}) == len(labels)
        train = {
            name for listed in holdout.classes if listed.split == "train" for name in listed.label
        }
        assert {*vocabulary.objects} <= train
        if holdout.task != "relational":
            assert {*vocabulary.values("color")} <= train
            assert len(labels) == len(vocabulary.objects) * len(vocabulary.values("color"))
        assert shared_labels(holdout) == []


LEAKS = [
    "cylinder left sphere (train) = sphere right cylinder (ood_val)",
    "sphere left cylinder (ood_val) = cylinder right sphere (ood_test)",
    "cube right cone (ood_val) = cone left cube (ood_test)",
]


@pytest.mark.parametrize(
    ("preset", "relational", "leaks"),
    [
        ("pearson2025", [440, 110, 110, 250, 400], LEAKS),
        ("pearson2025-clean", [480, 120, 120, 200, 400], []),
    ],
)
def test_published_lists_have_their_numbers_of_images_and_three_leaks_that_are_mended(
    preset: str, relational: list[int], leaks: list[str]
) -> None:
    """Protocols, section 2; Pearson et al. 2025, table 1."""
    holdouts = draw_holdouts((preset,), "gzsl", vocabulary=PEARSON, block_seed=0)
    for holdout, numbers in zip(holdouts, (*PUBLISHED, relational), strict=True):
        assert ClassRule(PEARSON, holdout).published_counts() == dict(
            zip(SPLITS, numbers, strict=True)
        )
    assert [leak for holdout in holdouts for leak in shared_labels(holdout)] == leaks


def test_labels_may_be_of_any_kind_that_has_enough_values() -> None:
    pug = read_vocabulary("pug").painted_with("texture")
    for holdout in draw_holdouts(("texture:animal=classes",), "gzsl", vocabulary=pug, block_seed=0):
        assert (holdout.kind, holdout.category) == ("texture", "animal")
        assert (
            find_design("gzsl").benchmark_name(holdout) == f"gzsl-texture-animal-{holdout.task}-b0"
        )
        if holdout.task != "relational":
            assert {listed.label[0] for listed in holdout.classes} == {*pug.values("texture")}
    sized = draw_holdouts(("color:shape=classes=70/6/20",), "gzsl", vocabulary=CLEVR, block_seed=0)[
        0
    ]
    assert [sum(listed.split == name for listed in sized.classes) for name in LISTS] == [70, 6, 20]


def test_lists_of_many_objects_are_drawn_at_once() -> None:
    """With 30 objects drawing again until no two labels of ood_val were converses took minutes."""
    many = CLEVR.model_copy(
        update={"objects": {f"thing{i}": CLEVR.objects["cube"] for i in range(60)}}
    )
    relational = draw_holdouts((), "gzsl", vocabulary=many, block_seed=0)[2]
    pairs = [
        frozenset(listed.label)
        for listed in relational.classes
        if listed.split == "ood_val" and "left" in listed.label
    ]
    assert len({*pairs}) == len(pairs) == 60 * 59 // 6


def test_three_objects_are_a_dataset_more_over_the_same_lists() -> None:
    *published, three = draw_holdouts(
        ("color:shape=classes=70/6/20", "objects=3"), "gzsl", vocabulary=CLEVR, block_seed=3
    )
    two = published[1]
    assert [holdout.task for holdout in (*published, three)] == [
        "single",
        "two-object",
        "relational",
        "three-object",
    ]
    assert (three.classes, three.bindings) == (two.classes, two.bindings)
    assert find_design("gzsl").benchmark_name(three) == "gzsl-color-shape-three-object-b3"
    rule, listed = ClassRule(CLEVR, three), {name: [] for name in LISTS}
    for label_class in three.classes:
        listed[label_class.split].append(label_class.label)
    for name in ("ood_val", "ood_test"):
        bindings = listed[name]
        by_hand = {
            (a, b, c)
            for a, b, c in product(bindings, repeat=3)
            if a[0] not in (b[0], c[0])
            and b[0] != c[0]
            and a[1] not in (b[1], c[1])
            and b[1] != c[1]
        }
        labels = rule.scenes(name)
        assert len(labels) == len(by_hand)
        assert {*labels} == by_hand
    assert not {*listed["train"]} & {*three.bindings}
    assert rule.published_counts() == ClassRule(CLEVR, two).published_counts()


def test_a_scene_of_three_objects_is_in_the_split_of_its_labels() -> None:
    rule = ClassRule(
        CLEVR, draw_holdouts(("objects=3",), "gzsl", vocabulary=CLEVR, block_seed=0)[-1]
    )
    unseen, familiar = rule.scenes("ood_test")[0], rule.scenes("train")[0]
    assert rule.place(unseen).split == "ood_test"
    assert rule.place(unseen).held_out == list(unseen)
    assert {rule.place(familiar, scene_id=str(i)).split for i in range(40)} == {
        "train",
        "id_val",
        "id_test",
    }
    assert rule.place(unseen[:2]).split is None
    assert rule.place((*familiar[:2], unseen[2])).split is None
    assert rule.place((*unseen[:2], (unseen[0][0], unseen[2][1]))).split is None


def test_a_number_of_scenes_is_shared_out() -> None:
    design = find_design("gzsl")
    counts = design.scene_counts(design.draw(("classes",), PEARSON, 3, False), PEARSON, "6000")
    assert 5900 < sum(sum(counts_of_dataset.values()) for counts_of_dataset in counts) <= 6000
    shared = design.scene_counts(design.draw(("objects=3",), CLEVR, 3, False), CLEVR, "6000")
    assert len(shared) == 4
    assert shared[3] == shared[1]
