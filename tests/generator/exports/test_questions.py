"""Questions for other tools: right answers, letters in balance, images as they are, and files in
the tools' forms."""

import ast
import base64
import csv
import json
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from generator.dataset import answer_reader
from generator.dataset.answer_reader import read_choice, read_yes_no
from generator.dataset.reader import Dataset
from generator.exports.question_scores import error_of, result_of, share_of
from generator.exports.questions import QuestionSet
from tests.conftest import refuse, succeed
from tests.generator.dataset.answer_table import CAPTIONS, REASONS, TABLE, label_of

csv.field_size_limit(sys.maxsize)


def exported(dataset: Path, tool: str, out: Path, *more: str) -> Path:
    succeed("gen export", tool, dataset, "--out", out, *more)
    return out


def lines(folder: Path, name: str = "questions.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def captions(dataset: Path) -> dict[str, dict[str, bool]]:
    """The truth of each item's texts, by their words, from the tables alone."""
    benchmark = Dataset.open(dataset).benchmark()
    truth_of_caption: dict[str, dict[str, bool]] = {}
    for row in benchmark.candidates.to_pylist():
        truth_of_caption.setdefault(row["item_id"], {})[benchmark.text_of[row["text_id"]]] = row[
            "truth"
        ]
    return truth_of_caption


@pytest.mark.parametrize("tool", ["lmms-eval", "inspect"])
def test_each_item_is_asked_in_both_orders_and_each_letter_is_right_as_often(
    rendered: Path, tmp_path: Path, tool: str
) -> None:
    out = exported(rendered, tool, tmp_path / "out", "--protocol", "binary")
    names = (
        ["questions.jsonl"]
        if tool == "inspect"
        else [path.name for path in sorted(out.glob("*.jsonl"))]
    )
    rows, truth = [row for name in names for row in lines(out, name)], captions(rendered)
    items = Dataset.open(rendered).benchmark().items_of("binary")
    assert Counter(row["item"] for row in rows) == dict.fromkeys(items["item_id"].to_pylist(), 2)
    assert Counter(row["answer"] for row in rows) == {"A": len(items), "B": len(items)}
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert [truth[row["item"]][option] for option in row["options"]] == [
            row["answer"] == letter for letter in "AB"
        ]
    world = Dataset.open(rendered).world
    for row in rows[::29]:
        (scene,) = row["scenes"]
        assert (out / "images" / f"{scene}.png").read_bytes() == world.read(f"images/{scene}.png")


def test_one_order_favours_no_letter_by_much_and_yes_or_no_asks_every_caption(
    rendered: Path, tmp_path: Path
) -> None:
    rows = lines(
        exported(rendered, "inspect", tmp_path / "one", "--protocol", "binary", "--orders", "1")
    )
    counts = Counter(row["answer"] for row in rows)
    assert set(counts) == {"A", "B"}
    assert abs(counts["A"] - counts["B"]) < 4 * len(rows) ** 0.5
    truth = captions(rendered)
    yes_no_rows = lines(
        exported(rendered, "inspect", tmp_path / "yn", "--protocol", "binary", "--form", "yes-no")
    )
    assert len(yes_no_rows) == 2 * len(rows)
    for row in yes_no_rows:
        caption = row["question"].split('"')[1]
        assert (row["options"], row["answer"]) == (
            [],
            "yes" if truth[row["item"]][caption] else "no",
        )


@pytest.fixture(scope="module")
def task(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unseen split for lmms-eval."""
    return exported(
        rendered, "lmms-eval", tmp_path_factory.mktemp("lmms-eval") / "out", "--split", "unseen"
    )


@pytest.fixture(scope="module")
def functions(task: Path) -> dict[str, Any]:
    """What utils.py of the task defines."""
    return runpy.run_path(str(task / "utils.py"))


def test_lmms_eval_gets_a_group_of_tasks_by_protocol_and_split(
    task: Path, functions: dict[str, Any]
) -> None:
    yaml.add_constructor("!function", lambda loader, node: node.value, yaml.SafeLoader)
    files = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in task.glob("*.yaml")
    }
    (group,) = [name for name, content in files.items() if "group" in content]
    assert set(files[group]) == {"group", "task"}  # lmms-eval averages errors where it aggregates
    assert files[group]["group"] == group
    assert set(files[group]["task"]) == set(files) - {group}
    for name in files[group]["task"]:
        content = files[name]
        assert (content["task"], content["dataset_kwargs"]) == (
            name,
            {"data_files": {"test": f"{name}.jsonl"}},
        )
        called = [content[key] for key in ("doc_to_visual", "doc_to_text", "process_results")]
        called += [metric["aggregation"] for metric in content["metric_list"]]
        assert all(name_in_utils.removeprefix("utils.") in functions for name_in_utils in called)
        units = {metric["metric"] for metric in content["metric_list"]}
        assert ("group_score" in units) == ("matching_score" in units) == ("_pairs_" in name)
        rows = lines(task, f"{name}.jsonl")
        assert len({(row["protocol"], row["split"]) for row in rows}) == 1
        assert {row["split"] for row in rows} == {"unseen"}
        assert functions["doc_to_visual"](rows[0])[0].size == (64, 64)
        results = [functions["process_results"](row, [row["answer"]]) for row in rows]
        for metric in content["metric_list"]:
            value = functions[metric["metric"]]([result[metric["metric"]] for result in results])
            assert value == (0 if metric["metric"].endswith("_error") else 1)


def test_an_answer_is_right_in_one_order_a_question_in_all_and_an_item_in_all_its_questions(
    task: Path,
) -> None:
    (path,) = task.glob("*_binary_unseen_part.jsonl")
    rows = lines(task, path.name)
    always_b = [result_of(row, "B") for row in rows]
    assert share_of(always_b, "right") == 0.5
    assert share_of(always_b, "right_in_all_orders") == share_of(always_b, "right_items") == 0
    right = [result_of(row, f"The answer is {row['answer']}.") for row in rows]
    assert share_of(right, "right_in_all_orders") == 1
    n = len({row["item"] for row in rows})
    assert share_of(right[1:], "right_in_all_orders") == pytest.approx(
        (n - 1) / n
    )  # an order is missing
    refused = [result_of(row, "I cannot see the image.") for row in rows]
    assert share_of(refused, "right") == 0


def test_scores_of_pairs_count_their_own_questions(task: Path) -> None:
    """The group score leaves out the questions of matching."""
    (path,) = task.glob("*_pairs_unseen_part.jsonl")
    rows = lines(task, path.name)
    wrong = {"text_score": "choice", "image_score": "images", "matching_score": "matching"}
    for unit, form in wrong.items():
        results = [result_of(row, row["answer"] if row["form"] != form else "?") for row in rows]
        units = ("text_score", "image_score", "group_score", "matching_score", "right_items")
        shares = {name: share_of(results, name) for name in units}
        assert shares == {
            **dict.fromkeys(wrong, 1),
            unit: 0,
            "group_score": float(form == "matching"),
            "right_items": 0,
        }


def test_an_item_about_one_image_has_no_group_score(rendered: Path) -> None:
    dataset = Dataset.open(rendered)
    rows = QuestionSet(dataset, dataset.benchmark(), protocols=("binary",)).rows()
    assert {row["of_group_score"] for row in rows} == {0}
    assert np.isnan(share_of([result_of(row, "A") for row in rows], "group_score"))


def test_only_right_has_a_score_that_lmms_eval_computes_errors_of(
    task: Path, functions: dict[str, Any]
) -> None:
    (path,) = task.glob("*_binary_unseen_part.jsonl")
    row = lines(task, path.name)[0]
    result = functions["process_results"](row, [row["answer"]])
    assert [name for name, value in result.items() if "score" in value] == ["right"]
    failed = f"[LMMS_EVAL_REQUEST_FAILED after 5 retries] ANSWER: {row['answer']}"
    assert functions["process_results"](row, [failed])["right"]["score"] == 0


def test_the_error_of_a_share_is_that_of_its_cluster_means() -> None:
    """Clusters of equal size: the error of the mean of their means."""
    scores = [[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    results = [
        {"id": f"{i} {j}", "cluster": str(i), "score": score}
        for i, own in enumerate(scores)
        for j, score in enumerate(own)
    ]
    means = np.mean(scores, axis=1)
    assert error_of(results, "right") == pytest.approx(np.std(means, ddof=1) / len(means) ** 0.5)


def test_an_item_of_yes_or_no_is_one_group(rendered: Path, tmp_path: Path) -> None:
    rows = lines(
        exported(rendered, "inspect", tmp_path / "out", "--protocol", "binary", "--form", "yes-no")
    )
    assert Counter(row["group"] for row in rows) == dict.fromkeys(range(len(rows) // 2), 2)
    always_yes = [result_of(row, "Yes.") for row in rows]
    assert share_of(always_yes, "right") == 0.5
    assert share_of(always_yes, "right_in_all_orders") == 0


@pytest.mark.parametrize("tool", ["lmms-eval", "inspect"])
def test_the_copied_reader_reads_every_answer_as_score_ask_does(
    rendered: Path, tmp_path: Path, tool: str
) -> None:
    """In a Python of its own, which sees only the exported folder."""
    out = exported(rendered, tool, tmp_path / "out", "--protocol", "binary", "--split", "unseen")
    for module in Path(answer_reader.__file__).parent.glob("*.py"):
        assert (out / "answer_reader" / module.name).read_bytes() == module.read_bytes()
    own = {
        "id": "",
        "item": "",
        "group": 0,
        "cluster": "",
        "orders": 1,
        "questions": 1,
        "of_form": 1,
        "of_group_score": 0,
        "answer": "",
    }
    questions = [
        {
            **own,
            "options": CAPTIONS.get(row.question, ()),
            "form": "images" if row.question == "image" else "choice",
        }
        for row in TABLE
    ]
    (tmp_path / "table.json").write_text(
        json.dumps([[o, r.answer, r.finish] for o, r in zip(questions, TABLE, strict=True)])
    )
    code = (
        f"import sys, json; sys.path.insert(0, {str(out)!r}); from question_scores import "
        f"result_of\n"
        f"rows = json.load(open({str(tmp_path / 'table.json')!r}))\n"
        "print(json.dumps([result_of(*row)['says'] for row in rows]))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    for row, says in zip(TABLE, json.loads(done.stdout), strict=True):
        captions = CAPTIONS.get(row.question, ())
        if row.question == "yes":
            ours = label_of(row, read_yes_no(row.answer, row.finish))
        else:
            ours = label_of(
                row, read_choice(row.answer, row.finish, "ABCDE"[: len(captions)], captions)
            )
        assert REASONS.get(says, says) == ours, row


def test_names_say_form_protocol_split_and_orders(rendered: Path) -> None:
    dataset = Dataset.open(rendered)
    questions = QuestionSet(dataset, dataset.benchmark(), "choice", ("binary",), ("unseen",), 1)
    assert questions.name.endswith("_choice_binary_unseen_1_orders")
    assert QuestionSet(dataset, dataset.benchmark(), "choice").name.endswith("_choice")
    assert QuestionSet(dataset, dataset.benchmark(), "yes-no").name.endswith("_yes_no")


def test_the_task_of_inspect_is_python(rendered: Path, tmp_path: Path) -> None:
    out = exported(rendered, "inspect", tmp_path / "out", "--split", "unseen")
    compile((out / "task.py").read_text(encoding="utf-8"), "task.py", "exec")


def test_each_metric_of_inspect_says_that_it_takes_samples(rendered: Path, tmp_path: Path) -> None:
    """Inspect gives bare scores, without metadata, to a metric whose parameter has no type."""
    out = exported(rendered, "inspect", tmp_path / "out", "--split", "unseen")
    module = ast.parse((out / "task.py").read_text(encoding="utf-8"))
    makers = []
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if any(decorator.startswith("metric(") for decorator in decorators):
                makers.append(node)
    assert len(makers) == 3
    for maker in makers:
        (compute,) = [node for node in maker.body if isinstance(node, ast.FunctionDef)]
        annotation = compute.args.args[0].annotation
        assert annotation is not None
        assert ast.unparse(annotation) == "list[SampleScore]"


def test_inspect_reports_every_unit_by_protocol_and_split(
    rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metric by_part of task.py, with stand-ins for what it imports of Inspect."""
    for name in ("inspect_ai", *(f"inspect_ai.{part}" for part in PARTS_OF_INSPECT)):
        monkeypatch.setitem(sys.modules, name, StandIn(name))
    out = exported(rendered, "inspect", tmp_path / "out", "--split", "unseen")
    rows = lines(out)
    functions = runpy.run_path(str(out / "task.py"))
    scores = []
    for row in rows:
        sample = functions["sample"](row, False)
        value = float(row["form"] != "matching")
        score = SimpleNamespace(as_float=lambda value=value: value)
        scores.append(SimpleNamespace(sample_metadata=sample["metadata"], score=score))
    values = functions["by_part"]()(scores)
    assert values["binary unseen right_items"] == 1
    assert values["pairs unseen group_score"] == 1
    assert values["pairs unseen matching_score"] == values["pairs unseen right_items"] == 0
    assert values["pairs unseen text_score_stderr"] == 0
    assert "binary unseen text_score" not in values


PARTS_OF_INSPECT = ("dataset", "model", "scorer", "solver")


class StandIn(ModuleType):
    """A module of Inspect whose functions return their keywords, and whose decorators do
    nothing."""

    def __getattr__(self, name: str) -> Any:
        if name == "task":
            return lambda function: function
        if name in ("metric", "scorer"):
            return lambda **_keywords: lambda function: function
        return lambda *_values, **keywords: keywords


def test_vlmevalkit_gets_a_tsv_for_circular_evaluation(rendered: Path, tmp_path: Path) -> None:
    out = exported(rendered, "vlmevalkit", tmp_path / "out", "--protocol", "binary")
    (path,) = out.glob("*_circular.tsv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    truth, world = captions(rendered), Dataset.open(rendered).world
    images = {row["index"]: row["image"] for row in rows}
    first = [int(row["index"]) for row in rows if int(row["index"]) < 1_000_000]
    assert first == list(range(len(rows) // 2))
    assert sorted(int(row["index"]) % 1_000_000 for row in rows) == sorted(2 * first)
    for row in rows[::17]:
        item = row["id"].split(".")[0]
        assert [truth[item][row[letter]] for letter in "AB"] == [
            row["answer"] == letter for letter in "AB"
        ]
        image = row["image"] if len(row["image"]) > 64 else images[row["image"]]
        assert base64.b64decode(image) == world.read(f"images/{item.split('-')[1]}.png")


def test_clip_benchmark_gets_captions_with_negatives_as_sugarcrepe(
    rendered: Path, tmp_path: Path
) -> None:
    out = exported(rendered, "clip-benchmark", tmp_path / "out", "--protocol", "binary")
    truth, folder_of_item = captions(rendered), {}
    for folder in out.glob("binary-*"):
        for item, entry in json.loads(
            (folder / "swap_att.json").read_text(encoding="utf-8")
        ).items():
            assert (folder / "val2017" / entry["filename"]).read_bytes().startswith(b"\x89PNG")
            assert truth[item] == {entry["caption"]: True, entry["negative_caption"]: False}
            folder_of_item[item] = folder.name
    items = Dataset.open(rendered).benchmark().items_of("binary").to_pylist()
    assert folder_of_item == {
        row["item_id"]: f"binary-{row['kind']}-{row['split']}" for row in items
    }


def test_an_export_that_is_there_is_not_overwritten(rendered: Path, tmp_path: Path) -> None:
    exported(rendered, "inspect", tmp_path / "out", "--split", "unseen")
    refuse("is there already", "gen export inspect --out out", rendered, cwd=tmp_path)
