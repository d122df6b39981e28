"""Questions about one fact: every one has a single right answer, which the reward reads."""

import pytest

from generator.dataset.descriptions.rewards import attribute_reward, count_reward
from generator.dataset.descriptions.short_questions import (
    attribute_questions,
    count_questions,
)
from generator.dataset.descriptions.truth import ImageTruth
from tests.generator.dataset.descriptions.scenes import image


def first_lines(texts: list[str]) -> list[str]:
    return [text.splitlines()[0] for text in texts]


def test_an_object_is_named_by_as_little_as_tells_it_apart() -> None:
    truth = image("cube red large metal", "cube blue large metal", "cone red small rubber")
    questions = {
        first_line: question.truth.value
        for question in attribute_questions(truth)
        for first_line in first_lines([question.text])
    }
    assert questions["What color is the cone?"] == "red"
    assert questions["What shape is the blue object?"] == "cube"
    assert questions["What size is the red cube?"] == "large"
    # Nothing but its color tells the red cube from the blue one.
    assert "What color is the cube?" not in questions
    assert not any(line.startswith("What color is the large") for line in questions)


def test_twins_have_no_questions_about_an_attribute() -> None:
    truth = image("cube red large metal", "cube red large metal")
    assert attribute_questions(truth) == []


def test_the_only_object_needs_no_features() -> None:
    lines = first_lines([question.text for question in attribute_questions(image("cube red"))])
    assert lines == ["What shape is the object?", "What color is the object?"]


def test_counts_are_of_what_the_image_shows() -> None:
    truth = image("cube red", "cube blue", "cone red", held_out=[("blue", "cone")])
    counts = {
        question.text.splitlines()[0]: question.truth.count for question in count_questions(truth)
    }
    assert counts == {
        "How many cubes are in the image?": 2,
        "How many cones are in the image?": 1,
        "How many red objects are in the image?": 2,
        "How many red cubes are in the image?": 1,
        "How many red cones are in the image?": 1,
        "How many blue objects are in the image?": 1,
        "How many blue cubes are in the image?": 1,
        "How many blue cones are in the image?": 0,
    }
    names = [
        question.text.splitlines()[0]
        for question in count_questions(truth)
        if question.names_held_out(truth)
    ]
    assert names == ["How many blue cones are in the image?"]


@pytest.mark.parametrize("world", ["truths", "crowded_truths"])
def test_right_answers_earn_one_and_others_nothing(
    world: str, request: pytest.FixtureRequest
) -> None:
    truths: list[ImageTruth] = request.getfixturevalue(world)
    for truth in truths:
        for attribute in attribute_questions(truth):
            own = truth.objects[attribute.object_index]
            kind = attribute.truth.kind
            value = own.category if kind == truth.vocabulary.category else own.attributes[kind]
            words = (
                truth.vocabulary.nouns if value == own.category else truth.vocabulary.values[kind]
            )
            for word in words:
                assert attribute_reward(word, attribute.truth).value == (word == value)
        for count in count_questions(truth):
            assert count_reward(str(count.truth.count), count.truth).value == 1
            assert count_reward(str(count.truth.count + 1), count.truth).value == 0
