"""Templates that a family declares: their texts have one reading, which the judge finds by its own
grammar."""

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset
from generator.inspection.family_check import unreadable
from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.text_reader import read_text
from generator.judge.verify import verify_dataset
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from generator.language.templates import TEMPLATES
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary
from generator.vocabulary.tables import TEMPLATE_NAMES
from generator.vocabulary.templates import PLACEHOLDERS
from tests.conftest import refuse, succeed
from tests.generator.judge.datasets import seal
from tests.generator.scenes import RELATIONS_TEXT, VOCABULARY_TEXT, form_of
from tests.generator.unrendered import write_world
from tests.paths import CHECKOUT

MATERIAL_PHRASE = '[kinds.material]\nphrase = "made of {value}"\n'
FAMILIES = {
    "clevr": VOCABULARY_TEXT,
    "clevr-relations": RELATIONS_TEXT,
    "made of": VOCABULARY_TEXT.replace("[objects]", f"{MATERIAL_PHRASE}[objects]", 1),
}
DECLARED = {
    "next-to": "a photo of {a} next to {b}",
    "pictured": "Pictured is {a} standing {relation} {b}",
    "again": "There is {a} beside {b}, as shown. {the_a} is {relation} {the_b}.",
    "spare": "{x} alongside {y}.",
    "three": "{a}, below {y} and above {c}",
    "all": "This picture shows {list}.",
}


def _with_templates(text: str, templates: dict[str, str], drawn: tuple[str, ...] = ()) -> str:
    declared = "\n".join(f"{name} = {json.dumps(template)}" for name, template in templates.items())
    return f"drawn_templates = {json.dumps(drawn)}\n{text}\n[templates]\n{declared}\n"


class Family(NamedTuple):
    """A family with declared templates, as the generator and the judge read it."""

    vocabulary: Vocabulary
    lexicon: Lexicon

    @classmethod
    def of(cls, text: str, templates: dict[str, str]) -> "Family":
        whole = _with_templates(text, templates)
        return cls(parse_vocabulary(whole, "family"), Lexicon.from_toml(whole))


@st.composite
def plain_forms(draw: st.DrawFn, vocabulary: Vocabulary, n_objects: int) -> Form:
    """Single objects without denials, and for two objects perhaps a relation that holds."""
    kinds = {kind: st.sampled_from(vocabulary.values(kind)) for kind in vocabulary.attributes}
    categories = st.sampled_from([None, *list(vocabulary.objects)[:5]])
    objects = [
        Mention(
            draw(categories), tuple(sorted(draw(st.fixed_dictionaries({}, optional=kinds)).items()))
        )
        for _ in range(n_objects)
    ]
    relations = list(vocabulary.pair_relations)
    links = (
        (Link(0, draw(st.sampled_from(relations)), 1),)
        if n_objects == 2 and draw(st.booleans())
        else ()
    )
    return Form(tuple(objects), links)


WORDS = [
    *(
        "a",
        "an",
        "the",
        "and",
        "of",
        "is",
        "there",
        "photo",
        "in",
        "to",
        "on",
        "with",
        "image",
        "it",
        "made",
        "that",
    ),
    *("side", "left", "first", "top", "far", "next", "beside", "showing", "This", "picture"),
]
OWN_WORDS = ["next", "beside", "showing", "This", "picture"]
SHAPES = [
    ["{a}", "{b}"],
    ["{x}", "{y}"],
    ["{a}", "{y}", "{c}"],
    ["{a}", "{relation}", "{b}"],
    ["{x}", "{relation}", "{y}"],
    ["{a}", "{b}", "{the_a}", "{relation}", "{the_b}"],
    ["{list}"],
]


@st.composite
def templates(draw: st.DrawFn) -> str:
    """Placeholders in an order that makes sense, with words between them: mostly also a word of
    their own."""
    words = st.lists(st.sampled_from(WORDS), max_size=2)
    own = st.lists(st.sampled_from(OWN_WORDS), min_size=1, max_size=1)
    between = st.one_of(
        st.tuples(words, own, words), st.tuples(words, own, words), st.tuples(words, words, words)
    )
    tokens = [word for group in draw(between) for word in group]
    for slot in draw(st.sampled_from(SHAPES)):
        stop = draw(st.sampled_from(["", "", "", ","]))
        tokens += [slot + stop, *(word for group in draw(between) for word in group)]
    return " ".join(tokens) + draw(st.sampled_from(["", "."]))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("examples", [40, pytest.param(400, marks=pytest.mark.full)])
def test_the_judge_reads_back_every_text_of_every_accepted_template(
    family: str, examples: int
) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.data(), templates())
    def check(data: st.DataObject, template: str) -> None:
        try:
            vocabulary, lexicon = Family.of(FAMILIES[family], {"mine": template})
        except UserError:
            assume(False)
        assert lexicon.refused == {}
        grammar = Grammar(vocabulary)
        for n_objects in (1, 2, 2, 2, 2, 3):
            form = data.draw(plain_forms(vocabulary, n_objects))
            if grammar.fits("mine", form):
                text = grammar.realise(form, "mine")
                assert read_text(text, lexicon).to_json() == form.to_json(), text

    check()


@pytest.mark.parametrize("examples", [400, pytest.param(4000, marks=pytest.mark.full)])
def test_several_templates_are_told_apart(examples: int) -> None:
    vocabulary, lexicon = Family.of(FAMILIES["clevr"], _renamed(DECLARED))
    grammar = Grammar(vocabulary)
    names = set[str]()

    @settings(max_examples=examples, deadline=None)
    @given(st.integers(1, 3).flatmap(lambda n: plain_forms(vocabulary, n)))
    def check(form: Form) -> None:
        for name in vocabulary.templates:
            if grammar.fits(name, form):
                text = grammar.realise(form, name)
                names.add(name)
                assert read_text(text, lexicon).to_json() == form.to_json(), text

    check()
    assert names == {*vocabulary.templates}


def _renamed(declared: dict[str, str]) -> dict[str, str]:
    return {f"my-{name}": text for name, text in declared.items()}


@pytest.mark.parametrize(
    ("template", "meaning", "text"),
    [
        ("next-to", "a red cube and an arch", "a photo of a red cube next to an arch"),
        ("pictured", "a cube that is behind a cone", "Pictured is a cube standing behind a cone"),
        (
            "again",
            "a red cube that is behind a blue cube",
            "There is a red cube beside a blue cube, as shown. The red cube is behind the blue "
            "cube.",
        ),
        ("spare", "a red cube and an arch", "Red cube alongside arch."),
        ("three", "a cube, an arch and a cone", "a cube, below arch and above a cone"),
        ("all", "a cube, an arch and a cone", "This picture shows a cube, an arch and a cone."),
    ],
)
def test_texts_read_as_they_are_declared(template: str, meaning: str, text: str) -> None:
    grammar = Grammar(Family.of(VOCABULARY_TEXT, _renamed(DECLARED)).vocabulary)
    assert grammar.realise(form_of(meaning), f"my-{template}") == text


@pytest.mark.parametrize(
    "meaning",
    [
        "a cube",
        "a cube, a cone and an arch",
        "a cube and a cone that is not red",
        "a cube and no cone",
        "two cubes and a cone",
        "a cube that is behind a cone",
        "a cube and a cone in a bright studio with a plain floor",
        "It is not true that there is a cube and a cone.",
    ],
)
def test_a_template_does_not_fit_forms_that_it_cannot_say(meaning: str) -> None:
    grammar = Grammar(Family.of(VOCABULARY_TEXT, _renamed(DECLARED)).vocabulary)
    assert not grammar.fits("my-next-to", form_of(meaning))


REFUSED = [
    ("a photo of {a} near {q}", "unknown placeholder {q}"),
    ("a photo of {a}  next to {b}", "one space between them"),
    ("a photo; of {a}", "one space between them"),
    ("a lovely photo", "it names no object; add {a}"),
    ("{b} beside {a}", "expected each object once and in order"),
    ("{a} beside {a}", "expected each object once and in order"),
    ("{a} beside {c}", "expected each object once and in order"),
    ("{list} beside {a}", "remove the other placeholders"),
    ("{the_a} beside {a}", "repeats an object that is not introduced before it"),
    ("{a} beside {relation}", "{relation} joins the first of two objects to the second"),
    ("{a} seen {relation} {b} seen {relation} {b}", "expected each object once and in order"),
    ("{relation} seen {a} seen {b}", "place it once, after {a} and before {b}"),
    ("seen. {a}", "a full stop inside and none at its end"),
    ("a red photo showing {a}", "its words contain 'red', which means color.red"),
    ("a crimson photo showing {a}", "its words contain 'crimson', which means color.red"),
    ("cubes showing {a}", "its words contain 'cubes', which means shape.cube"),
    ("an object showing {a}", "its words contain 'object', which means generic"),
    ("{a} seen behind {b}", "its words contain 'behind', which means relations.behind"),
    ("{a} seen to the left of {b}", "which means relations.left"),
    ("seen without {a}", "'without' would deny or count what it names"),
    ("seen with two {x}", "'two' would deny or count what it names"),
    ("a photo of {a}", "all its words occur in other captions too"),
    ("seen here {a} and {b}", "between {a} and {b} stands no word that ends the first"),
    (
        "seen here {a} {relation} {b}",
        "between {a} and {relation} stands no word that ends the first",
    ),
    ("{a} seen {relation} {y}", "between {relation} and {y} stands no word that ends the first"),
]


@pytest.mark.parametrize(("template", "said"), REFUSED)
def test_a_refused_template_is_one_sentence_with_the_fix(template: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)) as raised:
        Family.of(VOCABULARY_TEXT, {"mine": template})
    assert str(raised.value).startswith("'family': templates.mine: ")
    assert "\n" not in str(raised.value)
    assert ";" in str(raised.value)


def test_templates_that_share_a_text_are_refused() -> None:
    shared = {"one": "seen here {a}", "two": "seen here {list}"}
    with pytest.raises(
        UserError, match=r"templates\.one and templates\.two could write the same text"
    ):
        Family.of(VOCABULARY_TEXT, shared)
    assert {*Lexicon.from_toml(_with_templates(VOCABULARY_TEXT, shared)).refused} == {"two"}


@pytest.mark.parametrize(
    "template",
    [
        template
        for template, words in REFUSED
        if "stands no word" in words or "contain" in words or "all its" in words
    ],
)
def test_the_judge_refuses_ambiguous_templates_on_its_own(template: str) -> None:
    whole = _with_templates(VOCABULARY_TEXT, {"mine": template})
    lexicon = Lexicon.from_toml(whole)
    assert {*lexicon.refused} == {"mine"}
    assert any("templates.mine" in reason for reason in unreadable(read_vocabulary("clevr"), whole))


@pytest.mark.parametrize(
    "text",
    [
        "a photo of a red cube close to an arch",
        "a photo of a red cube next an arch",
        "a photo of red cube next to an arch",
        "a photo of a red cube next to an arch next to a cone",
        "a photo of a cube red next to an arch",
        "a photo of two cubes next to an arch",
        "a photo of a red cube next to an arch.",
        "There is a cube beside an arch, as shown. The arch is behind the cube.",
        "There is a cube beside a cone, as shown. The cube is behind the arch.",
    ],
)
def test_words_that_no_template_has_are_not_read(text: str) -> None:
    lexicon = Family.of(VOCABULARY_TEXT, _renamed(DECLARED)).lexicon
    with pytest.raises(UnreadableError):
        read_text(text, lexicon)


@pytest.mark.parametrize("name", TEMPLATE_NAMES)
def test_a_template_named_like_one_of_the_grammar_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="the grammar has a template of this name"):
        Family.of(VOCABULARY_TEXT, {name: "seen here {a}"})


def test_the_names_of_the_grammar_are_listed_for_families() -> None:
    assert {*TEMPLATE_NAMES} == {*TEMPLATES}


def test_a_family_with_templates_is_the_same_after_it_is_written() -> None:
    text = _with_templates(VOCABULARY_TEXT, _renamed(DECLARED), ("my-next-to",))
    vocabulary = parse_vocabulary(text, "family")
    read_back = parse_vocabulary(vocabulary.toml(), "again")
    assert read_back == vocabulary
    assert (dict(read_back.templates), read_back.drawn_templates) == (
        _renamed(DECLARED),
        ("my-next-to",),
    )
    assert Lexicon.from_toml(vocabulary.toml()).templates == Lexicon.from_toml(text).templates


def test_a_drawn_template_has_to_be_declared() -> None:
    with pytest.raises(
        UserError, match=r"drawn_templates names 'next-two', which .* did you mean 'next-to'"
    ):
        parse_vocabulary(
            _with_templates(VOCABULARY_TEXT, {"next-to": DECLARED["next-to"]}, ("next-two",)),
            "family",
        )


def test_the_example_of_the_docs_is_read_back(tmp_path: Path) -> None:
    docs = (CHECKOUT / "docs/language.md").read_text(encoding="utf-8")
    (example,) = re.findall("```toml\n(.*?)```", docs, re.DOTALL)
    (tmp_path / "mine.toml").write_text(example, encoding="utf-8")
    vocabulary = read_vocabulary(str(tmp_path / "mine.toml"))
    assert len(vocabulary.templates) == 3
    assert [*unreadable(vocabulary, vocabulary.toml())] == []
    for placeholder in PLACEHOLDERS:
        assert f"`{{{placeholder}}}`" in docs


MINE = """
extends = "clevr"
drawn_templates = ["showing"]
remove = ["objects.star", "objects.cross", "objects.crescent", "objects.arch", "objects.torus", "objects.hourglass"]

[templates]
next-to = "a photo of {a} next to {b}"
showing = "This picture shows {list}."
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of 26 scenes, not rendered, of a family with templates, and benchmarks in one of them
    and in any."""
    folder = tmp_path_factory.mktemp("templates")
    (folder / "mine.toml").write_text(MINE, encoding="utf-8")
    counts = {"train": 12, "val": 2, "seen": 4, "partial": 4, "unseen": 4}
    write_world(folder / "d", counts, str(folder / "mine.toml"), block="2x2")
    succeed("gen split d --holdout 2x2 --name first", cwd=folder)
    succeed(
        "gen describe d --benchmark first --protocol binary --template next-to --name next-to",
        cwd=folder,
    )
    succeed("gen describe d --benchmark first --name drawn", cwd=folder)
    return folder / "d"


def _templates_of_items(benchmark: Benchmark, protocol: str) -> list[set[str]]:
    """The templates of the texts of each item of a protocol."""
    template_of = {row["text_id"]: row["template"] for row in benchmark.texts.to_pylist()}
    items = {item_id: set[str]() for item_id in benchmark.items_of(protocol)["item_id"].to_pylist()}
    for row in benchmark.candidates.to_pylist():
        if row["item_id"] in items:
            items[row["item_id"]].add(template_of[row["text_id"]])
    return list(items.values())


def test_captions_and_foils_use_the_requested_template(world: Path) -> None:
    benchmark = Dataset.open(world).benchmark("next-to")
    items = _templates_of_items(benchmark, "binary")
    assert items
    assert all(templates == {"next-to"} for templates in items)
    training = _templates_of_items(benchmark, "train")
    assert {"next-to"} in training
    assert any(
        "next-to" not in templates for templates in training
    )  # relations and denials need another template
    assert benchmark.manifest["unknown_words"] == {}


def test_templates_of_the_family_are_drawn_if_it_says_so(world: Path) -> None:
    templates = set().union(*_templates_of_items(Dataset.open(world).benchmark("drawn"), "binary"))
    assert "showing" in templates
    assert "next-to" not in templates
    assert len(templates) > 2


def test_a_world_in_declared_templates_is_verified_clean(world: Path) -> None:
    certificates = verify_dataset(world, None)
    assert {
        name: certificate["status"] for name, certificate in certificates.items()
    } == dict.fromkeys(("first", "next-to", "drawn"), "clean")


def test_a_changed_word_of_a_template_is_found(world: Path, tmp_path: Path) -> None:
    root = shutil.copytree(world, tmp_path / "d")
    path = root / "benchmarks/next-to/texts.parquet"
    table = pq.read_table(path)
    texts = table["text"].to_pylist()
    place = next(n for n, text in enumerate(texts) if "next to" in text)
    texts[place] = texts[place].replace("next to", "close by")
    pq.write_table(table.set_column(table.schema.get_field_index("text"), "text", [texts]), path)
    seal(path.parent)
    assert verify_dataset(root, "next-to")["next-to"]["faults"]["unreadable text"] == 1


def test_an_ambiguous_template_of_a_strangers_world_is_found(world: Path, tmp_path: Path) -> None:
    root = shutil.copytree(world, tmp_path / "d")
    family = root / "world/vocabulary.toml"
    text = family.read_text(encoding="utf-8")
    declared = 'next-to = "a photo of {a} next to {b}"'
    assert declared in text
    family.write_text(
        text.replace(declared, 'next-to = "a photo next to {a} and {b}"'), encoding="utf-8"
    )
    seal(root / "world")
    certificate = verify_dataset(root, "next-to")["next-to"]
    assert certificate["faults"]["ambiguous template"] == 1
    assert certificate["faults"]["unreadable text"] > 1


def test_an_unknown_template_is_refused_with_the_familys_names(world: Path) -> None:
    refuse("did you mean 'next-to'", "gen describe d --template nextto", cwd=world.parent)
