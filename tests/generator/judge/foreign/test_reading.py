"""Labels that look equal are compared as equal, or refused."""

import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.judge.foreign.labels import arrangement, normal, read_label
from generator.judge.foreign.rows import SplitRoles
from generator.judge.foreign.verify import verify_splits
from tests.generator.judge.foreign.label_files import Judged, rows, said


@pytest.mark.parametrize(
    ("label", "fault"),
    [
        ("red cube", "shared arrangement"),
        ("re\u200bd cube", "shared arrangement"),
        ("red\u00a0cube", "shared arrangement"),
        ("re\u00add cube", "shared arrangement"),
        ("re\ufe0fd cube", "shared arrangement"),
        ("\uff52\uff45\uff44 cube", "shared arrangement"),
        ("\U0001d42b\U0001d41e\U0001d41d cube", "shared arrangement"),
        ("red \u0441ube", "mixed scripts"),
        ("red cub\u03b5", "mixed scripts"),
        ("r\u0435d \u0441ub\u0435", "mixed scripts"),
        ("red \u0441\u0443\u044c\u0435", "mixed scripts"),
        ("\u027eed cube", "mixed scripts"),
        ("red\u2800cube", "invisible character"),
        ("red\u3164cube", "invisible character"),
    ],
)
def test_a_label_that_looks_like_one_of_training_is_found(
    judged: Judged, label: str, fault: str
) -> None:
    found = judged({"train": ["red cube", "blue sphere"], "test": [label, "green cone"]})
    assert found["status"] == "failed"
    assert fault in found["faults"]


def test_two_ways_to_write_one_letter_are_one(judged: Judged) -> None:
    found = judged({"train": ["beige caf\u00e9"], "test": ["beige cafe\u0301"]})
    assert found["faults"] == {"shared arrangement": 1}


def test_labels_of_one_script_other_than_latin_are_clean(judged: Judged) -> None:
    assert judged({"train": ["red cube"], "test": ["gr\u00fcner W\u00fcrfel"]})["status"] == "clean"
    cube = "\u043a\u0443\u0431"
    russian = {
        "\u0430": [f"\u043a\u0440\u0430\u0441\u043d\u044b\u0439 {cube}"],
        "\u0431": [f"\u0441\u0438\u043d\u0438\u0439 {cube}"],
    }
    assert judged(russian)["status"] == "clean"


def test_a_table_is_judged_by_its_labels_and_not_by_other_fields(judged: Judged) -> None:
    table = rows(
        "split,label,author", "train,red cube,\u0418\u0432\u0430\u043d", "test,re\u200bd cube,Ann"
    )
    assert judged(table)["faults"] == {"invisible character": 1, "shared arrangement": 1}
    data = [
        {"split": "train", "label": "red cube", "author": "\u0418\u0432\u0430\u043d"},
        {"split": "test", "label": "blue cube", "author": "Ann"},
    ]
    assert judged(data)["status"] == "clean"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.json",
            '{"train": ["red cube"], "test": ["blue cube"], "train": ["blue cube"]}',
            "the key 'train' is repeated",
        ),
        (
            "b.json",
            '[{"split": "train", "label": "red cube", "label": "blue cube"}]',
            "the key 'label' is repeated",
        ),
        ("c.json", '{"train": ["red cube"], "tra\u200bin": ["blue cube"]}', "'train'"),
        ("d.csv", "split,label,label\ntrain,red cube,blue cube\n", "name 'label' twice"),
    ],
)
def test_what_two_readers_may_read_in_two_ways_is_refused(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        verify_splits(tmp_path / name)


@given(st.text())
def test_a_normal_text_stays_as_it_is(text: str) -> None:
    once = normal(text)
    assert normal(once) == once
    assert normal(unicodedata.normalize("NFD", text.translate({0x60: None, 0xB4: None}))) == normal(
        unicodedata.normalize("NFC", text.translate({0x60: None, 0xB4: None}))
    )


def test_lists_of_things_and_of_thing_relation_thing(judged: Judged) -> None:
    pairs = judged({"train": [["red cube", "blue cone"]], "test": [["blue cone", "red cube"]]})
    assert said(pairs, "reordered leak") == [
        '"red cube and blue cone" (train, label 1) = "blue cone and red cube" (test, label 1)'
    ]
    linked = {
        "train": [["cube", "left of", "cone"], ["cone", "orbiting", "cube"]],
        "test": [["cone", "right", "cube"]],
    }
    found = judged(linked)
    assert said(found, "converse leak") == [
        '"cube left cone" (train, label 1) = "cone right cube" (test, label 1)'
    ]
    assert any(
        "without a known converse, compared in their own words only: orbiting" in note
        for note in found["notes"]
    )


def test_rows_of_json_and_a_relation_column(judged: Judged) -> None:
    data = [
        {"first": "cube", "relation": "on top of", "second": "cone", "part": "train"},
        {"first": "cone", "relation": "beneath", "second": "cube", "part": "test"},
    ]
    found = judged(data, "split=part")
    assert said(found, "converse leak") == [
        '"cube on cone" (train, entry 1) = "cone beneath cube" (test, entry 2)'
    ]


@pytest.mark.parametrize(
    ("roles", "task", "expected"),
    [
        (
            SplitRoles(training=("trian",)),
            None,
            "--train trian: a has no such split; did you mean 'train'?",
        ),
        (
            SplitRoles(familiar=("id",)),
            None,
            "--familiar id: a has no such split; expected one of: train.",
        ),
        (SplitRoles(), "b", "has no task 'b'"),
    ],
)
def test_names_that_are_not_there(
    tmp_path: Path, roles: SplitRoles, task: str | None, expected: str
) -> None:
    (tmp_path / "a.json").write_text('{"train": ["red cube"]}', encoding="utf-8")
    with pytest.raises(UserError, match=expected.replace("?", r"\?")):
        verify_splits(tmp_path / "a.json", task=task, roles=roles)


ANIMALS = "animal,fold\nfox,train\n"


@pytest.mark.parametrize(
    ("name", "text", "columns", "expected"),
    [
        (
            "a.csv",
            ANIMALS,
            ["split=fold"],
            "has no column 'label' or 'first'; name yours with --columns",
        ),
        (
            "a.csv",
            ANIMALS,
            ["label=name"],
            "has no column 'name' for --columns label=name; its columns are: animal, fold",
        ),
        ("a.csv", ANIMALS, ["first=animal,frist.color=fold"], "unknown role 'frist.color'"),
        ("a.csv", ANIMALS, ["label"], "Expected --columns to be ROLE=COLUMN"),
        ("a.csv", ANIMALS, ["first=animal,first=fold"], "names the role 'first' twice"),
        ("a.csv", ANIMALS, ["second=animal"], "none names the first object"),
        (
            "a.csv",
            ANIMALS,
            ["second.color=animal,first=fold"],
            "none names the second object; add second=COLUMN",
        ),
        (
            "a.csv",
            "label,split\nfox,train,3\n",
            [],
            "or is ambiguous: line 2 has 3 cells, the first has 2",
        ),
        ("a.json", "{", [], "is not JSON"),
        ("a.json", "[]", [], "holds no labels; expected a list of rows, or labels by split"),
        ("a.json", '{"train": [3]}', [], "expected every label to be a text such as"),
        (
            "a.json",
            '{"train": ["fox"]}',
            ["label=x"],
            "labels by split and no columns; leave it out",
        ),
        ("a.json", '["fox"]', [], "expected every row to be an object with fields"),
        ("a.json", '[{"label": ["fox"]}]', [], "expected a text in the field 'label'"),
        ("b.csv", None, [], "b.csv cannot be read: "),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path, name: str, text: str | None, columns: list[str], expected: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        verify_splits(tmp_path / name, columns)
    assert expected in caught.value.message
    assert "\n" not in caught.value.message


NAMES = st.sampled_from(["cube", "cone", "sphere"])

RELATIONS = st.sampled_from(
    ["left", "right", "in front of", "behind", "above", "below", "near", "inside"]
)

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


@given(
    st.lists(st.tuples(st.sampled_from(["red", "blue"]), NAMES), min_size=1, max_size=4), st.data()
)
def test_labels_without_relations_say_the_same_in_any_order(
    things: list[tuple[str, str]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(things))
    other = data.draw(
        st.lists(st.tuples(st.sampled_from(["red", "blue"]), NAMES), min_size=1, max_size=4)
    )
    read = [
        arrangement(read_label(" and ".join(map(" ".join, each))))
        for each in (things, shuffled, other)
    ]
    assert read[0] == read[1]
    assert (read[0] == read[2]) == (Counter(things) == Counter(other))


def test_adjectives_in_any_order_and_two_of_one_thing(judged: Judged) -> None:
    found = judged(
        rows(
            "label,split",
            "large red cube and cone,train",
            "cone and red large cube,test",
            "red cube and blue cone,test",
        ),
    )
    assert found["faults"] == {"reordered leak": 1}
    (test,) = [row for row in found["familiarity"]["attribute"] if row["split"] == "test"]
    assert (test["seen"], test["seen_unequal"], test["partial"], test["partial_unequal"]) == (
        1,
        0,
        1,
        1,
    )
