"""Attribute kinds that are said after the noun, articles and plurals: what the grammar says the
judge reads back."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.dataset.reader import Benchmark, Dataset
from generator.describe.benchmark import write_benchmarks
from generator.judge.decide import decide as judge
from generator.judge.geometry import Terms, read_scene
from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.text_reader import read_text
from generator.language.form import Form
from generator.language.grammar import Grammar
from generator.language.truth import decide
from generator.vocabulary.schema import parse_vocabulary
from tests.conftest import succeed
from tests.generator.scenes import VOCABULARY_TEXT, facts_of, form_of, forms, random_scene
from tests.generator.unrendered import write_world
from tests.paths import CHECKOUT

KINDS = """
[kinds.material]
phrase = "made of {value}"
[kinds.size]
phrase = "of {value} build"
"""
TEXT = VOCABULARY_TEXT.replace("purple = {", 'purple = { article = "an",').replace(
    "[objects]", f"{KINDS}[objects]", 1
)
PHRASES = parse_vocabulary(TEXT, "phrases")
GRAMMAR, LEXICON, TERMS = Grammar(PHRASES), Lexicon.from_toml(TEXT), Terms.from_toml(TEXT)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a-and-a", "a red cube made of metal and a cone"),
        ("a-and-a", "a cube made of metal in a bright studio with a plain floor"),
        ("there-is", "There is a cube of large build and made of metal."),
        ("there-is", "There are two toruses made of metal."),
        ("there-is", "There is a cube that is not made of metal."),
        ("in-image", "There is an purple cube made of metal in the image."),
        (
            "then-attributes",
            "There is a cube and a cone. The cube is red, of large build and made of metal.",
        ),
        (
            "list-then-relate",
            "There is a cube made of metal and a cube made of rubber. The cube made of metal is to "
            "the left of the cube made of rubber.",
        ),
        ("spare", "cube made of metal and red cone"),
        ("crepe", "red cube made of metal to the left of cone made of metal"),
    ],
)
def test_values_are_written_in_the_phrase_of_their_kind(template: str, text: str) -> None:
    assert GRAMMAR.realise(form_of(text, LEXICON), template) == text


@pytest.mark.parametrize("examples", [100, pytest.param(500, marks=pytest.mark.full)])
def test_the_judge_reads_every_template_back_and_decides_it_alike(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(forms(), st.integers(0, 10**6))
    def check(form: Form, seed: int) -> None:
        scene = random_scene(random.Random(seed), 1, 5, list(PHRASES.objects)[:4], PHRASES)
        geometry = read_scene(scene.to_json(), TERMS)
        for name in GRAMMAR.templates(form):
            text = GRAMMAR.realise(form, name)
            meaning = read_text(text, LEXICON)
            assert meaning.to_json() == form.to_json(), (name, text)
        assert decide(form, facts_of(scene, PHRASES)) is judge(meaning, geometry)

    check()


def test_synonyms_stand_in_the_phrase_too() -> None:
    form = form_of("a cube made of metal", LEXICON)
    text = GRAMMAR.realise(form, "there-is", (((0, "material"), "metallic"),))
    assert text == "There is a cube made of metallic."
    assert read_text(text, LEXICON).to_json() == form.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "a metal cube",
        "a cube made of metal made of rubber",
        "a cube made of red",
        "two toruss",
        "a cube of large build made of metal",
        "There is a cube and a cone. The cube is made of metal, of red.",
    ],
)
def test_texts_that_the_grammar_never_writes_are_not_read(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_text(text, LEXICON)


EXAMPLE = CHECKOUT / "docs" / "examples" / "toys.toml"


TOYS = f"""
extends = "{EXAMPLE}"
remove = ["objects.star", "objects.cross", "objects.crescent", "objects.arch", "objects.torus", "objects.hourglass"]
"""


COUNTS = {"train": 20, "val": 2, "seen": 4, "partial": 4, "unseen": 4}


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of 34 scenes, not rendered, that holds out materials, and over it a benchmark that
    holds out finishes."""
    folder = tmp_path_factory.mktemp("toys")
    (folder / "few.toml").write_text(TOYS, encoding="utf-8")
    write_world(folder / "toys", COUNTS, str(folder / "few.toml"), block="material:shape=2x2")
    write_benchmarks(folder / "toys", Dataset.open(folder / "toys").world, exposed_negatives=False)
    succeed("gen split toys --holdout finish:shape=2x2 --block-seed 13 --name finish", cwd=folder)
    succeed("gen describe toys --benchmark material-shape-2x2-b0 --name described", cwd=folder)
    return folder / "toys"


def test_the_judge_proves_blocks_of_every_kind(toys: Path) -> None:
    reports = json.loads(succeed("gen verify --json", toys).stdout)
    assert {name: report["status"] for name, report in reports.items()} == dict.fromkeys(
        ("material-shape-2x2-b0", "finish", "described"), "clean"
    )


def _texts(benchmark: Benchmark, protocol: str) -> list[str]:
    items = set(benchmark.items_of(protocol)["item_id"].to_pylist())
    rows = benchmark.candidates.to_pylist()
    texts = [benchmark.text_of[row["text_id"]] for row in rows if row["item_id"] in items]
    assert texts
    return texts


def test_texts_speak_of_the_kind_that_is_held_out(toys: Path) -> None:
    dataset = Dataset.open(toys)
    texts = _texts(dataset.benchmark("material-shape-2x2-b0"), "binary")
    assert all(" made of " in text for text in texts)
    others = _texts(dataset.benchmark("finish"), "binary")
    assert all(any(value in text for value in ("plain ", "glazed ", "frosted ")) for text in others)
    described = [
        text for text in dataset.benchmark("described").text_of.values() if "pewter" in text
    ]
    assert described
    assert all("made of pewter" in text for text in described)  # never an adjective


def test_a_scene_whose_values_agree_has_no_caption_in_the_grid(toys: Path) -> None:
    dataset = Dataset.open(toys)
    rows = {row["scene_id"]: row["objects"] for row in dataset.world.scenes.to_pylist()}
    alike = {
        scene
        for scene, objects in rows.items()
        if len({dict(obj["attributes"])["finish"] for obj in objects}) == 1
    }
    assert alike
    chosen = dataset.benchmark("finish")
    pooled = {row["item_id"] for row in chosen.items.to_pylist() if row["pool_id"] is not None}
    with_items = {
        row["scene_id"] for row in chosen.candidates.to_pylist() if row["item_id"] in pooled
    }
    assert with_items
    assert not with_items & alike
