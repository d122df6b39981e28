"""What `evaluate` returns: numbers for programs, tables for people."""

from pathlib import Path

import pytest

from evaluator import Evaluation, evaluate
from generator.base.errors import UserError
from tests.evaluator.conftest import score_command
from tests.evaluator.encoders import Sharp, captions_by_image


@pytest.fixture
def found(bags: None, drawn: Path, tmp_path: Path) -> Evaluation:
    """Everything that a model that binds got."""
    return evaluate(f"bag:sharp@{drawn}", drawn, out=tmp_path / "run")


def test_the_table_is_the_one_that_the_command_prints(found: Evaluation) -> None:
    printed = score_command("measure", found.folder).stdout
    table = found.table("binary")
    assert set(table["protocol"]) == {"binary"}
    assert {"seen %", "partial %", "unseen %", "chance %", "items"} <= set(table.columns)
    line = next(line for line in printed.splitlines() if line.strip().startswith("binary"))
    assert table["items"][0] in line.split()
    assert table["seen %"][0].startswith("100.0 [")
    assert set(found.table()["protocol"]) == {"binary", "retrieval"}
    with pytest.raises(UserError, match=r"has no protocol 'binery'; did you mean 'binary'\?"):
        found.table("binery")


def test_a_limit_and_unknown_training_are_shown(drawn: Path) -> None:
    found = evaluate(Sharp(captions_by_image(drawn)), drawn, limit=1, protocols="binary")
    for shown in (found._repr_html_(), repr(found)):
        assert all(part in shown for part in ("(limit 1)", "The limit of 1 items left", "is unknown", "100.0 ["))
