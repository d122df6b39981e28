"""Class lists: arrangements in two lists, and what a hard negative has to be."""

from generator.judge.class_lists import _hard, _label, shared_arrangements
from generator.judge.held_out import HeldOut
from generator.judge.text_reader import read_text
from tests.generator.judge.hand_made_scenes import scene
from tests.generator.judge.vocabularies import CLEVR, LEXICON

CLASSES = [
    {"split": "train", "triple": ["cube", "left", "cone"]},
    {"split": "ood_test", "triple": ["cone", "right", "cube"]},
    {"split": "ood_val", "triple": ["cube", "left", "sphere"]},
]


def lists(task: str) -> HeldOut:
    data = {"kind": "color", "category": "shape", "design": "gzsl", "task": task, "bindings": [], "classes": CLASSES}
    return HeldOut.of(data, CLEVR)


def test_an_arrangement_and_its_converse_in_two_lists_are_one() -> None:
    ((one, other, triples),) = shared_arrangements(lists("relational"))
    assert one == "cube left cone (train) = cone right cube (ood_test)"
    assert other == "cone right cube (ood_test) = cube left cone (train)"
    assert triples == {("cube", "left", "cone"), ("cone", "right", "cube")}


def test_hard_negatives_follow_from_the_label_and_the_scene() -> None:
    shown = scene("red cube -1 0", "blue cone 1 0")
    assert _hard(("cube", "left", "cone"), shown, lists("relational")) == {
        "flip": ("cube", "right", "cone"), "order": ("cone", "left", "cube"),
    }  # fmt: skip
    assert _hard(("red", "cube"), shown, lists("two-object")) == {"color": ("blue", "cube"), "shape": ("red", "cone")}


def test_a_text_is_a_label_or_none() -> None:
    relational, single = lists("relational"), lists("single")
    assert _label(read_text("a cube that is to the left of a cone", LEXICON), relational) == ("cube", "left", "cone")
    assert _label(read_text("a red cube that is to the left of a cone", LEXICON), relational) == ()
    assert _label(read_text("a red cube", LEXICON), single) == ("red", "cube")
    assert _label(read_text("a large red cube", LEXICON), single) == ()
    assert _label(None, single) == ()
