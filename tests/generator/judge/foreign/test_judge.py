"""Splits of datasets made elsewhere: what `gen verify --splits` finds in their labels, and what it leaves alone."""

import csv
import json
import re
import shlex
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from generator.dataset.errors import UserError
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.judge.foreign.label_tables import SplitRoles
from generator.judge.foreign.labels import arrangement, read_label
from generator.judge.foreign.positional_shortcuts import sign_test
from generator.judge.foreign.verify import verify_splits
from generator.vocabulary.objects import ObjectSpec
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from tests.conftest import run_command
from tests.paths import CHECKOUT, SHARED

SHARED = SHARED / "data"
SPARE = SHARED / "pug_spare" / "labels.csv"
PEARSON = SHARED / "pearson2025" / "splits.json"
LEAKING = {
    "train": ["cube left sphere", "cylinder left sphere", "cone right sphere", "cone right cylinder"],
    "ood_val": ["cube left cone", "sphere left cylinder", "sphere right cylinder", "cone right cube", "cube right cone"],
    "ood_test": ["cone left cube", "cylinder right sphere", "cylinder right cube"],
}  # fmt: skip
THREE = [
    '"cylinder left sphere" (train, label 2) = "sphere right cylinder" (ood_val, label 3)',
    '"sphere left cylinder" (ood_val, label 2) = "cylinder right sphere" (ood_test, label 2)',
    '"cube right cone" (ood_val, label 5) = "cone left cube" (ood_test, label 1)',
]


def judged(path: Path, text: str, *columns: str, **more: Any) -> dict[str, Any]:
    """What is found in a file with that text, of which all is one task."""
    path.write_text(text, encoding="utf-8")
    (found,) = verify_splits(path, columns, **more).values()
    return found


def said(found: dict[str, Any], fault: str) -> list[str]:
    return [each["what"] for each in found["findings"] if each["fault"] == fault]


def rows(header: str, *lines: str) -> str:
    return "\n".join([header, *lines]) + "\n"


def test_the_three_converse_leaks_are_named(tmp_path: Path) -> None:
    found = judged(tmp_path / "splits.json", json.dumps(LEAKING))
    assert found["faults"] == {"converse leak": 3}
    assert said(found, "converse leak") == THREE
    assert found["status"] == "failed"


def test_without_the_three_it_is_clean(tmp_path: Path) -> None:
    mended = {split: list(labels) for split, labels in LEAKING.items()}
    mended["ood_val"] = ["cube left cone", "cone right cube"]
    found = judged(tmp_path / "splits.json", json.dumps(mended))
    assert (found["status"], found["findings"]) == ("clean", [])
    assert "no arrangement is in two splits, in any order of mention or by the converse" in found["sentence"]


@pytest.mark.skipif(
    not PEARSON.exists(), reason="the published class lists lie beside the checkout only where the project is developed"
)
def test_the_published_class_lists_leak_three_arrangements() -> None:
    found = verify_splits(PEARSON)
    assert list(found) == ["single", "two_object_ordered_pairs", "relational"]
    assert {name: each["faults"] for name, each in found.items()} == {
        "single": {}, "two_object_ordered_pairs": {}, "relational": {"converse leak": 3},
    }  # fmt: skip
    leaks = [what.replace(", label", "").split(" = ") for what in said(found["relational"], "converse leak")]
    named = {tuple(part[1 : part.index('" (')] for part in leak) for leak in leaks}
    assert named == {
        ("cylinder left sphere", "sphere right cylinder"),
        ("sphere left cylinder", "cylinder right sphere"),
        ("cube right cone", "cone left cube"),
    }
    assert list(verify_splits(PEARSON, task="relational")) == ["relational"]


def grid() -> tuple[list[str], list[str]]:
    """8 colours and 12 animals."""
    colors = ["red", "blue", "green", "yellow", "brown", "purple", "cyan", "gray"]
    return colors, [
        "crow",
        "fox",
        "deer stag",
        "wolf",
        "lion",
        "zebra",
        "deer doe",
        "bear",
        "owl",
        "hare",
        "newt",
        "bat",
    ]


def vocabulary(colors: list[str], animals: list[str]) -> Vocabulary:
    clevr = read_vocabulary("clevr")
    value, kind = clevr.attributes["color"]["red"], clevr.objects["cube"]
    assert isinstance(kind, ObjectSpec)
    attributes = {**clevr.attributes, "color": dict.fromkeys(colors, value)}
    return clevr.model_copy(update={"attributes": attributes, "objects": dict.fromkeys(animals, kind)})


def split_by_block(scenes: list[tuple[str, str, str, str]], words: Vocabulary, seed: int, path: Path) -> dict[str, Any]:
    """What is found in scenes (animal, animal, colour, colour), split by a generated block."""
    plan = SplitPlan(words, draw_block("3x3", words, seed))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["character_name", "character2_name", "character_texture", "character2_texture", "filename", "fold"]
        )
        for n, (one, other, first, second) in enumerate(scenes):
            split = plan.place(((first, one), (second, other))).split
            writer.writerow([one, other, first, second, f"{n:07}.png", split or ""])
    roles = ["split=fold,first=character_name,first.color=character_texture"]
    (found,) = verify_splits(path, [*roles, "second=character2_name,second.color=character2_texture"]).values()
    return found


def check_block(found: dict[str, Any]) -> None:
    """Protocols, section 1: the counts of an 8x12 grid with a 3x3 block."""
    assert (found["status"], found["findings"], found["rows"]) == ("clean", [], 7392)
    table = {row["split"]: row for row in found["familiarity"]["color"]}
    every = table["all"]
    assert (every["seen"], every["seen_unequal"], every["partial"] - every["partial_unequal"]) == (6042, 810, 504)
    assert (every["partial_unequal"], every["unseen"], every["unseen_unequal"]) == (810, 36, 0)
    assert (table["train"]["seen_unequal"], table["no split"]["partial_unequal"]) == (810, 810)
    assert (table["partial"]["partial"], table["unseen"]["unseen"]) == (504, 36)
    assert sum(table[name]["seen"] for name in ("train", "val", "seen")) == 6042
    assert "7,392 rows (3,696 arrangements) in 5 splits" in found["sentence"]


@pytest.mark.parametrize("seed", range(3))
def test_generated_blocks_over_a_grid_are_clean(tmp_path: Path, seed: int) -> None:
    colors, animals = grid()
    scenes = [(*pair, *paint) for pair in permutations(animals, 2) for paint in permutations(colors, 2)]
    check_block(split_by_block(scenes, vocabulary(colors, animals), seed, tmp_path / "labels.csv"))


@pytest.mark.skipif(
    not SPARE.exists(), reason="the labels of PUG:SPARE lie beside the checkout only where the project is developed"
)
@pytest.mark.parametrize("seed", range(3))
def test_generated_blocks_over_the_labels_of_spare_are_clean(tmp_path: Path, seed: int) -> None:
    with SPARE.open(encoding="utf-8") as file:
        scenes = [(row["character_name"], row["character2_name"], row["character_texture"], row["character2_texture"])
                  for row in csv.DictReader(file)]  # fmt: skip
    colors, animals = (sorted({scene[n] for scene in scenes}) for n in (2, 0))
    check_block(split_by_block(scenes, vocabulary(colors, animals), seed, tmp_path / "labels.csv"))


def test_a_split_over_ordered_pairs_leaks(tmp_path: Path) -> None:
    """A random split over ordered pairs puts one arrangement into two splits, in two orders of mention."""
    colors, animals = grid()
    scenes = [(*pair, *paint) for pair in permutations(animals[:6], 2) for paint in permutations(colors[:4], 2)]
    lines = [f"{a},{b},{x},{y},{'train' if n % 3 else 'test'}" for n, (a, b, x, y) in enumerate(scenes)]
    found = judged(tmp_path / "a.csv", rows("first,second,first.color,second.color,split", *lines))
    side = {(a, b, x, y): n % 3 == 0 for n, (a, b, x, y) in enumerate(scenes)}
    leaks = sum(side[a, b, x, y] != side[b, a, y, x] for a, b, x, y in scenes) // 2
    assert leaks > 50
    assert found["faults"]["reordered leak"] == leaks
    assert len(said(found, "reordered leak")) == 21
    assert any("paired otherwise in another split" in note for note in found["notes"])


def test_the_same_words_and_the_same_image_in_two_splits(tmp_path: Path) -> None:
    table = rows("caption,split,filename", "a red cube,train,1.png", "Red  cube,test,2.png", "a blue cube,test,1.png",
                 "a photo of a green cone,train,3.png", "a green cone,train,3.png")  # fmt: skip
    found = judged(tmp_path / "a.csv", table)
    assert said(found, "shared arrangement") == ['"a red cube" (train, line 2) = "red cube" (test, line 3)']
    assert said(found, "shared image") == ["1.png (train, line 2; test, line 4)"]
    assert found["faults"] == {"shared arrangement": 1, "shared image": 1}


def test_splits_that_are_meant_to_show_the_same(tmp_path: Path) -> None:
    table = rows("label,split", "red cube,train", "red cube,id_val", "red cone,ood", "red cube,ood")
    found = judged(tmp_path / "a.csv", table, roles=SplitRoles(familiar=("id_val",)))
    assert len(said(found, "shared arrangement")) == 1
    assert "(ood, line 5)" in said(found, "shared arrangement")[0]
    clean = judged(tmp_path / "a.csv", table.replace("red cube,ood\n", ""), roles=SplitRoles(familiar=("id_val",)))
    assert clean["status"] == "clean"


ANIMALS = ["crow", "fox", "wolf", "lion", "bear"]


def spar(paint: list[tuple[str, str]]) -> str:
    """Labels as of SPAR: two animals, left and right, in pairs of textures."""
    lines = [f"{a},{b},{x},{y},left,right" for a, b in permutations(ANIMALS, 2) for x, y in paint]
    return rows("character,character2,texture,texture2,pos,pos2", *lines)


SPAR = ("first=character,second=character2,first.texture=texture,second.texture=texture2,first.position=pos,second.position=pos2",)  # fmt: skip


def test_a_texture_that_the_place_gives_away(tmp_path: Path) -> None:
    found = judged(tmp_path / "spar.csv", spar([("blue", "red"), ("grass", "stone")]), *SPAR)
    shortcuts = said(found, "positional shortcut")
    told = {tuple(what.split(" (")[0].split(": ")[1].split()[1:]) for what in shortcuts}
    assert ("blue", "is", "always", "first", "and", "not", "second") in told
    assert ("stone", "is", "always", "right", "and", "not", "left") in told
    assert len(shortcuts) == 8  # four textures, told by order of mention and by position; no animal
    assert "20 of 20 arrangements" in shortcuts[0]
    assert "There is one split" in found["notes"][0]


def test_textures_in_both_orders_are_no_shortcut(tmp_path: Path) -> None:
    both = [("blue", "red"), ("grass", "stone"), ("red", "blue"), ("stone", "grass")]
    found = judged(tmp_path / "spar.csv", spar(both), *SPAR)
    assert (found["status"], found["findings"]) == ("clean", [])


def test_one_arrangement_rendered_often_is_no_evidence(tmp_path: Path) -> None:
    found = judged(tmp_path / "a.csv", rows("label", *["red cube and blue cone"] * 500))
    assert found["findings"] == []
    assert {(lean["there"], lean["arrangements"]) for lean in found["places"]} == {(1, 1)}


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_sign_test_is_the_exact_one(one: int, other: int) -> None:
    expected = binomtest(one, one + other).pvalue if one + other else 1.0
    assert sign_test(one, other) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_random_splits_of_a_grid_show_no_shortcut(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Of designs without a shortcut at most 1 in 100 may be reported as one; these, drawn by seed, are not."""
    colors, animals = grid()
    scenes = [(*pair, *paint) for pair in permutations(animals[:5], 2) for paint in permutations(colors[:4], 2)]
    lines = [
        f"{x} {a} and {y} {b},{'train' if (n * 7919 + seed) % 5 else 'test'}" for n, (a, b, x, y) in enumerate(scenes)
    ]
    found = judged(tmp_path_factory.mktemp("a") / "a.csv", rows("label,split", *lines))
    assert "positional shortcut" not in found["faults"]


@pytest.mark.parametrize(
    ("label", "negative", "true"),
    [
        ("cube left sphere", "sphere right cube", True),
        ("cube left sphere", "sphere left cube", False),
        ("cube left sphere", "a cube and a sphere", True),
        ("red cube and blue sphere", "blue sphere and red cube", True),
        ("red cube and blue sphere", "a photo of a blue sphere", True),
        ("red cube and blue sphere", "blue cube and red sphere", False),
        ("red cube and blue sphere", "cube", True),
        ("red cube and blue sphere", "red cube and red cube", False),
        ("cube near sphere", "sphere close to cube", True),
        ("cube inside sphere", "sphere inside cube", False),
    ],
)
def test_negatives_that_are_true(tmp_path: Path, label: str, negative: str, true: bool) -> None:
    found = judged(tmp_path / "a.csv", rows("caption,negative_caption,split", f"{label},{negative},test"))
    expected = [f'"{negative}" is a negative of "{label}" (test, line 2), and true of it']
    assert said(found, "true negative") == (expected if true else [])


def test_unequal_familiarity_and_exposed_bindings(tmp_path: Path) -> None:
    table = rows("label,wrong,split", "red cube and blue cone,blue cube and red cone,train", "green cone,green cube,train",
                 "green cube and blue cone,blue cube and green cone,test", "red cube and green cone,red cone and green cube,test")  # fmt: skip
    found = judged(tmp_path / "a.csv", table, "negative=wrong")
    assert said(found, "asymmetric familiarity") == [
        '"red cube and green cone" (test, line 5) has 0 bindings that training never shows, its negative '
        '"red cone and green cube" 2'
    ]
    assert said(found, "exposed binding") == ['"green cube" (train, line 3) is a negative and names green cube']
    (table_of,) = found["familiarity"].values()
    assert {row["split"]: (row["seen"], row["partial"]) for row in table_of} == {
        "train": (2, 0),
        "test": (1, 1),
        "all": (3, 1),
    }


def test_a_relation_that_training_never_shows(tmp_path: Path) -> None:
    table = rows("label,negative,split", "cube left cone,,train", "sphere left cone,cone right cube,test")
    found = judged(tmp_path / "a.csv", table)
    assert "has 1 relations that training never shows, its negative" in said(found, "asymmetric familiarity")[0]


def test_swaps_of_evaluation_labels_that_are_unequally_familiar_are_a_note(tmp_path: Path) -> None:
    data = {"train": ["red cube", "blue cone", "blue cube"], "test": [["red cube", "blue cone"]]}
    found = judged(tmp_path / "a.json", json.dumps(data))
    assert found["status"] == "clean"
    assert any("test: asked against a caption with its attributes exchanged, 1 rows" in note for note in found["notes"])


NAMES = st.sampled_from(["cube", "cone", "sphere"])
RELATIONS = st.sampled_from(["left", "right", "in front of", "behind", "above", "below", "near", "inside"])
CONVERSES = {"left": "right", "in front of": "behind", "above": "below"}
CONVERSES |= {there: here for here, there in CONVERSES.items()} | {"near": "near"}


@given(NAMES, RELATIONS, NAMES, RELATIONS, st.booleans())
def test_labels_say_the_same_exactly_by_their_converse(
    one: str, relation: str, other: str, again: str, turned: bool
) -> None:
    label = read_label(f"a {one} {relation} a {other}")
    second = read_label(f"{other} is {again} the {one}" if turned else f"{one} {again} {other}")
    same = again == (CONVERSES.get(relation) if turned else relation)
    if one == other:
        same = again in (relation, CONVERSES.get(relation))
    assert (arrangement(label) == arrangement(second)) == same


@given(st.lists(st.tuples(st.sampled_from(["red", "blue"]), NAMES), min_size=1, max_size=4), st.data())
def test_labels_without_relations_say_the_same_in_any_order(things: list[tuple[str, str]], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(things))
    other = data.draw(st.lists(st.tuples(st.sampled_from(["red", "blue"]), NAMES), min_size=1, max_size=4))
    read = [arrangement(read_label(" and ".join(map(" ".join, each)))) for each in (things, shuffled, other)]
    assert read[0] == read[1]
    assert (read[0] == read[2]) == (Counter(things) == Counter(other))


def test_lists_of_things_and_of_thing_relation_thing(tmp_path: Path) -> None:
    pairs = judged(
        tmp_path / "a.json", json.dumps({"train": [["red cube", "blue cone"]], "test": [["blue cone", "red cube"]]})
    )
    assert said(pairs, "reordered leak") == [
        '"red cube and blue cone" (train, label 1) = "blue cone and red cube" (test, label 1)'
    ]
    linked = {"train": [["cube", "left of", "cone"], ["cone", "orbiting", "cube"]], "test": [["cone", "right", "cube"]]}
    found = judged(tmp_path / "a.json", json.dumps(linked))
    assert said(found, "converse leak") == ['"cube left cone" (train, label 1) = "cone right cube" (test, label 1)']
    assert any(
        "without a known converse, compared in their own words only: orbiting" in note for note in found["notes"]
    )


def test_rows_of_json_and_a_relation_column(tmp_path: Path) -> None:
    data = [
        {"first": "cube", "relation": "on top of", "second": "cone", "part": "train"},
        {"first": "cone", "relation": "beneath", "second": "cube", "part": "test"},
    ]
    found = judged(tmp_path / "a.json", json.dumps(data), "split=part")
    assert said(found, "converse leak") == ['"cube on cone" (train, entry 1) = "cone beneath cube" (test, entry 2)']
    by_split = {"train": [{"label": "red cube"}], "test": [{"label": "red cube"}]}
    assert len(said(judged(tmp_path / "a.json", json.dumps(by_split)), "shared arrangement")) == 1


def test_adjectives_in_any_order_and_two_of_one_thing(tmp_path: Path) -> None:
    found = judged(
        tmp_path / "a.csv",
        rows(
            "label,split",
            "large red cube and cone,train",
            "cone and red large cube,test",
            "red cube and blue cone,test",
        ),
    )
    assert found["faults"] == {"reordered leak": 1}
    (test,) = [row for row in found["familiarity"]["attribute"] if row["split"] == "test"]
    assert (test["seen"], test["seen_unequal"], test["partial"], test["partial_unequal"]) == (1, 0, 1, 1)


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    found = judged(tmp_path / "a.csv", rows("label,split", "red cube,one", "the,two", "red cone,", "blue cone,two"))
    notes = " ".join(found["notes"])
    assert "1 labels cannot be read and are not judged, the first: 'the' names no object" in notes
    assert "1 rows are in no split" in notes
    assert "No split trains (there are one, two)" in notes
    assert found["familiarity"] == {}


@pytest.mark.parametrize(
    ("name", "text", "columns", "expected"),
    [
        ("a.csv", "animal,fold\nfox,train\n", ["split=fold"], "has no column 'label' or 'first'; name yours with --columns"),
        ("a.csv", "animal,fold\nfox,train\n", ["label=name"], "has no column 'name' for --columns label=name; its columns are: animal, fold"),
        ("a.csv", "animal,fold\nfox,train\n", ["first=animal,frist.color=fold"], "unknown role 'frist.color'"),
        ("a.csv", "animal,fold\nfox,train\n", ["label"], "Expected --columns to be ROLE=COLUMN"),
        ("a.csv", "animal,fold\nfox,train\n", ["first=animal,first=fold"], "names the role 'first' twice"),
        ("a.csv", "animal,fold\nfox,train\n", ["second=animal"], "names a second object and no first one"),
        ("a.csv", "animal,fold\nfox,train\n", ["second.color=animal,first=fold"], "no column names that object; add second=COLUMN"),
        ("a.csv", "label,split\nfox,train,3\n", [], "is not a CSV file in UTF-8"),
        ("a.json", "{", [], "is not JSON"),
        ("a.json", "[]", [], "holds no labels; expected a list of rows, or labels by split"),
        ("a.json", '{"train": [3]}', [], "expected every label to be a text such as"),
        ("a.json", '{"train": ["fox"]}', ["label=x"], "labels by split without any; leave it out"),
        ("a.json", '{"train": ["fox", {"label": "x"}]}', [], "expected every row to be an object with fields"),
        ("a.json", '[{"label": ["fox"]}]', [], "expected a text in the field 'label'"),
        ("b.csv", None, [], "b.csv cannot be read: "),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(
    tmp_path: Path, name: str, text: str | None, columns: list[str], expected: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        verify_splits(tmp_path / name, columns)
    assert expected in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("roles", "task", "expected"),
    [
        (SplitRoles(training=("trian",)), None, "--train trian: a has no such split; did you mean 'train'?"),
        (SplitRoles(familiar=("id",)), None, "--familiar id: a has no such split; expected one of: train."),
        (SplitRoles(), "b", "has no task 'b'"),
    ],
)
def test_names_that_are_not_there(tmp_path: Path, roles: SplitRoles, task: str | None, expected: str) -> None:
    (tmp_path / "a.json").write_text('{"train": ["red cube"]}', encoding="utf-8")
    with pytest.raises(UserError, match=expected.replace("?", r"\?")):
        verify_splits(tmp_path / "a.json", task=task, roles=roles)


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    path.write_text(
        json.dumps({"relational": LEAKING, "single": {"train": ["red cube"], "test": ["blue cube"]}}), encoding="utf-8"
    )
    done = run_command("gen", "verify", "--splits", path)
    assert done.returncode == 1
    assert done.stdout == "relational: failed\nsingle: clean\n"
    for leak in THREE:
        assert f"relational: converse leak: {leak}\n" in done.stderr
    one = run_command("gen", "verify", "--splits", path, "--task", "single", "--json")
    assert one.returncode == 0
    assert json.loads(one.stdout)["single"]["splits"] == {"train": 1, "test": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "arguments", [[], ["x", "--splits", "y"], ["x", "--columns", "label=a"], ["--splits", "y", "--benchmark", "b"]]
)
def test_a_dataset_or_a_file(tmp_path: Path, arguments: list[str]) -> None:
    done = run_command("gen", "verify", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "give one of the two" in done.stderr


PAGE = CHECKOUT / "docs" / "verify.md"


def test_the_examples_of_the_page_say_what_the_command_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (given,) = [text for language, text in blocks if language == "json"]
    spar_answer, answer = [text for language, text in blocks if language == ""]
    path = tmp_path / "labels.json"
    path.write_text(given, encoding="utf-8")
    done = run_command("gen", "verify", "--splits", path)
    assert [line for line in done.stderr.splitlines() if "leak" in line or "clean" in line] == answer.splitlines()
    assert spar_answer in "\n".join(spar_of_32(tmp_path / "labels.csv", next(t for _, t in blocks if "--columns" in t)))


def spar_of_32(path: Path, command: str) -> list[str]:
    """What the page's command says of labels as of SPAR: 32 animals, two pairs of textures."""
    animals = [f"animal{n}" for n in range(32)]
    header = "character_name,character2_name,character_texture,character2_texture"
    pairs = [("blue", "red"), ("grass", "stone")]
    lines = [f"{a},{b},{x},{y}" for a, b in permutations(animals, 2) for x, y in pairs]
    path.write_text(rows(header, *lines), encoding="utf-8")
    done = run_command(*shlex.split(command.replace("\\\n", " ")), cwd=path.parent)
    assert done.returncode == 1
    return [*done.stderr.splitlines(), ""]
