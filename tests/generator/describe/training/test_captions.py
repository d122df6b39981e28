import random
from collections import Counter

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.contrasts import Negatives
from generator.describe.scenes import DescribedScene
from generator.describe.training import Captions
from generator.holdout.blocks import draw_block
from generator.language.form import Form
from tests.generator.describe.samples import CELLS, scenes
from tests.generator.scenes import HOLDOUT, RELATIONS, captioner, described, facts_of, random_scene, scene_of


def _captions(captioner: Captioner) -> Captions:
    return Captions(captioner, CELLS, Negatives(captioner, (), False))


def test_plain_captions_name_all_objects_in_both_orders() -> None:
    scene = described(
        scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"}), ("cube", {"color": "red"})), "train"
    )
    grammar = captioner().grammar
    found = [grammar.realise(caption.form, "a-and-a") for caption in _captions(captioner()).plain(scene, Stream(0))]
    assert found == ["two red cubes and a blue cone"]
    scene = described(scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"})), "train")
    found = [grammar.realise(caption.form, "a-and-a") for caption in _captions(captioner()).plain(scene, Stream(0))]
    assert found == ["a red cube and a blue cone", "a blue cone and a red cube"]


def test_all_relations_of_a_family_are_said_about_equally_often() -> None:
    language = Captioner(RELATIONS, draw_block("3x3", RELATIONS, 0))
    captions, draw = _captions(language), random.Random(0)
    found: Counter[str] = Counter()
    for n in range(400):
        scene = random_scene(draw, 2, 6, vocabulary=RELATIONS)
        shown = DescribedScene(str(n), facts_of(scene, RELATIONS), "train", (False,) * len(scene.objects))
        for caption in captions.relations(shown, Stream(n)):
            assert shown.decide(caption.form) is True
            found[caption.form.relations[0].relation] += 1
    assert set(found) == set(RELATIONS.relations)
    general = [n for name, n in found.items() if name not in ("on", "beneath")]  # few random scenes have stacks
    assert max(general) - min(general) <= 2


def _way(form: Form) -> str:
    denied = any(m.without or not m.count for m in form.objects) or any(not link.holds for link in form.relations)
    said = "whole denied" if form.negated else "denied" if denied else "asserted"
    return said + (", environment" if form.environment else "")


def test_graded_captions_are_true_in_every_way_and_their_negatives_false_as_often() -> None:
    captions = _captions(captioner())
    true, false = Counter[str](), Counter[str]()
    sizes = set()
    for number, scene in scenes(400, 4, 1, 8):
        shown = described(scene, "train")
        for form, neg in captions.graded(shown, Stream(number)):
            assert shown.decide(form) is True
            true[_way(form)] += 1
            if neg is not None:
                assert shown.decide(neg.form) is False
                false[_way(neg.form)] += 1
            sizes.add(form.n_objects + form.n_attributes + form.n_relations)
    assert set(true) == {"asserted", "asserted, environment", "denied", "denied, environment", "whole denied"}
    assert sizes == set(range(1, 13))
    assert sum(captions.filled().values()) == true.total()
    for way in true:
        assert abs(true[way] - false[way]) < 0.1 * true.total(), way


def test_captions_for_synonyms_are_of_all_kinds_and_deny_nothing() -> None:
    captions = _captions(captioner())
    related = several = 0
    for number, scene in scenes(200, 5, 2, 6):
        shown = described(scene, "train")
        (caption,) = captions.any(shown, Stream(number))
        assert caption.neg is None
        assert not caption.form.negated
        assert shown.decide(caption.form) is True
        related += bool(caption.form.relations)
        several += any(set(mention.values) - {HOLDOUT.kind} for mention in caption.form.objects)
    assert related > 40
    assert several > 20
