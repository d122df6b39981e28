"""Rewards: gold answers earn 1, and no answer that does not look earns more than a blind guess."""

import json
from collections.abc import Callable
from itertools import product
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.descriptions.floors import describe_blindly, describe_unbound
from generator.base.streams import Stream
from generator.dataset.descriptions.description import description_of
from generator.dataset.descriptions.json_reader import write_json
from generator.dataset.descriptions.rewards import (
    AttributeTruth,
    ChoiceTruth,
    CountTruth,
    attribute_reward,
    choice_reward,
    count_reward,
    description_reward,
    to_record,
)
from generator.dataset.descriptions.schema import example_answer
from generator.dataset.descriptions.truth import ImageTruth
from tests.generator.dataset.descriptions.answers import VOCABULARY
from tests.generator.dataset.descriptions.scenes import image

CATEGORIES = list(VOCABULARY.nouns)
COLORS = list(VOCABULARY.values["color"])


def blind_answer(truths: list[ImageTruth], index: int, draw: int, relations: bool) -> str:
    """What a describer writes that knows the split alone."""
    stream = Stream(0, "blind", index, draw)
    described = describe_blindly(truths, index, stream, relations)
    assert described is not None
    return write_json(described)


def every_combination(_: ImageTruth) -> str:
    kinds = list(VOCABULARY.values)
    rows = []
    for category, *values in product(CATEGORIES, *VOCABULARY.values.values()):
        rows.append({"category": category, **dict(zip(kinds, values, strict=True))})
    return json.dumps(rows)


def every_binding(_: ImageTruth) -> str:
    rows = [
        {"category": category, "color": color} for category, color in product(CATEGORIES, COLORS)
    ]
    return json.dumps(rows)


def every_category(_: ImageTruth) -> str:
    return json.dumps([{"category": category} for category in CATEGORIES])


ROW = {"category": "cube", "color": "red", "size": "large", "material": "metal"}
ATTACKS: dict[str, Callable[[ImageTruth], str]] = {
    "every combination": every_combination,
    "every binding": every_binding,
    "every category": every_category,
    "every category in prose": lambda _: ", ".join(f"a {category}" for category in CATEGORIES),
    "one object often": lambda truth: json.dumps([ROW] * len(truth.objects)),
    "one object": lambda _: json.dumps([ROW]),
    "empty list": lambda _: "[]",
    "empty answer": lambda _: "",
    "the prompt's example": lambda truth: example_answer(truth.vocabulary),
    "a thousand objects": lambda _: json.dumps([ROW] * 1_000),
    "two thousand objects": lambda _: json.dumps([ROW] * 2_000),
    "hedging": lambda truth: " ".join(
        f"There is a red or blue or green {each.category}." for each in truth.objects
    ),
    "hedging in JSON": lambda truth: json.dumps(
        [{"category": each.category, "color": " or ".join(COLORS)} for each in truth.objects]
    ),
    "hedging with lists": lambda truth: json.dumps(
        [{"category": each.category, "color": COLORS} for each in truth.objects]
    ),
    "hedging by keys": lambda truth: (
        "["
        + ",".join(
            f'{{"category":"{each.category}","color":"red","color":"blue"}}'
            for each in truth.objects
        )
        + "]"
    ),
    "hedging by documents": lambda truth: "[]" + write_json(description_of(truth)),
    "taking back": lambda _: "A cube. " + " ".join(f"The cube is {color}." for color in COLORS),
    "unreadable": lambda _: "\x00\ufffd" * 500,
    "objects": lambda truth: " ".join("There is a red object." for _ in truth.objects),
}
"""Answers that do not look at the image, and hedges about what is in it."""


@pytest.mark.parametrize("relations", [False, True])
@pytest.mark.parametrize("world", ["truths", "crowded_truths"])
def test_attacks_earn_at_most_the_blind_floor(
    world: str, relations: bool, request: pytest.FixtureRequest
) -> None:
    truths = request.getfixturevalue(world)

    def earned(answer: str, truth: ImageTruth) -> float:
        return description_reward(answer, truth, relations=relations).value

    floor = mean(
        earned(blind_answer(truths, i, draw, relations), truth)
        for i, truth in enumerate(truths)
        for draw in range(10)
    )
    assert 0.02 < floor < 0.5
    for name, attack in ATTACKS.items():
        assert mean(earned(attack(truth), truth) for truth in truths) <= floor, name


@pytest.mark.parametrize("n", [1, 10, 100])
def test_every_relation_earns_nothing_for_relations(truths: list[ImageTruth], n: int) -> None:
    for truth in truths[:10]:
        objects = [{"category": each.category, **each.attributes} for each in truth.objects]
        pairs = [(i, j) for i, j in product(range(len(objects)), repeat=2) if i != j]
        facts = [[i, name, j] for i, j in pairs for name in truth.vocabulary.relations] * n
        answer = json.dumps({"objects": objects, "relations": facts})
        parts = description_reward(answer, truth, relations=True).parts
        assert parts["relations"] <= 0.5 * parts["objects"]


@pytest.mark.parametrize("relations", [False, True])
def test_gold_answers_earn_one(truths: list[ImageTruth], relations: bool) -> None:
    for truth in truths:
        gold = write_json(description_of(truth, relations))
        reward = description_reward(gold, truth.to_json(), relations=relations)
        assert reward.value == 1
        assert not reward.unread


def test_a_describer_that_does_not_bind_earns_less(crowded_truths: list[ImageTruth]) -> None:
    unbound = [
        description_reward(
            write_json(describe_unbound(crowded_truths, i, Stream(0, i))), truth
        ).value
        for i, truth in enumerate(crowded_truths)
    ]
    blind = [
        description_reward(blind_answer(crowded_truths, i, 0, False), truth).value
        for i, truth in enumerate(crowded_truths)
    ]
    assert mean(blind) < mean(unbound) < 1


def test_more_right_values_earn_more() -> None:
    truth = image("cube red large metal", "cone blue small rubber")
    answers = [
        "A wall.",
        "A cube.",
        "A red cube.",
        "A red cube and a cone.",
        "A large red metal cube and a small blue cone.",
        "A large red metal cube and a small blue rubber cone.",
    ]
    values = [description_reward(answer, truth).value for answer in answers]
    assert values == sorted(set(values))
    assert values[0] == 0
    assert values[-1] == 1


CHOICE = ChoiceTruth("ABC", 1, ("a red cube", "a blue cube", "a green cube"))


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("B", 1),
        ("The answer is B.", 1),
        ("<think>A or C</think> B", 1),
        ("a blue cube", 1),
        ("A", 0),
        ("A, B, C", 0),
        ("A or B", 0),
        ("B. No, wait: C", 0),
        ("", 0),
        ("all of them", 0),
        ("B" * 100_000, 0),
    ],
)
def test_choices(answer: str, value: float) -> None:
    assert choice_reward(answer, CHOICE).value == value
    assert choice_reward(answer, json.dumps(to_record(CHOICE))).value == value


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("3", 1),
        ("There are three red cubes.", 1),
        ("<think>2? 4?</think>3", 1),
        ("**3**", 1),
        ("3, three.", 1),
        ("2", 0),
        ("none", 0),
        ("3 or 4", 0),
        ("about 3, maybe", 0),
        ("between 2 and 4", 0),
        ("1 2 3 4 5", 0),
        ("not 3", 0),
        ("There aren't 3", 0),
        ("3.5", 0),
        ("-3", 0),
        ("3,000", 0),
        ("3" * 10_000, 0),
        ("3 " * 1_000_000, 0),
        ("", 0),
        ("many", 0),
    ],
)
def test_counts(answer: str, value: float) -> None:
    assert count_reward(answer, CountTruth(3)).value == value
    assert count_reward(answer, to_record(CountTruth(3))).value == value


def test_counts_of_an_image() -> None:
    truth = image("cube red large", "cube red small", "cone red large")
    assert CountTruth.of_image(truth, category="cube").count == 2
    assert CountTruth.of_image(truth, attributes={"size": "large"}).count == 2
    assert CountTruth.of_image(truth, category="cube", attributes={"size": "large"}).count == 1


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("red", 1),
        ("The cube is red.", 1),
        ("Crimson!", 1),
        ('{"color": "red"}', 1),
        ("blue", 0),
        ("red or blue", 0),
        ("Red. Blue.", 0),
        (" ".join(COLORS), 0),
        ("not red", 0),
        ("maybe red", 0),
        ("It is neither red nor blue.", 0),
        ("large", 0),
        ("", 0),
        ("red " * 1_000_000, 0),
    ],
)
def test_attributes(answer: str, value: float) -> None:
    question = AttributeTruth("color", "red", VOCABULARY)
    assert attribute_reward(answer, question).value == value
    assert attribute_reward(answer, to_record(question)).value == value


def test_the_category_may_be_asked() -> None:
    question = AttributeTruth("shape", "cube", VOCABULARY)
    assert attribute_reward("It is a block.", question).value == 1
    assert attribute_reward("A cube and a cone.", question).value == 0


@pytest.mark.parametrize(
    "reward", [choice_reward, count_reward, attribute_reward, description_reward]
)
@pytest.mark.parametrize("record", ["[]", "{}", "null", '{"count": "x"}'])
def test_other_records_are_errors(reward: Callable[..., object], record: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each record has a message of its own
        reward("3", record)


@given(st.text(max_size=200))
def test_every_answer_has_a_reward_from_0_to_1(answer: str) -> None:
    truth = image("cube red large metal", "cone blue small rubber", right=(0, 1))
    rewards = [
        description_reward(answer, truth, relations=True),
        choice_reward(answer, CHOICE),
        count_reward(answer, CountTruth(3)),
        attribute_reward(answer, AttributeTruth("color", "red", VOCABULARY)),
    ]
    assert all(0 <= reward.value <= 1 for reward in rewards)
