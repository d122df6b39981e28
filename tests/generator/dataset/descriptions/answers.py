"""Reads prose_answers.txt: answers in prose, with the atoms that a person reads in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.dataset.descriptions.description import DescribedObject, Description
from generator.dataset.descriptions.vocabulary import Vocabulary
from generator.vocabulary.families import vocabulary_text

VOCABULARY = Vocabulary.from_toml(vocabulary_text("clevr-relations"))
"""The words of the answers."""
KIND_OF = {value: kind for kind, values in VOCABULARY.values.items() for value in values}
"""The attribute kind of each value."""
FILE = Path(__file__).parent / "prose_answers.txt"
Object = tuple[str | None, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class Answer:
    """An answer and what it says."""

    style: str
    text: str
    objects: tuple[Object, ...]
    relations: frozenset[tuple[int, str, int]]

    @property
    def n_atoms(self) -> int:
        """Categories, values and relations that it says."""
        return atoms_of(self.objects) + len(self.relations)


def atoms_of(objects: Sequence[Object]) -> int:
    """The number of categories and values of objects."""
    return sum((category is not None) + len(values) for category, values in objects)


def object_of(described: DescribedObject) -> Object:
    """A described object, comparable."""
    return described.category, frozenset(described.attributes.items())


def relations_of(description: Description) -> frozenset[tuple[int, str, int]]:
    """The relations of a description."""
    return frozenset(
        (relation.subject, relation.relation, relation.target) for relation in description.relations
    )


def read_answers() -> list[Answer]:
    """All answers of the file."""
    answers, style, text = [], "", ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            style = line.strip("[]")
        elif line.startswith("> "):
            text = line[2:].replace("\\n", "\n")
        elif line.startswith("="):
            objects, _, relations = line[1:].partition("|")
            answers.append(parse_answer(style, text, objects, relations))
    return answers


def parse_answer(style: str, text: str, objects: str, relations: str) -> Answer:
    """An answer with its objects, such as "cube red; cone", and relations, such as "0 left 1"."""
    return Answer(
        style,
        text,
        tuple(_object(words.split()) for words in objects.split(";") if words.strip()),
        frozenset(_relation(words.split()) for words in relations.split(",") if words.strip()),
    )


def _object(words: list[str]) -> Object:
    category, *values = words
    return category, frozenset((KIND_OF[value], value) for value in values)


def _relation(words: list[str]) -> tuple[int, str, int]:
    subject, name, target = words
    return int(subject), name, int(target)
