"""Pull requests to lmms-eval and VLMEvalKit: their files agree with one another and with the
questions for the Hub."""

import ast
import csv
import hashlib
import json
import runpy
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.exports.pull_request import find_datasets
from generator.exports.questions import QuestionSet
from tests.conftest import refuse, succeed
from tests.generator.ladders import write_ladder

csv.field_size_limit(sys.maxsize)


@pytest.fixture(scope="module")
def suite(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of `gen suite`, with two worlds."""
    root = tmp_path_factory.mktemp("suite") / "suite"
    shutil.copytree(rendered, root / "bind" / "animals")
    write_ladder(root / "zero-shot" / "animals", "contrast", scenes=2)
    (root / "suite.json").write_text("{}")
    return root


class Functions(yaml.SafeLoader):
    """Reads `!function utils.NAME` as its name."""


Functions.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def export(suite: Path, tool: str, out: Path) -> Path:
    succeed(
        "gen export pull-request",
        suite,
        *("--tool", tool, "--name", "Jackalope 1", "--hub", "ada/jackalope-1", "--out", out),
    )
    return out


def test_lmms_eval_gets_a_group_whose_tasks_load_their_questions(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    out = export(suite, "lmms-eval", tmp_path / "pr")
    folder = out / "lmms_eval" / "tasks" / "jackalope_1"
    group = yaml.safe_load((folder / "jackalope_1.yaml").read_text())
    assert group["group"] == "jackalope_1"
    files = {path.stem for path in folder.glob("*.yaml")} - {"jackalope_1"}
    assert set(group["task"]) == files
    functions = runpy.run_path(str(folder / "utils.py"))
    n_questions = 0
    for name in group["task"]:
        task = yaml.load((folder / f"{name}.yaml").read_text(), Functions)
        assert (task["task"], task["dataset_path"]) == (name, "ada/jackalope-1")
        loaded = datasets.load_dataset(
            str(out / "hub"),
            task["dataset_name"],
            split=task["test_split"],
            cache_dir=str(tmp_path / "cache"),
        )
        n_questions += len(loaded)
        doc = loaded[0]
        assert len(functions["doc_to_visual"](doc)) == len(doc["scenes"])
        assert functions["doc_to_text"](doc) == doc["prompt"]
        metrics = [metric["metric"] for metric in task["metric_list"]]
        results = functions["process_results"](doc, [doc["answer"]])
        assert set(metrics) <= set(results)
        for metric in task["metric_list"]:
            aggregate = functions[metric["aggregation"].removeprefix("utils.")]
            assert aggregate([results[metric["metric"]]]) is not None
    expected = 0
    for root in find_datasets([suite]).values():
        dataset = Dataset.open(root)
        expected += len(QuestionSet(dataset, dataset.benchmark()).rows())
    assert n_questions == expected


def test_vlmevalkit_gets_a_class_that_names_each_table(suite: Path, tmp_path: Path) -> None:
    out = export(suite, "vlmevalkit", tmp_path / "pr")
    tree = ast.parse((out / "vlmeval" / "dataset" / "jackalope_1.py").read_text())
    (node,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    assert (node.name, ast.unparse(node.bases[0])) == ("Jackalope1", "ImageMCQDataset")
    values = {
        ast.unparse(statement.targets[0]): ast.literal_eval(statement.value)
        for statement in node.body
        if isinstance(statement, ast.Assign)
    }
    tables = {path.stem: path for path in (out / "hub").glob("*.tsv")}
    assert set(values["DATASET_URL"]) == set(values["DATASET_MD5"]) == set(tables)
    assert len(tables) == 2
    assert {name.split("_")[1] for name in tables} == {"bind", "zero"}
    for name, path in tables.items():
        assert values["DATASET_URL"][name].endswith(f"ada/jackalope-1/resolve/main/{path.name}")
        assert values["DATASET_MD5"][name] == hashlib.md5(path.read_bytes()).hexdigest()
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        assert {"index", "image", "question", "answer", "A", "B"} <= set(rows[0])
    assert "from .jackalope_1 import Jackalope1" in (out / "README.md").read_text()


def test_benchmarks_without_questions_are_left_out_or_refused(
    rendered: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(rendered, copy)
    succeed("gen describe", copy, "--protocol", "retrieval", "--name", "only")
    arguments = ("--tool", "vlmevalkit", "--name", "x", "--hub", "a/b")
    succeed("gen export pull-request", copy, *arguments, "--out", tmp_path / "pr")
    assert len([*(tmp_path / "pr" / "hub").glob("*.tsv")]) == 1
    for folder in (copy / "benchmarks").iterdir():
        if folder.name != "only":
            shutil.rmtree(folder)
    refuse(
        "no benchmark has questions in words",
        *("gen export pull-request", copy, *arguments, "--out", tmp_path / "out"),
    )


def test_datasets_of_one_name_are_refused(suite: Path) -> None:
    with pytest.raises(UserError, match="have the same name"):
        find_datasets([suite / "bind" / "animals", suite / "zero-shot" / "animals"])


def test_a_suite_without_worlds_is_refused(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "suite.json").write_text(json.dumps({}))
    refuse(
        "has no finished world",
        *("gen export pull-request", tmp_path / "suite", "--tool", "lmms-eval"),
        *("--name", "x", "--hub", "a/b", "--out", tmp_path / "out"),
    )
