"""Class lists: arrangements in two lists, and what a hard negative has to be."""

from typing import Any

from generator.judge.class_lists import _hard, _label, _scene_fault, shared_arrangements
from generator.judge.held_out import HeldOut
from generator.judge.text_reader import read_text
from tests.generator.judge.hand_made_scenes import scene
from tests.generator.judge.vocabularies import CLEVR, LEXICON

CLASSES: list[dict[str, Any]] = [
    {"split": "train", "triple": ["cube", "left", "cone"]},
    {"split": "ood_test", "triple": ["cone", "right", "cube"]},
    {"split": "ood_val", "triple": ["cube", "left", "sphere"]},
]


def lists(task: str, classes: list[dict[str, Any]] = CLASSES) -> HeldOut:
    data = {"kind": "color", "category": "shape", "design": "gzsl", "task": task, "bindings": [], "classes": classes}
    return HeldOut.of(data, CLEVR)


def test_an_arrangement_and_its_converse_in_two_lists_are_one() -> None:
    ((one, other, triples),) = shared_arrangements(lists("relational"))
    assert one == "cube left cone (train) = cone right cube (ood_test)"
    assert other == "cone right cube (ood_test) = cube left cone (train)"
    assert triples == {("cube", "left", "cone"), ("cone", "right", "cube")}


def test_hard_negatives_follow_from_the_label_and_the_scene() -> None:
    shown = scene("red cube -1 0", "blue cone 1 0")
    assert _hard(("cube", "left", "cone"), shown, lists("relational")) == {
        "flip": [("cube", "right", "cone")], "order": [("cone", "left", "cube")],
    }  # fmt: skip
    assert _hard(("red", "cube"), shown, lists("two-object")) == {
        "color": [("blue", "cube")], "shape": [("red", "cone")],
    }  # fmt: skip
    three = scene("red cube -1 0", "green sphere 0 0", "blue cone 1 0")
    assert _hard(("green", "sphere"), three, lists("three-object")) == {
        "color": [("blue", "sphere"), ("red", "sphere")], "shape": [("green", "cone"), ("green", "cube")],
    }  # fmt: skip


def test_scenes_of_three_objects_have_three_labels_of_their_list() -> None:
    bound = [("train", "red cube"), ("train", "green sphere"), ("train", "blue cone"), ("ood_test", "red cone")]
    held_out = lists("three-object", [{"split": name, "bindings": [label.split()]} for name, label in bound])

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


def test_a_text_is_a_label_or_none() -> None:
    relational, single = lists("relational"), lists("single")
    assert _label(read_text("a cube that is to the left of a cone", LEXICON), relational) == ("cube", "left", "cone")
    assert _label(read_text("a red cube that is to the left of a cone", LEXICON), relational) == ()
    assert _label(read_text("a red cube", LEXICON), single) == ("red", "cube")
    assert _label(read_text("a large red cube", LEXICON), single) == ()
    assert _label(None, single) == ()
