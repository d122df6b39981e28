"""Whole files: published class lists, generated blocks, notes and sentences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.judge.foreign.labels import CONVERSE, FIRST, PHRASE, relation_name
from generator.judge.foreign.rows import SplitRoles
from tests.generator.judge.foreign.label_files import (
    LEAKING,
    SPAR,
    THREE,
    Judged,
    check_block,
    grid,
    rows,
    said,
    spar,
    split_by_block,
)


def test_without_the_three_it_is_clean(judged: Judged) -> None:
    found = judged({**LEAKING, "ood_val": ["cube left cone", "cone right cube"]})
    assert (found["status"], found["findings"]) == ("clean", [])
    assert (
        "no arrangement is in two splits, in any order of mention or by the converse"
        in found["sentence"]
    )


@pytest.mark.parametrize("seed", range(3))
def test_generated_blocks_over_a_grid_are_clean(judged: Judged, seed: int) -> None:
    check_block(judged(*split_by_block(seed)))


def test_what_cannot_be_judged_is_said(judged: Judged) -> None:
    found = judged(rows("label,split", "red cube,one", "the,two", "red cone,", "blue cone,two"))
    notes = " ".join(found["notes"])
    assert "1 labels cannot be read and are not judged, the first: 'the' names no object" in notes
    assert "1 rows are in no split" in notes
    assert "No split trains (there are one, two)" in notes
    assert found["familiarity"] == {}


def test_unequal_familiarity_and_exposed_bindings(judged: Judged) -> None:
    table = rows(
        "label,wrong,split",
        "red cube and blue cone,blue cube and red cone,train",
        "green cone,green cube,train",
        "green cube and blue cone,blue cube and green cone,test",
        "red cube and green cone,red cone and green cube,test",
    )
    found = judged(table, "negative=wrong")
    assert said(found, "asymmetric familiarity") == [
        '"red cube and green cone" (test, line 5) has 0 bindings that training never shows, its '
        "negative "
        '"red cone and green cube" 2'
    ]
    assert said(found, "exposed binding") == [
        '"green cube" (train, line 3) is a negative and names green cube'
    ]
    (table_of,) = found["familiarity"].values()
    assert {row["split"]: (row["seen"], row["partial"]) for row in table_of} == {
        "train": (2, 0),
        "test": (1, 1),
        "all": (3, 1),
    }


def test_a_relation_that_training_never_shows(judged: Judged) -> None:
    table = rows(
        "label,negative,split", "cube left cone,,train", "sphere left cone,cone right cube,test"
    )
    found = judged(table)
    assert (
        "has 1 relations that training never shows, its negative"
        in said(found, "asymmetric familiarity")[0]
    )


def test_the_three_converse_leaks_are_named(judged: Judged) -> None:
    found = judged(LEAKING)
    assert found["faults"] == {"converse leak": 3}
    assert said(found, "converse leak") == THREE
    assert found["status"] == "failed"


def test_a_split_over_ordered_pairs_leaks(judged: Judged) -> None:
    """A random split over ordered pairs puts one arrangement into two splits, in two orders of
    mention."""
    scenes = grid(4, 6)
    lines = [
        f"{a},{b},{x},{y},{'train' if n % 3 else 'test'}" for n, (a, b, x, y) in enumerate(scenes)
    ]
    found = judged(rows("first,second,first.color,second.color,split", *lines))
    side = {(a, b, x, y): n % 3 == 0 for n, (a, b, x, y) in enumerate(scenes)}
    leaks = sum(side[a, b, x, y] != side[b, a, y, x] for a, b, x, y in scenes) // 2
    assert leaks > 50
    assert found["faults"]["reordered leak"] == leaks
    assert len(said(found, "reordered leak")) == 21


def test_the_same_words_and_the_same_image_in_two_splits(judged: Judged) -> None:
    table = rows(
        "caption,split,filename",
        "a red cube,train,1.png",
        "Red  cube,test,2.png",
        "a blue cube,test,1.png",
        "a photo of a green cone,train,3.png",
        "a green cone,train,3.png",
    )
    found = judged(table)
    assert said(found, "shared arrangement") == [
        '"a red cube" (train, line 2) = "red cube" (test, line 3)'
    ]
    assert said(found, "shared image") == ["1.png (train, line 2; test, line 4)"]
    assert found["faults"] == {"shared arrangement": 1, "shared image": 1}


def test_a_row_is_named_by_its_first_line(judged: Judged) -> None:
    found = judged('label,split,note\nred cube,train,"two\nlines"\n\nred cube,test,\n')
    assert said(found, "shared arrangement") == [
        '"red cube" (train, line 2) = "red cube" (test, line 5)'
    ]


def test_splits_that_are_meant_to_show_the_same(judged: Judged) -> None:
    table = rows("label,split", "red cube,train", "red cube,id_val", "red cone,ood", "red cube,ood")
    found = judged(table, roles=SplitRoles(familiar=("id_val",)))
    assert len(said(found, "shared arrangement")) == 1
    assert "(ood, line 5)" in said(found, "shared arrangement")[0]
    clean = judged(table.replace("red cube,ood\n", ""), roles=SplitRoles(familiar=("id_val",)))
    assert clean["status"] == "clean"


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
def test_negatives_that_are_true(judged: Judged, label: str, negative: str, true: bool) -> None:
    found = judged(rows("caption,negative_caption,split", f"{label},{negative},test"))
    expected = [f'"{negative}" is a negative of "{label}" (test, line 2), and true of it']
    assert said(found, "true negative") == (expected if true else [])


def test_a_texture_that_the_place_gives_away(judged: Judged) -> None:
    found = judged(spar([("blue", "red"), ("grass", "stone")]), *SPAR)
    shortcuts = said(found, "positional shortcut")
    told = {tuple(what.split(" (")[0].split(": ")[1].split()[1:]) for what in shortcuts}
    assert ("blue", "is", "always", "first", "and", "not", "second") in told
    assert ("stone", "is", "always", "right", "and", "not", "left") in told
    assert len(shortcuts) == 8  # four textures, told by order of mention and by position; no animal
    assert "20 of 20 arrangements" in shortcuts[0]
    assert "There is one split" in found["notes"][0]


def test_textures_in_both_orders_are_no_shortcut(judged: Judged) -> None:
    both = [("blue", "red"), ("grass", "stone"), ("red", "blue"), ("stone", "grass")]
    found = judged(spar(both), *SPAR)
    assert (found["status"], found["findings"]) == ("clean", [])


def test_one_arrangement_rendered_often_is_no_evidence(judged: Judged) -> None:
    found = judged(rows("label", *["red cube and blue cone"] * 500))
    assert found["findings"] == []
    assert {(lean["there"], lean["arrangements"]) for lean in found["places"]} == {(1, 1)}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_random_splits_of_a_grid_show_no_shortcut(judged: Judged, seed: int) -> None:
    """Of designs without a shortcut at most 1 in 100 may be reported as one; these, drawn by seed,
    are not."""
    lines = [
        f"{x} {a} and {y} {b},{'train' if (n * 7919 + seed) % 5 else 'test'}"
        for n, (a, b, x, y) in enumerate(grid(4, 5))
    ]
    found = judged(rows("label,split", *lines))
    assert "positional shortcut" not in found["faults"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("To the Left of", "left"),
        ("on_top_of", "on"),
        ("next to", "beside"),
        ("orbiting", "orbiting"),
    ],
)
def test_words_have_a_name(words: str, name: str) -> None:
    assert relation_name(words) == name


def test_the_converse_of_the_converse_is_the_relation() -> None:
    assert all(CONVERSE[converse] == name for name, converse in CONVERSE.items())
    assert all(CONVERSE[name] != name and CONVERSE[name] not in FIRST for name in FIRST)


def test_the_longest_phrase_is_found() -> None:
    assert PHRASE.findall("a cube on top of a cone to the left of a box") == [
        "on top of",
        "to the left of",
    ]
