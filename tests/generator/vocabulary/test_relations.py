"""Relations: their converses, opposites, margins and distances fit together."""

import pytest
from pydantic import ValidationError

from generator.vocabulary.relations import Relation, check_relations
from generator.vocabulary.schema import read_vocabulary

LEFT = Relation(phrase="left of", converse="right", opposite="right", rule="left", margin=0.2)
RIGHT = Relation(phrase="right of", converse="left", opposite="left", rule="right", margin=0.2)
NEAR = Relation(phrase="near", converse="near", opposite="far", rule="near", margin=0.2, distance=2)
FAR = Relation(phrase="far from", converse="far", opposite="near", rule="far", margin=0.2, distance=2)


@pytest.mark.parametrize("family", ["clevr", "clevr-relations"])
def test_shipped_relations_fit_together(family: str) -> None:
    check_relations(read_vocabulary(family).relations)


def test_an_unknown_rule_is_suggested() -> None:
    with pytest.raises(ValidationError, match="unknown rule 'lef'; did you mean 'left'"):
        Relation(phrase="left of", converse="right", opposite="right", rule="lef", margin=0.2)


@pytest.mark.parametrize(
    ("relations", "message"),
    [
        ({"left": LEFT}, "converse 'right', which is not declared"),
        ({"left": LEFT, "right": RIGHT.model_copy(update={"margin": 0.3})}, "differ in margin or distance"),
        ({"near": NEAR.model_copy(update={"distance": None}), "far": FAR.model_copy(update={"distance": None})}, "the rules near and far need a distance"),
        ({"near": NEAR, "far": FAR.model_copy(update={"rule": "near"})}, "the opposite of the rule 'near' is 'far'"),
        ({"left": LEFT, "right": RIGHT.model_copy(update={"converse": "right"})}, "whose converse is 'right'"),
    ],
)  # fmt: skip
def test_mistakes_are_named(relations: dict[str, Relation], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_relations(relations)
