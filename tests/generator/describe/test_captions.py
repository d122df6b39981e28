from dataclasses import replace

from generator.base.streams import Stream
from generator.describe.captioner import Captioner, draw_related_pair, draw_tested_pair, name_objects
from generator.describe.scenes import DescribedScene
from generator.language.form import Form, Mention
from tests.generator.scenes import HOLDOUT, RELATIONS, captioner, described, facts_of, scene_of


def test_objects_are_named_in_the_given_order_with_their_values() -> None:
    scene = described(scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"})))
    assert name_objects(scene, (1, 0), ("color",)) == Form(
        (Mention("cone", (("color", "blue"),)), Mention("cube", (("color", "red"),)))
    )


def test_tested_pairs_differ_and_are_unique() -> None:
    scene = scene_of(
        ("cube", {"color": "red"}), ("cone", {"color": "blue"}), ("cube", {"color": "gray"}), ("star", {"color": "red"})
    )
    drawn = {draw_tested_pair(described(scene), "color", Stream("pair", n)) for n in range(20)}
    assert drawn == {(1, 3)}
    assert draw_tested_pair(described(replace(scene, objects=scene.objects[:1])), "color", Stream(0)) is None


def test_related_pairs_are_true_and_directed_ones_can_be_turned() -> None:
    language = Captioner(RELATIONS, HOLDOUT)
    scene = scene_of(("cube", {}), ("cone", {}), ("torus", {}), vocabulary=RELATIONS)
    shown = DescribedScene("0", facts_of(scene, RELATIONS), "seen", (False,) * 3)
    names = {True: set[str](), False: set[str]()}
    for directed in names:
        for n in range(60):
            form = draw_related_pair(language, shown, Stream("related", n), directed)
            if form is not None:
                assert shown.decide(form) is True
                names[directed].add(form.relations[0].relation)
    assert names[True] == {"left", "right", "front", "behind"}
    assert names[False] & {"near", "far"}


def test_related_pairs_name_held_out_relations_where_the_split_has_them() -> None:
    shown = described(scene_of(("cube", {}), ("cone", {})))
    shown.held_out_relations = frozenset()
    assert draw_related_pair(captioner(), shown, Stream(0)) is None
