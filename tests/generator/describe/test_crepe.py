from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from evaluator.api import evaluate
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.records import SCENES
from generator.describe.benchmark import describe_world
from generator.describe.captioner import Captioner
from generator.describe.protocols.crepe import Productivity, Systematicity
from generator.describe.request import TextRequest
from generator.holdout.blocks import draw_block
from generator.holdout.membership import UNSEEN_ATOMS
from generator.judge.lexicon import Lexicon
from generator.judge.verify import verify_dataset
from generator.language.form import Form, count_held_out, count_triples, names_absent
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.generator.describe.samples import (
    CELLS,
    Sample,
    asked,
    by_slot,
    caption_of,
    items_of,
    triple,
)
from tests.generator.scenes import HOLDOUT, VOCABULARY, captioner, form_of
from tests.generator.unrendered import write_planned


def test_captions_are_of_one_to_three_compounds_of_the_tested_kind(sampled: list[Sample]) -> None:
    items = items_of(sampled, "systematicity")
    forms = [caption_of(item) for item in items]
    assert {form.n_objects for form in forms} == {1, 2, 3}
    assert all(list(mention.values) == [HOLDOUT.kind] for form in forms for mention in form.objects)


def test_comp_foils_split_a_compound_over_two_objects(sampled: list[Sample]) -> None:
    for item in items_of(sampled, "systematicity", "comp"):
        caption = caption_of(item)
        for foil in by_slot(item, "n"):
            assert foil.kind == "comp"
            assert foil.text.form.n_objects == caption.n_objects + 1


@pytest.mark.parametrize("equal", [True, False])
def test_held_out_relations_are_compounds_too(equal: bool) -> None:
    """CREPE's compounds are of attributes and of relations; a foil splits a relation over two, each
    with one atom replaced."""
    holdout = draw_block("relation:pair=2x40", VOCABULARY, 0)
    protocol = Systematicity(Captioner(VOCABULARY, holdout, equal))
    kinds: Counter[tuple[str | None, str]] = Counter()
    for _, item in asked(protocol, 120, 5):
        kinds[item.skill, item.kind] += 1
        caption = caption_of(item)
        assert (len(caption.relations) == 1) == (item.skill == "relation")
        for foil in by_slot(item, "n"):
            form = foil.text.form
            if foil.kind == "comp" and item.skill == "relation":
                own = triple(caption, caption.relations[0])
                first, second = (
                    [a != b for a, b in zip(triple(form, link), own, strict=True)]
                    for link in form.relations
                )
                assert sum(first) == sum(second) == 1
                assert first != second
                text = protocol.captioner.grammar.realise(form, foil.text.template)
                assert "second" not in text  # which no training text has
            assert not equal or count_triples(form, holdout) == count_triples(caption, holdout)
    assert min(kinds["relation", kind] for kind in ("raw", "atom", "comp", "both")) > 10


def test_published_negations_deny_an_atom_or_the_whole_of_a_caption_that_denies_nothing() -> None:
    """CREPE, table 1: HN-NEG."""
    protocol = Productivity(Captioner(VOCABULARY, HOLDOUT, False), CELLS, "foils")
    sizes: Counter[int | str] = Counter()
    items: Counter[str] = Counter()
    for described_scene, item in asked(protocol, 150, 2, least=3):
        items[item.kind] += 1
        caption = caption_of(item)
        assert not denied(caption)
        for foil in by_slot(item, "n"):
            assert (foil.kind == "neg") == (denied(foil.text.form) != [])
            if foil.kind == "neg":
                assert described_scene.decide(foil.text.form) is False
                sizes["whole" if foil.text.form.negated else len(denied(foil.text.form))] += 1
    assert min(items[kind] for kind in ("neg", "all")) > 40
    assert sizes["whole"] > 0.1 * sizes.total()
    assert sizes[1] > sizes[2] + sizes[3]


def denied(form: Form) -> list[object]:
    """What a form denies."""
    denials: list[object] = ["whole"] * form.negated
    denials += [mention for mention in form.objects if mention.count == 0 or mention.without]
    return [*denials, *(link for link in form.relations if not link.holds)]


@pytest.mark.full
@pytest.mark.parametrize("known", [True, False])
def test_foils_of_known_words_name_what_training_shows(known: bool, tmp_path: Path) -> None:
    job = WorldOptions(
        family="clevr",
        holdout=("3x3", "atoms=1x3"),
        scenes="700",
        resolution="64x48",
        design="systematicity",
    )
    prepared = prepare(job)
    write_planned(tmp_path, prepared)
    request = TextRequest(("systematicity",), equal_familiarity=False, known_words=known)
    describe_world(
        tmp_path,
        Dataset.open(tmp_path).world,
        holdout=prepared.holdout,
        name="texts",
        request=request,
    )
    benchmark, holdout = Dataset.open(tmp_path).benchmark("texts"), prepared.holdout
    strange = {*holdout.absent_values, *holdout.absent_objects}
    splits = dict(
        zip(*(benchmark.items[name].to_pylist() for name in ("item_id", "split")), strict=True)
    )
    foils = [
        row
        for row in benchmark.candidates.to_pylist()
        if not row["truth"] and splits[row["item_id"]] != "train"
    ]
    named = [
        row
        for row in foils
        if strange & {*benchmark.text_of[row["text_id"]].replace(".", "").split()}
    ]
    assert bool(named) is not known
    assert len(foils) > 200
    findings = verify_dataset(tmp_path, "texts")["texts"]["findings"]
    assert {finding["fault"] for finding in findings} <= {"declared leak"}
    if known:
        rows = evaluate("blind:length", tmp_path, protocols="systematicity").results
        assert rows["benchmark"] == "texts (foils of words that training has)"
        assert rows["rules"]["foils"] == "words that training has"


def test_worlds_without_training_have_no_known_words(tmp_path: Path) -> None:
    prepared = prepare(
        WorldOptions(family="clevr", holdout="none", scenes="20", resolution="64x48")
    )
    write_planned(tmp_path, prepared)
    with pytest.raises(UserError, match="--known-words limits foils to words of training scenes"):
        describe_world(
            tmp_path,
            Dataset.open(tmp_path).world,
            holdout=prepared.holdout,
            name="texts",
            request=TextRequest(("binary",), known_words=True),
        )


WORLDS: dict[str, dict[str, Any]] = {
    "bindings": {"family": "clevr-many", "holdout": ("3x3", "atoms=1x2"), "objects": (3, 6)},
    "relations": {"family": "clevr-relations", "holdout": ("relation:pair=2x3", "atoms=1x2")},
    "both": {
        "family": "clevr-relations",
        "holdout": ("3x3", "relation:pair=2x3", "atoms=1x2"),
        "objects": (2, 4),
    },
}
COUNTS = {"train": 80, "val": 2, "seen": 20, "partial": 2, "unseen": 12, UNSEEN_ATOMS: 12}


@pytest.mark.parametrize(
    "name",
    ["relations", *(pytest.param(name, marks=pytest.mark.full) for name in ("bindings", "both"))],
)
def test_splits_have_equally_many_captions_and_unseen_captions_name_held_out_combinations(
    name: str, tmp_path: Path
) -> None:
    """CREPE, appendix A.5: a caption of unseen compounds names one; a gap must not be one of
    numbers of compounds."""
    prepared = prepare(
        WorldOptions(scenes=COUNTS, resolution="64x48", design="systematicity", **WORLDS[name])
    )
    write_planned(tmp_path, prepared)
    holdout = prepared.holdout
    world = Dataset.open(tmp_path).world
    describe_world(
        tmp_path,
        world,
        holdout=holdout,
        name="made",
        request=TextRequest(("systematicity",), equal_familiarity=False),
    )
    benchmark = Dataset.open(tmp_path).benchmark("made")
    questions = {
        row["item_id"]: row
        for row in benchmark.items.to_pylist()
        if row["protocol"] == "systematicity"
    }
    lexicon = Lexicon.from_toml(prepared.vocabulary.text)
    forms = {row["text_id"]: form_of(row["text"], lexicon) for row in benchmark.texts.to_pylist()}
    sizes: dict[tuple[str, str], dict[str, Counter[int]]] = {}
    triples = trained_triples(benchmark, world)
    for row in benchmark.candidates.to_pylist():
        if row["item_id"] in questions and row["slot"] == "c":
            item, form = questions[row["item_id"]], forms[row["text_id"]]
            of_split = sizes.setdefault((item["skill"], item["kind"]), {}).setdefault(
                item["split"], Counter()
            )
            of_split[form.n_objects] += 1
            if item["split"] == "unseen":
                assert count_held_out(form, holdout) == (1 if form.relations else form.n_objects)
            if item["split"] == "seen":
                assert triples.issuperset(triple(form, link) for link in form.relations)
    for (skill, kind), by_split in sizes.items():
        if kind == "raw":  # pools are alike, but a split may have more of them
            assert {split for split in by_split if split != UNSEEN_ATOMS} <= {"seen", "unseen"}
        elif by_split.keys() != {UNSEEN_ATOMS}:
            assert {"seen", "unseen"} <= by_split.keys() <= {"seen", "unseen", UNSEEN_ATOMS}
            assert all(counts == by_split["seen"] for counts in by_split.values()), skill
    assert {skill for skill, kind in sizes if kind == "both"} == {
        skill
        for skill, held in (("attribute", holdout.bindings), ("relation", holdout.triples))
        if held
    }
    (certificate,) = verify_dataset(tmp_path, None).values()
    assert certificate["findings"] == []


def trained_triples(benchmark: Benchmark, world: World) -> set[tuple[str, str, str]]:
    """The relations that training scenes show, by category."""
    train = {row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train"}
    triples = set()
    for row in world.table("scenes", SCENES).to_pylist():
        if row["scene_id"] in train:
            names = [obj["category"] for obj in row["objects"]]
            triples |= {
                (names[relation["subject"]], relation["relation"], names[relation["object"]])
                for relation in row["relations"]
            }
    return triples


def test_unseen_atoms_have_only_raw_captions_which_each_name_one() -> None:
    holdout = draw_block(["3x3", "atoms=1x2"], VOCABULARY, 0)
    captioner = Captioner(VOCABULARY, holdout)
    n_captions = 0
    for _, item in asked(Systematicity(captioner), 60, 6, split=UNSEEN_ATOMS):
        n_captions += 1
        assert item.kind == "raw"
        assert all(
            candidate.truth and names_absent(candidate.text.form, holdout)
            for candidate in item.candidates
        )
    assert n_captions > 10


def test_the_set_of_all_has_five_foils_of_each_kind(sampled: list[Sample]) -> None:
    items = items_of(sampled, "productivity", "all")
    assert items
    for item in items:
        assert Counter(c.kind for c in by_slot(item, "n")) == {"atom": 5, "neg": 5, "swap": 5}


def test_captions_have_four_to_twelve_atoms(sampled: list[Sample]) -> None:
    forms = [caption_of(item) for item in items_of(sampled, "productivity")]
    atoms = {form.n_objects + form.n_attributes + form.n_relations for form in forms}
    assert min(atoms) == 4
    assert max(atoms) == 12


def test_denials_are_equally_frequent_in_true_and_false_texts() -> None:
    more = []
    for _, item in asked(
        Productivity(captioner(equal_familiarity=False), CELLS, ("neg",)), 800, 3, least=4
    ):
        if item.kind == "raw":
            continue
        true, false = (
            by_slot(item, slot)[0].text.form._replace(negated=False) for slot in ("c", "n")
        )
        more.append(len(denied(true)) - len(denied(false)))
    assert len(more) > 150
    assert abs(mean(more)) < 0.3
