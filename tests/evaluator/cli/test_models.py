"""`score models`: every family is listed with its usage."""

import json

from evaluator.models.registry import FAMILIES
from tests.evaluator.conftest import score_command


def test_families_are_listed() -> None:
    assert set(json.loads(score_command("models", "--json").stdout)["families"]) == set(FAMILIES)
    assert all(usage.usage in score_command("models").stdout for usage in FAMILIES.values())
