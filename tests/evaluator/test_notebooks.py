"""What notebooks show of an evaluation and of a dataset: the table, the drawing, a row of images;
and its table for programs."""

import base64
import io
import re
from pathlib import Path

import altair
import pytest
from PIL import Image

from evaluator.api import Evaluation, evaluate
from evaluator.runs.dataset import Dataset
from generator.base.errors import UserError
from tests.evaluator.conftest import score_command
from tests.evaluator.encoders import Sharp, WordBag, captions_by_image


@pytest.fixture
def evaluation(drawn: Path, tmp_path: Path) -> Evaluation:
    """Of a model without word order, which is wrong on every swap."""
    return evaluate(
        WordBag(captions_by_image(drawn)),
        drawn,
        out=tmp_path / "run",
        name="<bag>",
        protocols="binary",
    )


def images_of(text: str) -> list[Image.Image]:
    return [
        Image.open(io.BytesIO(base64.b64decode(data)))
        for data in re.findall('base64,([^"]+)', text)
    ]


def test_an_evaluation_shows_its_table_the_gap_and_failures(
    evaluation: Evaluation, drawn: Path
) -> None:
    html = evaluation._repr_html_()
    assert "&lt;bag&gt;" in html
    assert "<bag>" not in html
    assert (html.count("<table"), html.count("<svg"), html.count("<img")) == (1, 1, 4)
    assert {image.size for image in images_of(html)} == {(64, 64)}
    texts = {text for text, true in _texts(drawn) if not true}
    assert all(alt in texts for alt in re.findall('alt="([^"]+)"', html))


def _texts(drawn: Path) -> list[tuple[str, bool]]:
    dataset = Dataset.open(drawn, protocols="binary")
    return [
        pair
        for i in range(len(dataset))
        for pair in zip(dataset[i]["texts"], dataset[i]["truth"], strict=True)
    ]


def test_a_figure_is_a_chart_that_altair_knows(evaluation: Evaluation) -> None:
    chart = evaluation.figure("gap")
    assert isinstance(chart, altair.ConcatChart)
    (values,) = chart.to_dict()["datasets"].values()
    rows = [
        row
        for row in evaluation.results["rows"]
        if row["is_main"] and not row["is_gap"] and row["split"] != "val"
    ]
    assert {bar["value"] for bar in values} <= {round(100 * row["value"], 4) for row in rows}
    with pytest.raises(UserError, match="has no figure 'gpa'; did you mean 'gap'"):
        evaluation.figure("gpa")


def test_a_dataset_shows_its_questions_by_split_and_images(drawn: Path) -> None:
    dataset = Dataset.open(drawn)
    html = dataset._repr_html_()
    assert "questions&gt;" in html
    assert html.count("<img") == 4
    assert {"binary", "retrieval", "unseen"} <= set(re.findall(r">(\w+)</t[hd]>", html))
    true = {dataset[i]["texts"][dataset[i]["truth"].index(True)] for i in range(len(dataset))}
    assert all(alt in true for alt in re.findall('alt="([^"]+)"', html))


@pytest.fixture
def binding_evaluation(bags: None, drawn: Path, tmp_path: Path) -> Evaluation:
    """Everything that a model that binds got."""
    return evaluate(f"bag:sharp@{drawn}", drawn, out=tmp_path / "run")


def test_the_table_is_the_one_that_the_command_prints(binding_evaluation: Evaluation) -> None:
    printed = score_command("measure", binding_evaluation.folder).stdout
    table = binding_evaluation.table("binary")
    assert set(table["protocol"]) == {"binary"}
    assert {"seen %", "partial %", "unseen %", "chance %", "items"} <= set(table.columns)
    line = next(line for line in printed.splitlines() if line.strip().startswith("binary"))
    assert table["items"][0] in line.split()
    assert table["seen %"][0].startswith("100.0 [")
    assert set(binding_evaluation.table()["protocol"]) == {"binary", "retrieval"}
    with pytest.raises(UserError, match=r"has no protocol 'binery'; did you mean 'binary'\?"):
        binding_evaluation.table("binery")


def test_a_limit_and_unknown_training_are_shown(drawn: Path) -> None:
    limited = evaluate(Sharp(captions_by_image(drawn)), drawn, limit=1, protocols="binary")
    for text in (limited._repr_html_(), repr(limited)):
        assert all(
            part in text
            for part in ("(limit 1)", "The limit of 1 items left", "is unknown", "100.0 [")
        )
