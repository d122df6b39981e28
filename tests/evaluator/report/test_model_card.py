"""Results as the metadata of a model card, read again by Hugging Face's own reader."""

from pathlib import Path

import pytest
from huggingface_hub import ModelCard, parse_eval_result_entries
from yaml import safe_load

from evaluator import evaluate
from evaluator.report.files import write_hub, write_model_card
from generator.base.errors import UserError
from tests.conftest import succeed as succeed_gen
from tests.evaluator.conftest import assert_one_sentence, score_command, succeed
from tests.evaluator.report.conftest import ROW
from tests.evaluator.synthetic import Row


def _entry(*rows: Row, model: str = "a", benchmark: str = "b") -> Row:
    of = {"model": model, "benchmark": benchmark, "rules": {"level": 0.9}}
    return {
        **of,
        "factors": {"model": model, "treatment": {}},
        "rows": [{**ROW, **row} for row in rows],
    }


def test_the_values_of_a_run(bags: None, drawn: Path, tmp_path: Path) -> None:
    """Each main metric and split, with interval, chance and items, as results.json has them."""
    card, run = tmp_path / "repository" / "README.md", tmp_path / "run"
    results = evaluate(
        f"bag:sharp@{drawn}", drawn, protocols=["binary", "retrieval"], limit=9, out=run
    ).results
    done = succeed("report", run, "--hub", card.parent, "--hub-dataset", "me/mine")
    assert f"Results for the Hub are in {card}" in done.stderr
    read = ModelCard.load(card)
    assert read.data.model_name == f"bag:sharp@{drawn}"
    assert read.data.eval_results is not None
    named = {
        (value.dataset_config, value.dataset_split, value.metric_name): value
        for value in read.data.eval_results
    }
    expected = {
        (row["protocol"], row["split"], row["metric"]): row
        for row in results["rows"]
        if row["metric"] in ("accuracy", "R@1")
        and row["kind"] is None
        and row["n"] is None
        and row["unit"] == "share"
    }
    assert set(expected) <= set(named)
    for key, row in expected.items():
        value = named[key]
        assert value.metric_value == row["value"]
        assert value.dataset_name.endswith("(limit 9)")
        assert value.metric_args["interval_level"] == 0.95
        for name in ("low", "high", "chance", "items"):
            assert value.metric_args[name] == row[name]
    entries = parse_eval_result_entries(
        safe_load((card.parent / ".eval_results" / "mine.yaml").read_text())
    )
    assert {entry.dataset_id for entry in entries} == {"me/mine"}
    # The tasks are those that eval.yaml of the dataset declares, and none of other protocols.
    export = tmp_path / "export"
    succeed_gen("gen export hf", drawn, "--out", export)
    declared = {task["id"] for task in safe_load((export / "eval.yaml").read_text())["tasks"]}
    by_task = {entry.task_id: entry.value for entry in entries}
    assert len(by_task) == len(entries) > 0
    assert by_task.keys() <= declared
    for row in results["rows"]:
        is_of_kind = row["kind"] is not None and not row["is_gap"] and row["value"] is not None
        if (row["protocol"], row["metric"]) == ("binary", "accuracy") and is_of_kind:
            assert by_task[f"binary-{row['kind']}-{row['split']}"] == row["value"]


def test_a_card_keeps_its_text_and_other_results(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("---\nlicense: mit\ntags:\n- mine\n---\n# My model\n\nAs it is.\n")
    other = {**_entry({"value": 0.1}, benchmark="other"), "model": "a, world width 96"}
    assert write_model_card([_entry({"value": 0.5}), other], path) == 2
    assert write_model_card([_entry({"value": 0.7})], path) == 1
    card = ModelCard.load(path)
    assert (card.data.license, card.data.tags, card.data.model_name) == ("mit", ["mine"], "a")
    assert "# My model\n\nAs it is." in card.text
    assert card.data.eval_results is not None
    assert {value.dataset_name: value.metric_value for value in card.data.eval_results} == {
        "b": 0.7,
        "other": 0.1,
    }


def test_differences_and_missing_values_are_left_out(tmp_path: Path) -> None:
    entry = _entry(
        {"split": "seen - unseen", "unit": "difference"},
        {"value": None},
        {"split": "unseen", "value": 0.2},
    )
    assert write_model_card([entry], tmp_path / "card.md") == 1


def test_one_sentence(bags: None, drawn: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Expected runs of one model for a model card, got a, c"):
        write_model_card([_entry({}), _entry({}, model="c")], tmp_path / "README.md")
    with pytest.raises(
        UserError, match="takes the results of one benchmark, got b, c; give the runs of one"
    ):
        write_hub([_entry({}), _entry({}, benchmark="c")], tmp_path / "hub", "me/mine")
    assert not [*tmp_path.iterdir()]
    evaluate(f"bag:sharp@{drawn}", drawn, protocols="binary", limit=2, out=tmp_path / "run")
    card, to_hub = tmp_path / "README.md", ("report", tmp_path / "run", "--hub", tmp_path)
    for text in ("---\na: [\n---\n", "---\nmodel-index: 3\n---\n"):
        card.write_text(text)
        assert_one_sentence(score_command(*to_hub), "is not a model card with readable metadata")
        assert card.read_text() == text
    card.write_text("no metadata")
    succeed(*to_hub)
    assert "no metadata" in card.read_text()
    command = ("report", tmp_path / "run", "--hub-dataset")
    assert_one_sentence(score_command(*command, "x", "--hub", tmp_path), "OWNER/NAME")


def test_results_without_a_task_of_the_hub_are_refused(tmp_path: Path) -> None:
    entry = _entry({"protocol": "retrieval", "metric": "R@1", "value": 0.2})
    with pytest.raises(UserError, match="declares tasks for the protocols binary and steps"):
        write_hub([entry], tmp_path / "hub", "me/mine")
    assert not [*tmp_path.iterdir()]
