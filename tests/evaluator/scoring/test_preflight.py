"""What is said before a run."""

from dataclasses import replace
from typing import Any

from evaluator.scoring.score import describe_cost, describe_limits
from tests.evaluator.needs import needs_of
from tests.evaluator.scorers import Reader, TorchBag

NEEDS = needs_of([("a", "s"), ("a", "t")], {"grid": (["a", "b"], ["t", "u"])})


def test_passes_are_counted_by_kind_of_model() -> None:
    bag: Any = TorchBag()
    assert describe_cost(Reader(), NEEDS).startswith(
        "5 pairs of image and text to score, 3 forward passes each (15 forward passes,"
    )
    assert describe_cost(bag, NEEDS).startswith("2 images and 3 texts to encode, each once (5 forward passes,")


def test_what_is_not_asked_is_said_with_its_option() -> None:
    assert describe_limits(NEEDS) == []
    sampled, left_out = describe_limits(replace(NEEDS, sampled={"grid": 99}, left_out=("systematicity",)))
    assert "'grid' is sampled" in sampled
    assert "'systematicity' is left out" in left_out
    assert all("--full-pools" in said for said in (sampled, left_out))
