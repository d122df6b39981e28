import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject
from generator.describe.protocols.binary import Binary
from generator.describe.protocols.confusion import Confusion
from generator.describe.protocols.context import Context
from generator.describe.protocols.gzsl import Gzsl
from generator.describe.protocols.hard_positives import HardPositives, tokens, word_edits
from generator.describe.protocols.integration import Integration
from generator.describe.protocols.productivity import Productivity
from generator.describe.protocols.retrieval import Retrieval
from generator.describe.protocols.skill import Skill
from generator.describe.protocols.systematicity import Systematicity
from generator.describe.protocols.train import Realised, Train, parse_statistics
from generator.judge.decide import decide as judge
from generator.judge.geometry import Terms, read_scene
from generator.judge.words import Lexicon, read_sentence
from generator.language.complexity import LEVELS, cells, parse_complexity, parse_counts
from generator.language.truth import decide
from generator.scene.scene import Scene
from tests.generator.scenes import (
    CATEGORIES,
    HOLDOUT,
    VOCABULARY,
    VOCABULARY_TEXT,
    facts_of,
    language,
    random_scene,
    scene_of,
    subject_of,
)

LEXICON, TERMS = Lexicon.of(VOCABULARY_TEXT), Terms.of(VOCABULARY_TEXT)
CELLS = cells(tuple(LEVELS), (1, 12), {}, VOCABULARY, 10)


def askers(spoken: Language) -> list:
    graded = [Productivity(spoken, CELLS), Integration(spoken, CELLS), Skill(spoken, CELLS)]
    plain = [Binary, Systematicity, HardPositives, Confusion, Context, Gzsl]
    trained = [
        Train(spoken, None, False),
        Train(spoken, parse_statistics("density=0.4,completeness=0.7,saliency=1"), False),
    ]
    return [*graded, *(each(spoken) for each in plain), *trained]


def scenes(n: int, seed: int, least: int = 2, most: int = 9) -> Iterator[tuple[int, Scene]]:
    """Scenes of which a third has few categories, so that objects repeat."""
    draw = random.Random(seed)
    for number in range(n):
        yield number, random_scene(draw, least, most, CATEGORIES[:5] if number % 3 == 0 else None)


def asked(
    n: int, seed: int = 0, equal_familiarity: bool = False, least: int = 2, by: type = object
) -> Iterator[tuple[Scene, Subject, Item]]:
    spoken = language(equal_familiarity=equal_familiarity)
    makers = [maker for maker in askers(spoken) if isinstance(maker, by)]
    for number, scene in scenes(n, seed, least):
        subject = subject_of(scene, scene_id=f"{number:06d}")
        subject.salience = tuple(float(i) for i in range(len(scene.objects)))
        for maker in makers:
            for item in maker.ask(subject, Stream("texts", seed, maker.name, number)):
                yield scene, subject, item


@pytest.fixture(scope="module")
def items() -> list[tuple[Scene, Subject, Item]]:
    return list(asked(150))


def by_slot(item: Item, slot: str, truth: bool | None = None) -> list[Candidate]:
    return [c for c in item.candidates if c.slot == slot and truth in (None, c.truth)]


def check_texts(n_texts: int, seed: int) -> Counter[str]:
    """Every text of every kind is read by the judge to its form, and decided from the poses as it is listed."""
    grammar = language().grammar
    counts: Counter[str] = Counter()
    while sum(counts.values()) < n_texts:
        known: dict[int, tuple] = {}
        for scene, subject, item in asked(50, seed):
            if id(subject) not in known:
                known.clear()
                known[id(subject)] = (read_scene(scene.to_json(), TERMS), subject)
            shown = known[id(subject)][0]
            for candidate in item.candidates:
                text = candidate.text
                words = grammar.realise(text.form, text.template, dict(text.wording))
                said = read_sentence(words, LEXICON)
                assert said.to_dict() == text.form.to_dict(), words
                assert judge(said, shown) is candidate.truth, (words, scene)
                counts[f"{item.protocol} {item.kind}"] += 1
        seed += 1
    return counts


KINDS = {
    "binary swap", "binary flip", "binary order", "binary denial", "systematicity atom", "systematicity comp", "systematicity both",
    "productivity atom", "productivity swap", "productivity neg", "productivity all", "integration composed", "skill targeted",
    "hard_positives replace", "hard_positives swap", "hard_positives converse", "hard_positives swap-matched",
    "hard_positives converse-matched", "hard_positives replace+swap", "hard_positives replace+converse", "confusion assignments",
    "context environment", "gzsl two-object", "gzsl relational", "train caption",
}  # fmt: skip


def test_the_judge_agrees_on_four_thousand_texts_of_all_kinds() -> None:
    assert set(check_texts(4_000, 1)) == KINDS


@pytest.mark.full
def test_the_judge_agrees_on_a_million_texts_of_all_kinds() -> None:
    assert set(check_texts(1_000_000, 10_000)) == KINDS


def test_sets_have_the_published_sizes(items: list[tuple[Scene, Subject, Item]]) -> None:
    sizes = {
        "systematicity atom": {4}, "systematicity comp": {6}, "systematicity both": {10}, "productivity atom": {5},
        "productivity swap": {5}, "productivity neg": {5}, "productivity all": {15}, "skill targeted": {4}, "gzsl two-object": {4},
        "gzsl relational": {4}, "confusion assignments": {14}, "binary swap": {1}, "hard_positives swap": {1},
    }  # fmt: skip
    found: dict[str, set[int]] = {}
    for _, _, item in items:
        found.setdefault(f"{item.protocol} {item.kind}", set()).add(len(by_slot(item, "n", False)))
        texts = [(c.text.form, c.slot) for c in item.candidates if not c.truth]
        assert len(set(texts)) == len(texts) or item.protocol in ("integration", "train")
    assert {kind: found[kind] for kind in sizes} == sizes
    kinds = Counter(
        tuple(sorted(Counter(c.kind for c in by_slot(item, "n")).items())) for _, _, item in items if item.kind == "all"
    )
    assert set(kinds) == {(("atom", 5), ("neg", 5), ("swap", 5))}


def test_composed_and_decomposed_captions_change_the_same_atoms(items: list[tuple[Scene, Subject, Item]]) -> None:
    seen = 0
    for scene, _, item in items:
        if item.protocol != "integration":
            continue
        form = by_slot(item, "c")[0].text.form
        n = form.n_objects + form.n_attributes + form.n_relations
        negatives = by_slot(item, "n")
        assert len(negatives) == n
        parts = [by_slot(item, f"d{i}") for i in range(1, n + 1)]
        assert [part[1].changed for part in parts] == [each.changed for each in negatives]
        assert all([c.truth for c in part] == [True, False] for part in parts)
        for each in negatives:
            (change,) = each.changed
            _, kind, values = change.split(":")
            old, new = values.split(">")
            if kind == VOCABULARY.category:
                assert new not in {o.category for o in scene.objects}
            elif kind != "relation":
                shown = [o.attributes[kind] for o in scene.objects]
                assert shown.count(old) == 1
                assert new not in shown
        seen += 1
    assert seen > 50


def test_skill_negatives_change_atoms_of_one_type_and_spread_over_them(
    items: list[tuple[Scene, Subject, Item]],
) -> None:
    kinds = {"object": {VOCABULARY.category}, "attribute": set(VOCABULARY.attributes), "relation": {"relation"}}
    reached: Counter[str] = Counter()
    for _, _, item in items:
        if item.protocol != "skill":
            continue
        assert item.skill is not None
        places = []
        for each in by_slot(item, "n"):
            (change,) = each.changed
            place, kind, _ = change.split(":")
            assert kind in kinds[item.skill]
            places.append((place, kind))
        reached[item.skill] += len(set(places))
        reached[f"{item.skill} n"] += 1
    for skill in kinds:
        assert reached[f"{skill} n"] > 5


def changed_scene(scene: Scene, subject: Subject, caption: Candidate, foil: Candidate) -> Scene:
    """The scene with what a foil changes made so, by the places of the mentions; relations exchange the two in rank."""
    facts = subject.facts
    thing_of = [facts.categories.index(str(mention.category)) for mention in caption.text.form.objects]
    objects = list(scene.objects)
    for change in foil.changed:
        place, kind, values = change.split(":")
        old, new = values.split(">")
        if kind == "relation":
            i, j = (thing_of[int(end)] for end in place.split("-"))
            a, b = objects[i], objects[j]
            objects[i], objects[j] = replace(a, position=b.position), replace(b, position=a.position)
            continue
        i = thing_of[int(place)]
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
    protocol: str, kind: str, items: list[tuple[Scene, Subject, Item]]
) -> None:
    """What keeps a reader of words alone at chance: truth and foil change roles when the scene changes as the text does."""
    seen = 0
    for scene, subject, item in items:
        if (item.protocol, item.kind) != (protocol, kind) or item.skill == "relation":
            continue
        caption = by_slot(item, "c")[0]
        for foil in by_slot(item, "n"):
            if "relation" in foil.changed[0]:
                continue
            facts = facts_of(changed_scene(scene, subject, caption, foil))
            assert decide(foil.text.form, facts) is True
            assert decide(caption.text.form, facts) is False
            seen += 1
    assert seen > 100


def test_objects_of_evaluated_captions_are_the_only_ones_of_their_category(
    items: list[tuple[Scene, Subject, Item]],
) -> None:
    for scene, _, item in items:
        if item.protocol in ("train", "confusion"):
            continue
        numbers = Counter(thing.category for thing in scene.objects)
        for candidate in by_slot(item, "c"):
            for mention in candidate.text.form.objects:
                assert mention.count == 0 or numbers[str(mention.category)] <= 1 or candidate.text.form.negated


def test_hard_positives_have_a_foil_as_many_edits_away(items: list[tuple[Scene, Subject, Item]]) -> None:
    spoken = language()
    seen: Counter[str] = Counter()
    for _, _, item in items:
        if item.protocol != "hard_positives":
            continue
        c, n, p = (tokens(spoken, by_slot(item, slot)[0].text) for slot in ("c", "n", "p"))
        assert c != p
        if item.kind in ("swap", "converse"):
            assert by_slot(item, "n")[0].kind in ("swap", "flip")
        else:
            assert word_edits(c, n) == word_edits(c, p) > 0
        seen[item.kind] += 1
    assert len(seen) == 7
    assert min(seen.values()) > 10


def test_word_edits_are_levenshteins() -> None:
    """Against the definition, by recursion."""

    def plain(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        return min(plain(a[1:], b) + 1, plain(a, b[1:]) + 1, plain(a[1:], b[1:]) + (a[0] != b[0]))

    words = ["".join(letters) for n in range(4) for letters in product("ab", repeat=n)]
    assert all(word_edits(a, b) == plain(a, b) for a in words for b in words)


def test_confusion_sets_are_all_assignments_two_of_them_true(items: list[tuple[Scene, Subject, Item]]) -> None:
    patterns = Counter({"none": 2, "attribute": 4, "category": 4, "both": 4})
    found = [item for _, _, item in items if item.protocol == "confusion"]
    assert len(found) > 50
    for item in found:
        assert len(by_slot(item, "c", True)) == 2
        assert Counter(c.kind for c in by_slot(item, "n", False)) == patterns


def test_context_adds_the_environment_and_nothing_else(items: list[tuple[Scene, Subject, Item]]) -> None:
    found = [item for _, _, item in items if item.protocol == "context"]
    assert len(found) > 50
    for item in found:
        minimal = [by_slot(item, slot)[0] for slot in ("c", "n")]
        contextual = by_slot(item, "context")
        assert [replace(c.text.form, environment=None) for c in contextual] == [c.text.form for c in minimal]
        assert [c.truth for c in contextual] == [True, False]


def test_denials_stand_in_true_texts_as_often_as_in_false_ones() -> None:
    numbers = {True: Counter[int](), False: Counter[int]()}
    more = Counter[int]()

    def denials(candidate: Candidate) -> int:
        form = candidate.text.form
        return sum(bool(m.without) + (m.count == 0) for m in form.objects) + sum(
            not link.holds for link in form.relations
        )

    for _, _, item in asked(800, 3, least=4, by=Productivity):
        if (item.protocol, item.kind) == ("productivity", "neg"):
            c, n = by_slot(item, "c")[0], by_slot(item, "n")[0]
            numbers[True][denials(c)] += 1
            numbers[False][denials(n)] += 1
            more[denials(c) - denials(n)] += 1
    total = sum(more.values())
    assert total > 150
    assert abs(sum(d * n for d, n in more.items())) / total < 0.3


def test_foils_are_as_familiar_as_their_captions() -> None:
    spoken = language()
    seen = 0
    for _, _, item in asked(120, 5, equal_familiarity=True):
        if item.protocol == "train":
            for candidate in item.candidates:
                assert candidate.truth or spoken.familiarity(candidate.text.form) == 0
            continue
        groups: dict[str, set[int]] = {}
        for candidate in item.candidates:
            slot = "c" if candidate.slot in ("c", "n", "p") else candidate.slot
            groups.setdefault(slot, set()).add(spoken.familiarity(candidate.text.form))
        assert all(len(found) == 1 for found in groups.values()), item
        seen += 1
    assert seen > 500


def test_partial_captions_are_partly_held_out() -> None:
    value, category = HOLDOUT.values[0], HOLDOUT.objects[0]
    free = [name for name in CATEGORIES if name not in HOLDOUT.objects]
    scene = scene_of(
        (category, {HOLDOUT.kind: value}),
        (free[0], {HOLDOUT.kind: HOLDOUT.values[1]}),
        (free[1], {HOLDOUT.kind: HOLDOUT.values[2]}),
    )
    subject = subject_of(scene, "partial")
    assert not subject.suits((1, 2))
    assert not subject.suits((0,))
    assert subject.suits((0, 1))


def test_retrieval_asks_scenes_of_two_objects_only() -> None:
    spoken = language()
    asker = Retrieval(spoken)
    two = subject_of(scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"})))
    three = subject_of(scene_of(("cube", {}), ("cone", {}), ("torus", {})))
    assert len(list(asker.ask(two, Stream(0)))) == 1
    assert not list(asker.ask(three, Stream(0)))
    assert spoken.dropped == {"retrieval": 1}
    assert len(set(asker.pool())) == 7392


@pytest.mark.parametrize(
    ("density", "completeness", "saliency"), [(0.5, 0.7, 1.0), (0.2, 0.4, 0.0), (1.0, 1.0, 0.5), (0.0, 0.1, 0.0)]
)
def test_training_captions_have_the_statistics_asked_for(density: float, completeness: float, saliency: float) -> None:
    spec = f"density={density},completeness={completeness},saliency={saliency}"
    train = Train(language(), parse_statistics(spec), False)
    for number, scene in scenes(600, 11, 4, 8):
        subject = subject_of(scene, "train", f"{number:06d}")
        subject.salience = tuple(random.Random(number).random() for _ in scene.objects)
        list(train.ask(subject, Stream("train", number)))
    found = train.realised.to_dict()
    assert found["captions"] == 600
    assert abs(found["density"] - density) < 0.02
    # every caption mentions at least one object
    assert abs(found["completeness"] - max(completeness, 0.17)) < 0.02
    lean = found["completeness_salient_half"] - found["completeness_other_half"]
    if completeness < 1:
        assert lean > 0.3 if saliency == 1 and completeness > 0.3 else abs(lean) < 0.1
    assert Realised().to_dict()["density"] is None


@pytest.mark.parametrize("spec", ["density", "density=2", "colour=1", "density=x", "density=nan"])
def test_captions_that_make_no_sense_are_refused(spec: str) -> None:
    with pytest.raises(UserError, match="Expected --captions"):
        parse_statistics(spec)


def test_cells_have_exactly_what_is_asked_for() -> None:
    found = cells(["OAR"], (4, 12), {"O": 3, "A": 5, "R": 2}, VOCABULARY, 10)
    assert [(c.level, c.n_objects, c.n_attributes, c.n_relations, c.complexity) for c in found] == [
        ("OAR", 3, 5, 2, 10)
    ]
    ranges = {level: {c.complexity for c in CELLS if c.level == level} for level in LEVELS}
    assert {level: (min(n), max(n)) for level, n in ranges.items()} == LEVELS


@pytest.mark.parametrize(
    ("levels", "complexity", "counts", "most", "says"),
    [
        (["OAR"], "4..12", "O=1,R=1", 10, "O=1, R=1"),
        (["L1"], "11..12", None, 10, "11 to 12"),
        (["OR"], "12", None, 2, "up to 2 objects"),
        (["XY"], "4", None, 3, "Unknown level 'XY'"),
    ],
)
def test_complexities_that_cannot_be_are_refused_with_what_is_short(
    levels: list[str], complexity: str, counts: str | None, most: int, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        cells(levels, parse_complexity(complexity), parse_counts(counts), VOCABULARY, most)


@pytest.mark.parametrize(
    ("spec", "parse"),
    [
        ("4-12", parse_complexity),
        ("12..4", parse_complexity),
        ("0", parse_complexity),
        ("13", parse_complexity),
        ("O3", parse_counts),
        ("X=3", parse_counts),
    ],
)
def test_malformed_complexities_are_refused(spec: str, parse) -> None:
    with pytest.raises(UserError, match="Expected --"):
        parse(spec)


def test_graded_captions_have_exactly_their_cells_atoms() -> None:
    spoken = language()
    draw = Stream("cells")
    made: Counter[str] = Counter()
    for _, scene in scenes(60, 9, 3, 10):
        subject = subject_of(scene)
        for cell in draw.shuffled(CELLS)[:40]:
            found = spoken.walker.walk(subject.facts, cell, range(len(scene.objects)), draw)
            if found is None:
                continue
            form = found.form
            assert (form.level, form.n_objects, form.n_attributes, form.n_relations) == (
                cell.level,
                cell.n_objects,
                cell.n_attributes,
                cell.n_relations,
            )
            assert subject.decide(form) is True
            ends = [
                (link.relation in ("left", "right"), end)
                for link in form.relations
                for end in (link.subject, link.object)
            ]
            assert len(set(ends)) == len(ends)
            made[cell.level] += 1
    assert min(made.values()) > 30
    assert set(made) == set(LEVELS)


def test_items_are_the_same_whatever_was_asked_before() -> None:
    """A scene's items depend on the scenes before it only through the balance of complexities."""
    one = [item for _, _, item in asked(30, 2)]
    two = [item for _, _, item in asked(30, 2)]
    assert one == two
