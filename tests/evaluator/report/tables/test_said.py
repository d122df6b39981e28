"""What is said below a table."""

from evaluator.report.tables.said import marks_of, notes_of
from evaluator.report.tables.table import Cell
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.report.tables.test_cells import ROW
from tests.evaluator.synthetic import Row

CONTAMINATED = {"status": "contaminated", "overlaps": ["x"], "said": "CONTAMINATED: x were in training."}


def _cell(**changes: object) -> Cell:
    entry: Row = {**made_run(), "runs": 1, "blocks": 1, **changes}
    return Cell("50.0", numbers=ROW, of=entry)


def test_models_are_named_where_what_is_said_differs() -> None:
    said = notes_of([_cell(model="a", certificate="clean"), _cell(model="b", certificate="not verified"), Cell("x")])
    assert "Datasets: clean (a); not verified (b)." in said
    assert said[0].startswith("In %, differences in points, 95% intervals of bindings like these.")
    assert notes_of([_cell(model="a"), _cell(model="b")])[1] == "Datasets: clean."


def test_runs_limits_and_unknown_training_are_said() -> None:
    rules = {"level": 0.95, "tie_tolerance": 1e-5, "limit": 9}
    said = " ".join(notes_of([_cell(model="a", runs=6, blocks=3, rules=rules)]))
    assert "Pooled: 6 runs over 3 blocks." in said
    assert "a: at most 9 items of a protocol." in said
    assert "What they were trained on is unknown: a." in said
    assert notes_of([Cell(reason="no run")]) == []


def test_a_contaminated_model_marks_the_table() -> None:
    assert marks_of([_cell(model="a")]) == ""
    assert "CONTAMINATED" in marks_of([_cell(model="a", training=CONTAMINATED), _cell(model="b")])
