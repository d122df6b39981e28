"""Reading and judging descriptions: an answer of a megabyte takes less than a second."""

import json
from time import process_time

from bench.figures import Figure, repeated
from evaluator.rewards import description_reward
from generator.dataset.descriptions.reading import read_description
from generator.dataset.descriptions.truth import ImageTruth, TrueObject
from generator.dataset.descriptions.vocabulary import Vocabulary
from generator.vocabulary.families import vocabulary_text

LENGTH = 1_000_000
"""Characters of an answer."""
PROSE = (
    "a cube, red, ",
    "a red cube and ",
    "the cube is red. ",
    "two cubes, one red, ",
    "a cube behind it ",
    "on the plain ",
    "it is red. ",
    "a cube with a shiny ",
    "word ",
)
"""Parts whose repetition makes parsers look back or ahead."""
JSON = ("[", "{", '[{"a":', '{"category": "cube"}, ', "9", '"', "[1, ")


def figures() -> list[Figure]:
    """The time of the slowest of each kind of answer, and of a reward."""
    vocabulary = Vocabulary.from_toml(vocabulary_text("clevr-relations"))
    ten_objects = _ten_objects(vocabulary)
    answer = json.dumps([{"category": "cube", "color": "red", "size": "large"}] * 1_000)
    # Outside of the time that is measured.
    description_reward(answer, ten_objects)  # imports scipy
    return [
        repeated(
            f"reading hostile prose of {LENGTH:,} characters",
            "s",
            lambda: max(_time(part, vocabulary) for part in PROSE),
        ),
        repeated(
            f"reading hostile JSON of {LENGTH:,} characters",
            "s",
            lambda: max(_time(part, vocabulary, "[") for part in JSON),
        ),
        repeated(
            "reward of a thousand objects against ten",
            "s",
            lambda: _time_reward(answer, ten_objects),
        ),
    ]


def _time(part: str, vocabulary: Vocabulary, opening: str = "") -> float:
    """The processor time of an answer that repeats a part, in seconds."""
    # Repeated, since a parser that looks back or ahead too far takes quadratic time of it.
    answer = opening + part * (LENGTH // len(part))
    start = process_time()
    read_description(answer, vocabulary)
    return process_time() - start


def _time_reward(answer: str, truth: ImageTruth) -> float:
    start = process_time()
    description_reward(answer, truth)
    return process_time() - start


def _ten_objects(vocabulary: Vocabulary) -> ImageTruth:
    objects = []
    for category in list(vocabulary.nouns)[:10]:
        attributes = {kind: next(iter(values)) for kind, values in vocabulary.values.items()}
        objects.append(TrueObject(category, attributes))
    return ImageTruth(
        scene_id="0",
        cluster_id="0",
        split=None,
        objects=tuple(objects),
        relations={},
        vocabulary=vocabulary,
    )
