"""What holds of the texts of every protocol."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from generator.describe.items import Candidate
from generator.describe.protocols.registry import find_protocol, protocol_names
from generator.describe.protocols.two_objects import KINDS as BINARY_KINDS
from generator.describe.scenes import DescribedScene
from generator.describe.training import KINDS as TRAINING
from generator.describe.training import STATISTICS
from generator.judge.decide import decide as judge
from generator.judge.geometry import Terms, read_scene
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.language.truth import decide
from generator.scene.scene import Scene
from tests.generator.describe.samples import WITHOUT_ITEMS, Sample, by_slot, samples
from tests.generator.scenes import VOCABULARY, VOCABULARY_TEXT, captioner, facts_of
from tests.paths import CHECKOUT

LEXICON, TERMS = Lexicon.of(VOCABULARY_TEXT), Terms.of(VOCABULARY_TEXT)
KINDS = {
    *(f"binary {kind}" for kind in BINARY_KINDS),
    *(
        f"{name} {kind}"
        for name in protocol_names()
        if name not in (*WITHOUT_ITEMS, "binary")
        for kind in find_protocol(name).kinds
    ),
    *(f"train {kind}" for kind in (*TRAINING, STATISTICS)),
} - {"gzsl single", "gzsl three-object"}  # of class lists only


def check_texts(n_texts: int, seed: int) -> Counter[str]:
    """Read and decide at least so many texts with the judge; the number of texts by protocol and kind."""
    grammar = captioner().grammar
    counts: Counter[str] = Counter()
    while sum(counts.values()) < n_texts:
        last, shown = None, None
        for scene, described, item in samples(50, seed):
            if described is not last:
                last, shown = described, read_scene(scene.to_json(), TERMS)
            for candidate in item.candidates:
                text = candidate.text
                words = grammar.realise(text.form, text.template, dict(text.wording))
                meaning = read_text(words, LEXICON)
                assert meaning.to_json() == text.form.to_json(), words
                assert judge(meaning, shown) is candidate.truth, (words, scene)
                counts[f"{item.protocol} {item.kind}"] += 1
        seed += 1
    return counts


def test_the_judge_agrees_on_four_thousand_texts_of_all_kinds() -> None:
    assert set(check_texts(4_000, 1)) == KINDS


@pytest.mark.full
def test_the_judge_agrees_on_a_million_texts_of_all_kinds() -> None:
    assert set(check_texts(1_000_000, 10_000)) == KINDS


def test_every_kind_of_negative_is_documented(sampled: list[Sample]) -> None:
    """docs/language.md has a table of negatives; the tested kind and the category word stand there as examples."""
    text = (CHECKOUT / "docs/language.md").read_text(encoding="utf-8")
    table = text.partition("| kind | what becomes of the caption |")[2].partition("\n\n")[0]
    documented = {
        kind
        for row in table.splitlines()
        for kind in re.findall(r"`([\w-]+)`", row.split("|")[1] if "|" in row else "")
    }
    written = {c.kind for _, _, item in sampled for c in item.candidates if c.kind and not c.truth}
    assert written <= documented


def changed_scene(scene: Scene, described: DescribedScene, caption: Candidate, foil: Candidate) -> Scene:
    """The scene with the changes of a foil of objects and attributes made."""
    facts = described.facts
    object_of = [facts.categories.index(str(mention.category)) for mention in caption.text.form.objects]
    objects = list(scene.objects)
    for change in foil.changed:
        place, kind, values = change.split(":")
        old, new = values.split(">")
        i = object_of[int(place)]
        if kind == VOCABULARY.category:
            objects[i] = replace(objects[i], category=new)
        elif new and new in VOCABULARY.values(kind):
            objects[i] = replace(objects[i], attributes={**objects[i].attributes, kind: new})
        assert old != new
    return replace(scene, objects=tuple(objects))


@pytest.mark.parametrize(
    ("protocol", "kind"),
    [("skill", "targeted"), ("systematicity", "atom"), ("binary", "swap"), ("productivity", "atom")],
)
def test_a_foil_is_true_of_the_changed_scene_and_its_caption_false(
    protocol: str, kind: str, sampled: list[Sample]
) -> None:
    """What keeps a reader of the words alone at chance: truth and foil change roles when the scene changes likewise."""
    checked = 0
    for scene, described, item in sampled:
        if (item.protocol, item.kind) != (protocol, kind) or item.skill == "relation":
            continue
        caption = by_slot(item, "c")[0]
        for foil in by_slot(item, "n"):
            if "relation" in foil.changed[0]:
                continue
            facts = facts_of(changed_scene(scene, described, caption, foil))
            assert decide(foil.text.form, facts) is True
            assert decide(caption.text.form, facts) is False
            checked += 1
    assert checked > 100


def test_objects_of_evaluated_captions_are_the_only_ones_of_their_category(sampled: list[Sample]) -> None:
    for scene, _, item in sampled:
        if item.protocol in ("train", "confusion"):
            continue
        numbers = Counter(thing.category for thing in scene.objects)
        for candidate in by_slot(item, "c"):
            for mention in candidate.text.form.objects:
                assert mention.count == 0 or numbers[str(mention.category)] <= 1 or candidate.text.form.negated


def test_items_are_the_same_whatever_was_asked_before() -> None:
    """A scene's items depend on the scenes before it only through the balance of complexities."""
    one = [item for _, _, item in samples(30, 2)]
    two = [item for _, _, item in samples(30, 2)]
    assert one == two
