from collections import Counter

import pytest

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.protocols.gzsl import Gzsl, TrainingLabels
from generator.describe.scenes import DescribedScene
from generator.holdout.class_lists import OBJECTS, TASKS, draw_classes, published_classes
from generator.holdout.holdout import Binding
from generator.language.form import Form
from generator.vocabulary.schema import read_vocabulary
from tests.generator.describe.samples import by_slot
from tests.generator.scenes import HOLDOUT, VOCABULARY, facts_of, scene_of

HOLDOUTS = {str(holdout.task): holdout for holdout in draw_classes(["objects=3"], VOCABULARY, 0)}


def language(task: str) -> Captioner:
    return Captioner(VOCABULARY, HOLDOUTS[task], equal_familiarity=False)


def scene(task: str, split: str, n: int) -> DescribedScene:
    """A scene of the first labels of a split's list: `n` objects, the first is the label's
    target."""
    holdout = HOLDOUTS[task]
    labels = [label for label in holdout.classes if label.split == split]
    if task == "relational":
        subject, relation, other = labels[0].label
        names = [subject, other] if relation == "left" else [other, subject]
        placed = scene_of((names[0], {}), (names[1], {}), positions=[(-1.0, -1.0), (1.0, 1.0)])
    else:
        chosen: list[Binding] = []
        for value, category in (label.label for label in labels):
            if len(chosen) < n and all(
                value != other and category != other_category for other, other_category in chosen
            ):
                chosen.append((value, category))
        placed = scene_of(*((category, {holdout.kind: value}) for value, category in chosen))
    return DescribedScene("0", facts_of(placed), split, (True,) * n, label_order=tuple(range(n)))


@pytest.mark.parametrize(
    ("task", "kinds"),
    [
        ("single", ["label"] * (len(HOLDOUTS["single"].classes) - 1)),
        ("two-object", [HOLDOUT.kind, HOLDOUT.category, "distractor", "distractor"]),
        ("relational", ["flip", "order", "distractor", "distractor"]),
    ],
)
def test_a_label_stands_against_others_of_its_list(task: str, kinds: list[str]) -> None:
    (item,) = Gzsl(language(task)).items(scene(task, "ood_test", OBJECTS[task]), Stream(0))
    assert item.kind == task
    assert [c.truth for c in by_slot(item, "c")] == [True]
    assert [c.kind for c in by_slot(item, "n")] == kinds
    assert {c.text.template for c in item.candidates} == {"photo"}
    assert bool(by_slot(item, "zsl")) == (task == "relational")


def test_three_objects_have_two_hard_negatives_for_each_of_the_others() -> None:
    described_scene = scene("three-object", "ood_test", 3)
    (item,) = Gzsl(language("three-object")).items(described_scene, Stream(0))
    assert item.kind == "three-object"

    def said(form: Form) -> tuple[str, str]:
        (mention,) = form.objects
        ((_, value),) = mention.attributes
        return value, str(mention.category)

    (own,) = (said(c.text.form) for c in by_slot(item, "c"))
    objects = [
        (values["color"], category)
        for values, category in zip(
            described_scene.facts.values, described_scene.facts.categories, strict=True
        )
    ]
    assert own == objects[0]
    false = [(c.kind, said(c.text.form)) for c in by_slot(item, "n")]
    assert Counter(false[:4]) == Counter(
        [("color", (value, own[1])) for value, _ in objects[1:]]
        + [("shape", (own[0], category)) for _, category in objects[1:]]
    )
    listed = {
        label.label for label in HOLDOUTS["three-object"].classes if label.split == "ood_test"
    }
    distractors = {label for kind, label in false[4:] if kind == "distractor"}
    assert len(distractors) == 2
    assert distractors <= listed - {*objects} - {label for _, label in false[:4]}


@pytest.mark.parametrize("task", HOLDOUTS)
def test_training_captions_are_the_label_of_the_image_alone(task: str) -> None:
    described_scene = scene(task, "train", OBJECTS[task])
    (item,) = TrainingLabels(language(task)).items(described_scene, Stream(0))
    (caption,) = item.candidates
    assert described_scene.decide(caption.text.form) is True
    assert caption.text.template == "photo"


def test_a_scene_that_no_list_names_has_no_item() -> None:
    captioner_ = language("relational")
    described_scene = scene("relational", "ood_test", 2)
    described_scene.split = "train"
    assert not list(Gzsl(captioner_).items(described_scene, Stream(0)))
    assert captioner_.dropped == {"gzsl relational": 1}


def test_zero_shot_labels_are_drawn_from_the_whole_list() -> None:
    """As published (section 4.4): also a label of the same two objects, such as the flipped
    relation, where the list has it."""
    vocabulary = read_vocabulary("pearson2025")
    holdout = dict(zip(TASKS, published_classes("pearson2025", vocabulary), strict=True))[
        "relational"
    ]
    language = Captioner(vocabulary, holdout, equal_familiarity=False)
    placed = scene_of(
        ("sphere", {}),
        ("cylinder", {}),
        positions=[(-1.0, -1.0), (1.0, 1.0)],
        vocabulary=vocabulary,
    )
    facts = facts_of(placed, vocabulary)
    n_labels: Counter[tuple[str | None, ...]] = Counter()
    for seed in range(60):
        shown_again = DescribedScene("0", facts, "ood_val", (True, True), label_order=(0, 1))
        (item,) = Gzsl(language).items(shown_again, Stream(seed))
        false = {c.text: c.kind for c in by_slot(item, "n")}
        assert Counter(false.values()) == {"flip": 1, "order": 1, "distractor": 2}
        zero_shot = by_slot(item, "zsl", False)
        assert [c.text for c in by_slot(item, "zsl", True)] == [c.text for c in by_slot(item, "c")]
        assert len({c.text for c in zero_shot}) == 2
        n_labels[tuple(sorted(str(false[c.text]) for c in zero_shot))] += 1
    assert set(n_labels) == {("distractor", "distractor"), ("distractor", "flip")}
    assert 15 <= n_labels["distractor", "flip"] <= 45  # two of four labels
