"""What is said of how a benchmark was read."""

from evaluator.benchmarks.as_read import reading_said


def test_filters_exclusions_and_versions_are_said() -> None:
    reading = {
        "filters": {"first": "5", "present": "yes"},
        "excluded": {"no image": 1200, "no text": 1},
        "versions": ["a.json is old."],
    }
    assert reading_said(reading) == [
        "Filters: first=5, present.",
        "Left out: 1,200: no image; 1: no text.",
        "a.json is old.",
    ]
    assert reading_said({}) == []
