"""eval.yaml of an export for the Hub: its fields are those that Inspect's loader takes, and its
tasks name questions that are there."""

import base64
import io
from collections import Counter
from pathlib import Path

import pytest
import yaml
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field

from generator.dataset.hub_tasks import task_id
from generator.dataset.reader import Dataset
from generator.exports.huggingface import Publication, export_hf
from tests.conftest import succeed
from tests.generator.ladders import write_ladder


class FieldSpec(BaseModel):
    """The fields of a record; as in Inspect 0.3.285, where others are refused."""

    model_config = ConfigDict(extra="forbid")
    input: str
    target: str
    choices: str
    input_image: str


class Step(BaseModel):
    """A solver or a scorer by its name."""

    name: str
    args: dict[str, object] = {}


class Task(BaseModel):
    """A task of eval.yaml (https://huggingface.co/docs/hub/eval-results, "Eval.yaml
    specification"; HFTask of Inspect 0.3.285)."""

    model_config = ConfigDict(extra="forbid")
    id: str
    config: str
    split: str
    field_spec: FieldSpec
    solvers: list[Step] = Field(min_length=1)
    scorers: list[Step] = Field(min_length=1)


class Declaration(BaseModel):
    """eval.yaml."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1)
    description: str = Field(min_length=1)
    evaluation_framework: str = Field(pattern="^inspect-ai$")
    tasks: list[Task] = Field(min_length=1)


@pytest.fixture(scope="module")
def exported(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tasks") / "hf"
    succeed("gen export hf", rendered, "--title", 'Ada: "small"', "--out", out)
    return out


def read(folder: Path) -> Declaration:
    return Declaration.model_validate(yaml.safe_load((folder / "eval.yaml").read_text()))


def test_the_tasks_are_the_kinds_and_splits_of_two_captions(rendered: Path, exported: Path) -> None:
    declaration = read(exported)
    assert declaration.name == 'Ada: "small"'
    ids = [task.id for task in declaration.tasks]
    assert len(set(ids)) == len(ids)
    expected = set()
    for row in Dataset.open(rendered).benchmark().items.to_pylist():
        if row["protocol"] == "binary":
            expected.add(task_id("binary", row["kind"], row["split"]))
    assert set(ids) == expected
    for task in declaration.tasks:
        assert [step.name for step in (*task.solvers, *task.scorers)] == [
            "multiple_choice",
            "choice",
        ]


def test_the_questions_of_a_task_are_asked_in_both_orders(
    rendered: Path, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    dataset = Dataset.open(rendered)
    benchmark = dataset.benchmark()
    rows_of_item = {}
    for row in benchmark.candidates.to_pylist():
        rows_of_item.setdefault(row["item_id"], []).append(row)
    task = next(task for task in read(exported).tasks if task.split == "unseen")
    loaded = datasets.load_dataset(
        str(exported), task.config, split=task.split, cache_dir=str(tmp_path / "cache")
    )
    targets: Counter[str] = Counter()
    for row in loaded:
        item = row["id"].partition(".")[0]
        (true,) = (cell for cell in rows_of_item[item] if cell["truth"])
        choice = row[task.field_spec.choices]["AB".index(row[task.field_spec.target])]
        assert choice == benchmark.text_of[true["text_id"]]
        assert len(row[task.field_spec.choices]) == 2
        targets[row[task.field_spec.target]] += 1
        scheme, _, data = row[task.field_spec.input_image].partition(",")
        assert scheme == "data:image/png;base64"
        image = Image.open(io.BytesIO(base64.b64decode(data)))
        assert image.tobytes() == dataset.world.image(true["scene_id"]).tobytes()
    assert targets["A"] == targets["B"] > 0


def test_a_ladder_has_a_task_for_each_step(tmp_path: Path) -> None:
    dataset = write_ladder(tmp_path / "ladder", "contrast", scenes=2)
    benchmark = dataset.benchmark()
    export_hf(dataset, benchmark, about=Publication("Ladder"), out=tmp_path / "hf")
    tasks = read(tmp_path / "hf").tasks
    assert sorted(task.id for task in tasks) == [
        f"steps-contrast-{magnitude}-all" for magnitude in ("0.125", "0.25", "0.5", "1")
    ]
