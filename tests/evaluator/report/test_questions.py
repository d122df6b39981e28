"""The questions beyond the verdict: each row belongs to one, and each sentence says its numbers."""

import pytest

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.errors import BY_ATOM, BY_FAMILIARITY
from evaluator.report.questions import QUESTIONS, answers_of
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.report.conftest import GAP, ROW
from tests.evaluator.synthetic import Row

UNSEEN: Row = {"split": "unseen", "low": 0.2, "high": 0.4}


def sentences_of(*rows: Row) -> dict[str, str]:
    """{name of the question: its sentence} of an entry with these rows."""
    run = {**made_run(), "held_out": "gray cube", "rows": [{**ROW, **row} for row in rows]}
    (entry,) = pool_runs([run])
    return {question.name: sentence for question, sentence, _ in answers_of(entry)}


def test_every_row_of_every_protocol_belongs_to_one_question(results: Row) -> None:
    owners = {
        (row["metric"], row["error"], row["n"] is None): [
            question.name for question in QUESTIONS if question.owns(row)
        ]
        for row in results["rows"]
    }
    assert len(owners) > 20
    assert {key: names for key, names in owners.items() if len(names) != 1} == {}
    assert {name for names in owners.values() for name in names} >= {
        "split",
        "errors",
        "rewording",
        "complexity",
        "rules",
    }


def test_each_question_on_real_rows_has_a_sentence_with_a_number(results: Row) -> None:
    (entry,) = pool_runs([results])
    for question, sentence, lines in answers_of(entry):
        assert lines
        assert sentence.endswith("."), question.name
        assert any(letter.isdigit() for letter in sentence), question.name
        assert "None" not in sentence


def test_tasks_say_what_each_does() -> None:
    seen = {"value": 0.9, "low": 0.85, "high": 0.95}
    fall = {**GAP, "value": 0.6, "low": 0.5, "high": 0.7}
    chance = {"protocol": "pairs", "metric": "text", "chance": 0.5}
    sentences = sentences_of(
        seen,
        {**UNSEEN, "value": 0.3},
        fall,
        {**chance},
        {**chance, **UNSEEN, "value": 0.25},
        {**chance, **GAP, "value": 0.25},
    )
    assert sentences["split"] == (
        "accuracy (binary) falls from 90.0% to 30.0%; text (pairs) is at chance on seen (seen "
        "50.0%, unseen 25.0%)."
    )


def test_many_tasks_are_counted() -> None:
    rows = []
    for kind in ("a", "b", "c", "d"):
        rows += [
            {"kind": kind, "value": 0.9, "low": 0.85, "high": 0.95},
            {**UNSEEN, "kind": kind, "value": 0.3},
            {**GAP, "kind": kind, "value": 0.6, "low": 0.5, "high": 0.7},
        ]
    rows[-1] = {**rows[-1], "low": -0.1}
    assert sentences_of(*rows)["split"] == (
        "Of 4 main measures from seen to unseen combinations, 3 fall, 1 is open."
    )


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [(0.6, 0.8, "Yes"), (0.4, 0.8, "Not shown"), (0.1, 0.4, "No, less than random texts would")],
)
def test_familiarity_of_errors_is_shown_only_outside_the_interval(
    low: float, high: float, answer: str
) -> None:
    row = {
        "metric": BY_FAMILIARITY,
        "error": "more familiar",
        "is_main": False,
        "split": "unseen",
        "value": 0.7,
        "low": low,
        "high": high,
    }
    assert sentences_of(row)["familiar"].startswith(
        f"{answer}: 70.0% of wrong answers on unseen combinations name a text that is more familiar"
    )


def test_the_most_frequent_error_on_unseen_is_named() -> None:
    error = {"metric": BY_ATOM, "is_main": False, "value": 0.2, "chance": 0.1}
    sentences = sentences_of(
        {**error, "error": "binding", "value": 0.9},
        {**error, "error": "binding", "split": "unseen"},
        {**error, "error": "attribute and object", "split": "unseen", "value": 0.6},
    )
    assert sentences["errors"] == (
        "60.0% of wrong answers on unseen combinations name a wrong attribute and a wrong object "
        "(by chance: 10.0%)."
    )
