"""Tasks for mteb: their file and their questions; with mteb installed, mteb itself runs them on a
model that knows the truth."""

import ast
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

from generator.dataset.mteb_tasks import MTEB_TASKS, task_name
from generator.dataset.reader import Dataset
from tests.conftest import refuse, succeed

TITLE = 'Ada: "small"'


@pytest.fixture(scope="module")
def exported(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mteb") / "mteb"
    about = ("--title", TITLE, "--licence", "CC-BY-4.0", "--revision", "0a1b2c3")
    succeed("gen export mteb", rendered, *about, "--hub", "ada/small", "--out", out)
    return out


def test_each_row_has_a_true_text_at_the_place_of_each_image(
    rendered: Path, exported: Path
) -> None:
    benchmark = Dataset.open(rendered).benchmark()
    truth_of = {}
    for row in benchmark.candidates.to_pylist():
        truth_of[row["scene_id"], benchmark.text_of[row["text_id"]]] = row["truth"]
    n_rows = 0
    for task in MTEB_TASKS:
        for path in (exported / "data").glob(f"{task.protocol}-*/*.parquet"):
            for row in pq.read_table(path).to_pylist():
                n_rows += 1
                for i, image in enumerate(task.images):
                    scene = row[image]["path"].removesuffix(".png")
                    truths = [truth_of[scene, row[text]] for text in task.texts]
                    assert truths == [j == i for j in range(len(task.texts))]
    items = benchmark.items.to_pylist()
    assert n_rows == sum(item["protocol"] in ("binary", "pairs") for item in items) > 0


def test_the_file_declares_each_task(exported: Path) -> None:
    tree = ast.parse((exported / "jackalope_tasks.py").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert set(classes) == {
        task_name(TITLE, "binary", "swap"),
        task_name(TITLE, "pairs", "attribute"),
    }
    for node in classes.values():
        (call,) = (
            statement.value
            for statement in node.body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
        )
        fields = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        assert fields["name"] == node.name
        assert fields["type"] == "Compositionality"
        assert fields["dataset"]["path"] == "ada/small"
        folder = exported / "data" / fields["dataset"]["name"]
        assert sorted(path.stem for path in folder.iterdir()) == sorted(fields["eval_splits"])
        assert fields["license"] == "cc-by-4.0"


def test_a_benchmark_without_such_items_is_refused(rendered: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(rendered, copy)
    succeed("gen describe", copy, "--protocol", "retrieval", "--name", "only")
    refuse(
        "has no items of pairs, binary, steps",
        *(
            "gen export mteb",
            copy,
            "--benchmark",
            "only",
            "--hub",
            "a/b",
            "--out",
            tmp_path / "out",
        ),
    )


def tasks_of(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("jackalope_tasks", folder / "jackalope_tasks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mteb_runs_the_tasks(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mteb", reason="mteb is not a dependency; run this in an environment of it")
    import datasets
    import numpy as np

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for task_class in tasks_of(exported).TASKS:
        task = task_class()
        config = task.metadata.dataset["name"]
        loaded = datasets.load_dataset(str(exported), config, cache_dir=str(tmp_path / "cache"))
        assert set(loaded) == set(task.metadata.eval_splits)
        columns = [task.images_column_names, task.texts_column_names]
        names = [[names] if isinstance(names, str) else names for names in columns]
        assert set(loaded["unseen"].column_names) == {*names[0], *names[1]}
        # A score table whose diagonal wins is right.
        import torch

        n_images, n_texts = len(names[0]), len(names[1])
        scores = [torch.tensor(np.eye(n_images, n_texts)) for _ in range(3)]
        metrics = task._compute_metrics(scores, n_images, n_texts)
        assert metrics[task.metadata.main_score] == 1.0
        assert json.dumps(metrics)
