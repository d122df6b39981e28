from generator.plan.content import Content, no_scene
from generator.scene.layouts import Layout


def test_an_empty_split_is_refused_with_what_would_help() -> None:
    assert "no scene of 1 object for the split seen" in no_scene("seen", 1).message
    assert "no scene of 3 objects for the split unseen: try another --block-seed" in no_scene("unseen", 3).message


def test_a_scene_without_a_label_names_no_objects() -> None:
    content = Content((("red", "cube"),), Layout((0,)), "train")
    assert content.named == ()
