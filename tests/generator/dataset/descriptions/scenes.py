"""Images that tests declare by hand."""

from collections.abc import Mapping, Sequence

from generator.dataset.descriptions.description import (
    DescribedObject,
    DescribedRelation,
    Description,
)
from generator.dataset.descriptions.truth import Holds, ImageTruth, TrueObject
from tests.generator.dataset.descriptions.answers import KIND_OF, VOCABULARY


def parts_of(words: str) -> tuple[str, dict[str, str]]:
    """Category and values of "cube red large"."""
    category, *values = words.split()
    return category, {KIND_OF[value]: value for value in values}


def image(
    *objects: str,
    right: Sequence[float] = (),
    near: Holds | None = None,
    held_out: Sequence[tuple[str, str]] = (),
    name: str = "0",
    split: str = "partial",
) -> ImageTruth:
    """An image of objects such as "cube red large metal". `right`: their places from left to right;
    equal places are undecided."""
    relations: dict[str, Holds] = {}
    if right:
        relations["right"] = tuple(tuple(None if a == b else a > b for b in right) for a in right)
    if near is not None:
        relations["near"] = near
    return ImageTruth(
        scene_id=name,
        cluster_id=name,
        split=split,
        objects=tuple(TrueObject(*parts_of(words)) for words in objects),
        relations=relations,
        tested_kind="color",
        held_out=frozenset(held_out),
        vocabulary=VOCABULARY,
    )


def describe(*objects: str, relations: Sequence[tuple[int, str, int]] = ()) -> Description:
    """A description of objects such as "cube red"."""
    return Description(
        tuple(DescribedObject(*parts_of(words)) for words in objects),
        tuple(DescribedRelation(*fact) for fact in relations),
    )


def moved(description: Description, order: Sequence[int]) -> Description:
    """The same description with its objects in another order."""
    new_place: Mapping[int, int] = {old: new for new, old in enumerate(order)}
    return Description(
        tuple(description.objects[old] for old in order),
        tuple(
            DescribedRelation(
                new_place[relation.subject], relation.relation, new_place[relation.target]
            )
            for relation in description.relations
        ),
    )
