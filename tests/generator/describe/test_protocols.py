"""What holds of the texts of every protocol."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.captioner import Candidate, Draft, Item
from generator.describe.protocol import Protocol, Recipe
from generator.describe.protocols import _REGISTRY, find_protocol, protocol_names, register
from generator.describe.protocols.two_objects import Binary
from generator.describe.request import TextRequest
from generator.describe.scenes import DescribedScene
from generator.describe.training import KINDS as TRAINING
from generator.describe.training import STATISTICS
from generator.judge.decide import decide as judge
from generator.judge.geometry import Terms, read_scene
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.judge.verify import verify_dataset
from generator.language.foils import Foil
from generator.language.form import Form, Mention, count_held_out
from generator.language.templates import NATURAL
from generator.language.truth import decide
from generator.scene.scene import Scene
from tests.generator.describe.samples import (
    WITHOUT_ITEMS,
    Sample,
    by_slot,
    every_protocol,
    samples,
    sizes,
)
from tests.generator.scenes import (
    HOLDOUT,
    VOCABULARY,
    VOCABULARY_TEXT,
    captioner,
    facts_of,
)
from tests.generator.unrendered import BENCHMARK, write_world
from tests.paths import CHECKOUT

LEXICON, TERMS = Lexicon.from_toml(VOCABULARY_TEXT), Terms.from_toml(VOCABULARY_TEXT)
KINDS = {
    *(
        f"{name} {kind}"
        for name in protocol_names()
        if name not in WITHOUT_ITEMS
        for kind in find_protocol(name).kinds
    ),
    *(f"train {kind}" for kind in (*TRAINING, STATISTICS)),
} - {"gzsl single", "gzsl three-object"}  # of class lists only


def check_texts(n_texts: int, seed: int) -> Counter[str]:
    """Read and decide at least so many texts with the judge; the number of texts by protocol and
    kind."""
    grammar = captioner().grammar
    counts: Counter[str] = Counter()
    while sum(counts.values()) < n_texts:
        last, geometry = None, None
        for scene, about, item in samples(every_protocol(equal_familiarity=False), 50, seed):
            if about is not last:
                last, geometry = about, read_scene(scene.to_json(), TERMS)
            for candidate in item.candidates:
                text = candidate.text
                words = grammar.realise(text.form, text.template, text.wording)
                meaning = read_text(words, LEXICON)
                assert meaning.to_json() == text.form.to_json(), words
                assert judge(meaning, geometry) is candidate.truth, (words, scene)
                counts[f"{item.protocol} {item.kind}"] += 1
        seed += 1
    return counts


def test_the_judge_agrees_on_four_thousand_texts_of_all_kinds() -> None:
    assert set(check_texts(4_000, 1)) == KINDS


@pytest.mark.full
def test_the_judge_agrees_on_a_million_texts_of_all_kinds() -> None:
    assert set(check_texts(1_000_000, 10_000)) == KINDS


def test_every_kind_of_negative_is_documented(sampled: list[Sample]) -> None:
    """docs/language.md has a table of negatives; the tested kind and the category word stand there
    as examples."""
    text = (CHECKOUT / "docs/language.md").read_text(encoding="utf-8")
    table = text.partition("| kind | what becomes of the caption |")[2].partition("\n\n")[0]
    documented = {
        kind
        for row in table.splitlines()
        for kind in re.findall(r"`([\w-]+)`", row.split("|")[1] if "|" in row else "")
    }
    written = {c.kind for _, _, item in sampled for c in item.candidates if c.kind and not c.truth}
    assert written <= documented


@pytest.mark.parametrize(
    ("protocol", "published"),
    [
        ("binary", {kind: {1} for kind in Binary.kinds}),
        ("gzsl", {"two-object": {4}, "relational": {4}}),
        ("productivity", {"raw": {0}, "atom": {5}, "swap": {5}, "neg": {5}, "all": {15}}),
        ("skill", {"targeted": {4}}),
        ("systematicity", {"raw": {0}, "atom": {4}, "comp": {6}, "both": {10}}),
    ],
)
def test_sets_have_the_published_sizes(
    sampled: list[Sample], protocol: str, published: dict[str, set[int]]
) -> None:
    assert sizes(sampled, protocol) == published


def changed_scene(
    scene: Scene, described: DescribedScene, caption: Candidate, foil: Candidate
) -> Scene:
    """The scene with the changes of a foil of objects and attributes made."""
    facts = described.facts
    object_of = [
        facts.categories.index(str(mention.category)) for mention in caption.text.form.objects
    ]
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
    [
        ("skill", "targeted"),
        ("systematicity", "atom"),
        ("binary", "swap"),
        ("productivity", "atom"),
    ],
)
def test_a_foil_is_true_of_the_changed_scene_and_its_caption_false(
    protocol: str, kind: str, sampled: list[Sample]
) -> None:
    """What keeps a reader of the words alone at chance: truth and foil change roles when the scene
    changes likewise."""
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


def test_objects_of_evaluated_captions_are_the_only_ones_of_their_category(
    sampled: list[Sample],
) -> None:
    for scene, _, item in sampled:
        if item.protocol in ("train", "confusion"):
            continue
        numbers = Counter(obj.category for obj in scene.objects)
        for candidate in by_slot(item, "c"):
            for mention in candidate.text.form.objects:
                assert (
                    mention.count == 0
                    or numbers[str(mention.category)] <= 1
                    or candidate.text.form.negated
                )


def _one_thing(draft: Draft) -> Form | None:
    return (
        draft.name_objects(draft.scene.unique_objects[:1], ())
        if draft.scene.unique_objects
        else None
    )


def _one_or_two(draft: Draft, one: Form) -> Iterator[Item | None]:
    foil = Foil(Form((one.objects[0]._replace(count=2),)), ("0:count:1>2",), "count")
    yield draft.make_item(
        "one-two", "counting", form=one, foils=draft.select_foils([foil], one), among=("there-is",)
    )


class Counting(Protocol):
    """How many objects of a category there are, one or two: a protocol in two functions."""

    name = "counting"
    kinds = ("one-two",)
    needs = "scenes must show something"
    recipes: Mapping[str, Recipe] = {"one-two": Recipe(_one_thing, _one_or_two)}


class Impossible(Counting):
    """A protocol that no scene can give."""

    name = "impossible"
    recipes: Mapping[str, Recipe] = {"nothing": Recipe(lambda draft: None, _one_or_two)}


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_REGISTRY, "_places", dict(_REGISTRY._places))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    root = tmp_path_factory.mktemp("registry") / "dataset"
    prepared = write_world(
        root, {**dict.fromkeys(("val", "seen", "partial", "unseen"), 3), "train": 12}
    )
    return root, prepared.holdout


def test_a_protocol_of_ones_own_is_described_with_and_certified(
    world: tuple, tmp_path: Path
) -> None:
    source, holdout = world
    root = Path(shutil.copytree(source, tmp_path / "dataset"))
    register("counting", f"{__name__}:Counting")
    request = TextRequest(("binary", "counting"), options={"binary": {"kinds": ("swap",)}})
    done = describe_world(
        root, Dataset.open(root).world, holdout=holdout, name=BENCHMARK, request=request
    )
    assert (
        done.items.items() >= {"binary swap": 24, "counting one-two": 12, "train plain": 24}.items()
    )
    assert verify_dataset(root, None)[BENCHMARK]["status"] == "clean"


def test_a_protocol_without_items_is_refused_with_what_it_needs(world: tuple) -> None:
    root, holdout = world
    register("impossible", f"{__name__}:Impossible")
    with pytest.raises(
        UserError, match="No scene gives an item of 'impossible': scenes must show something"
    ):
        describe_world(
            root,
            Dataset.open(root).world,
            holdout=holdout,
            name=BENCHMARK,
            request=TextRequest(("impossible",)),
        )


def test_help_lists_the_protocols_and_loads_none() -> None:
    check = (
        "import json, sys; from generator.cli.main import describe; print(json.dumps([[p.help for "
        "p in describe.params if p.name == 'protocols'][0], [m for m in sys.modules if "
        "m.startswith('generator.describe')]]))"
    )
    text, loaded = json.loads(
        subprocess.run([sys.executable, "-c", check], check=True, capture_output=True).stdout
    )
    assert ", ".join(protocol_names()) in text
    assert set(loaded) == {
        "generator.describe",
        "generator.describe.protocols",
    }


def test_templates_are_the_requested_one_or_drawn_from_those_that_fit() -> None:
    form = Form((Mention("cube"), Mention("cone")))
    templates = {captioner().draw_template([form], Stream("template", n)) for n in range(100)}
    assert templates == {"a-and-a", "there-is", "there-is-each"} < set(NATURAL)
    assert captioner(template="photo").draw_template([form], Stream(0)) == "photo"
    assert captioner(template="that-is").draw_template([form], Stream(0)) is None


def test_foils_are_as_familiar_as_their_captions() -> None:
    checked: Counter[str] = Counter()
    for _, _, item in samples(every_protocol(), 120, 5):
        if (
            item.kind == "raw"
        ):  # a caption is compared with the captions of other images, of any length
            continue
        if item.protocol == "train":
            for candidate in item.candidates:
                assert candidate.truth or count_held_out(candidate.text.form, HOLDOUT) == 0
            continue
        groups: dict[str, set[int]] = {}
        for candidate in item.candidates:
            slot = "c" if candidate.slot in ("c", "n", "p") else candidate.slot
            groups.setdefault(slot, set()).add(count_held_out(candidate.text.form, HOLDOUT))
        assert all(len(counts) == 1 for counts in groups.values()), item
        checked[item.protocol] += 1
    assert sum(checked.values()) > 500
    assert set(checked) == set(protocol_names()) - set(WITHOUT_ITEMS)
