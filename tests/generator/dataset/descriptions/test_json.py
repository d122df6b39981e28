"""JSON: read strictly, with the usual wrappings, and never with an error."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.dataset.descriptions.description import MOST_OBJECTS, Description, description_of
from generator.dataset.descriptions.json_reader import write_json
from generator.dataset.descriptions.reading import read_description
from generator.dataset.descriptions.schema import answer_schema, example_answer
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.descriptions.vocabulary import Vocabulary
from tests.generator.dataset.descriptions.answers import VOCABULARY, object_of, relations_of

CUBE = '[{"category": "cube", "color": "red"}]'
RED_CUBE = [("cube", frozenset({("color", "red")}))]


def objects(description: Description) -> list[object]:
    return [object_of(each) for each in description.objects]


@pytest.mark.parametrize(
    "answer",
    [
        CUBE,
        f"```json\n{CUBE}\n```",
        f"```\n{CUBE}\n```",
        f"Here is the list:\n\n{CUBE}",
        f"Sure! ```json\n{CUBE}```",
        f'<think>A cube? [{{"category": "cone"}}]</think>\n{CUBE}',
        f"<think>first</think> <think>then</think>{CUBE}",
        f"<answer>{CUBE}</answer>",
        '{"objects": [{"category": "cube", "color": "red"}]}',
        '{"objects": [{"shape": "cube", "color": "red"}], "relations": []}',
        '[{"category": "cube", "attributes": {"color": "red"}}]',
        '[{"category": "Block", "color": "CRIMSON", "size": null}]',
        '[{"category": "cube", "color": "red", "count": 1, "id": "a"}]',
    ],
)
def test_wrappings_and_spellings(answer: str, vocabulary: Vocabulary) -> None:
    description = read_description(answer, vocabulary)
    assert objects(description) == RED_CUBE
    assert not description.unread
    assert description.form == "json"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("[", "not JSON"),
        ('[{"category": "cube"}', "not JSON"),
        ('{"objects": [{"category": "cube"}], "rel', "not JSON"),
        ("[" * 100_000, "not JSON|nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply|not JSON"),
        ("[NaN]", "JSON has no NaN"),
        ('[{"category": "cube", "size": Infinity}]', "JSON has no Infinity"),
        (f"[{'9' * 5_000}]", "an integer of 5,000 digits"),
        ("[1]", "expected a JSON object"),
        ("[[]]", "expected a JSON object"),
        ('{"shapes": []}', "expected a list of objects"),
        ('{"objects": {}}', "expected a list of objects"),
        (f"{CUBE} or {CUBE}", "more than one JSON document"),
        ('[{"category": "cube", "category": "cone"}]', "one word for each value"),
        ('[{"category": "cube", "color": "red", "color": "blue"}]', "one word for each value"),
        ('[{"category": "cube", "color": "red or blue"}]', "not one choice"),
        ('[{"category": "cube", "color": "red/blue"}]', "not one choice"),
        ('[{"category": "cube", "color": ["red", "blue"]}]', "one word for each value"),
        ('[{"category": ["cube", "cone"], "color": "red"}]', "one word for each value"),
        ('[{"category": "cube", "count": 1e400}]', "the count as a whole number"),
        ('[{"category": "cube", "count": true}]', "the count as a whole number"),
        ('[{"category": "cube", "count": 1001}]', "the count as a whole number"),
        (json.dumps([{"category": "cube"}] * 1_001), "more than 1,000 objects"),
        (json.dumps([{"category": "cube", "count": 900}] * 2), "more than 1,000 objects"),
        ('[{"category": "cube", "shape": "cube"}]', "both 'category' and 'shape'"),
        ('[{"category": "cube", "color": "red", "attributes": {"color": "red"}}]', "twice"),
    ],
)
def test_unread(answer: str, reason: str, vocabulary: Vocabulary) -> None:
    description = read_description(answer, vocabulary)
    assert not description.objects
    assert any(re.search(reason, part.reason) for part in description.unread), description.unread


def test_a_value_of_no_word_leaves_its_object(vocabulary: Vocabulary) -> None:
    description = read_description('[{"category": "cube", "color": "teal", "x": 3}]', vocabulary)
    assert objects(description) == [("cube", frozenset())]
    assert [part.reason for part in description.unread] == [
        "'teal' is not a color of this world",
        "unknown key 'x'",
    ]


def test_another_category_is_wrong_when_the_words_were_given(vocabulary: Vocabulary) -> None:
    answer = '[{"category": "bottle"}]'
    assert objects(read_description(answer, vocabulary)) == [("bottle", frozenset())]
    opened = read_description(answer, vocabulary, words="open")
    assert not opened.objects
    assert "not a category" in opened.unread[0].reason


def test_relations(vocabulary: Vocabulary) -> None:
    rows = [{"category": "cube"}, {"category": "nonsense!"}, {"category": "cone"}]
    relations = [
        {"subject": 0, "relation": "left", "object": 2},
        [2, "in front of", 0],
        [0, "left", 1],
        [0, "left", 3],
        [0, "left", 0],
        [True, "left", 2],
        [0, "beside", 2],
        {"subject": 0, "object": 2},
        7,
    ]
    description = read_description(
        json.dumps({"objects": rows, "relations": relations}), vocabulary
    )
    assert relations_of(description) == {(0, "left", 1), (1, "front", 0)}
    assert len(description.unread) == 8


def test_relations_by_id(vocabulary: Vocabulary) -> None:
    rows = [{"id": "a", "category": "cube"}, {"id": "b", "category": "cone"}]
    twice = [*rows, {"id": "a", "category": "star"}]
    relations = [{"subject": "b", "relation": "behind", "object": "a"}]
    read = read_description(json.dumps({"objects": rows, "relations": relations}), vocabulary)
    assert relations_of(read) == {(1, "behind", 0)}
    unclear = read_description(json.dumps({"objects": twice, "relations": relations}), vocabulary)
    assert not unclear.relations


def test_a_full_description_is_read_as_it_was_written(truths: list[ImageTruth]) -> None:
    for truth in truths:
        for relations in (False, True):
            full = description_of(truth, relations)
            reread = read_description(write_json(full), truth.vocabulary)
            assert objects(reread) == objects(full)
            assert relations_of(reread) == relations_of(full)
            assert not reread.unread


def test_the_example_of_the_prompt_says_nothing(vocabulary: Vocabulary) -> None:
    for relations in (False, True):
        description = read_description(example_answer(vocabulary, relations=relations), vocabulary)
        assert not description.objects
        assert not description.relations


def test_the_schema_names_the_judged_words(vocabulary: Vocabulary) -> None:
    closed = answer_schema(vocabulary, relations=True)["properties"]
    assert list(closed["objects"]["items"]["properties"]) == [
        "category",
        "color",
        "material",
        "size",
    ]
    assert "left" in closed["relations"]["items"]["properties"]["relation"]["enum"]
    opened = answer_schema(vocabulary, words="open")["properties"]
    assert "enum" not in opened["objects"]["items"]["properties"]["color"]


@pytest.mark.parametrize(
    "part",
    ["[", "{", '[{"a":', "[]", "{}", '"', "\\", "[{", '{"objects":[', "9", "[1,", "```", "<think>"],
)
def test_time_is_bounded(part: str, vocabulary: Vocabulary) -> None:
    answer = "[" + part * (1_000_000 // len(part))
    start = time.process_time()
    assert not read_description(answer, vocabulary).objects
    assert time.process_time() - start < 10


def test_many_objects_are_read_in_bounded_time(vocabulary: Vocabulary) -> None:
    row = {"category": "cube", "color": "red"}
    answer = json.dumps([row] * MOST_OBJECTS)
    assert len(read_description(answer, vocabulary).objects) == MOST_OBJECTS


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["cube", "red", "left"])
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["category", "color", "objects", "relations", "subject", "id", "count"])
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_gives_a_description(document: object) -> None:
    description = read_description(json.dumps(document), VOCABULARY, form="json")
    for relation in description.relations:
        assert max(relation.subject, relation.target) < len(description.objects)
