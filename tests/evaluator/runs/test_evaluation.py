"""What `evaluate` returns: numbers for programs, tables for people."""

from pathlib import Path

import pytest

from evaluator import Evaluation, evaluate
from generator.base.errors import UserError
from tests.evaluator.conftest import score_command


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


def test_a_notebook_shows_the_table_and_names_as_they_are(bags: None, drawn: Path) -> None:
    from tests.evaluator.encoders import Sharp, captions_by_image

    found = evaluate(Sharp(captions_by_image(drawn)), drawn, name="<b>mine</b>", limit=1, protocols="binary")
    shown = found._repr_html_()
    assert "&lt;b&gt;mine&lt;/b&gt; on" in shown
    assert "<b>" not in shown
    assert shown.count("<table") == 1
    for part in ("(limit 1)", "The limit of 1 items left", "is unknown", "100.0 ["):
        assert part in shown
        assert part in repr(found)
