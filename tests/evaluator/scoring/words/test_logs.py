"""Logs of other tools on exported questions: each item's outcome is what its answers imply; other
files are refused.

The tests marked full run lmms-eval and Inspect themselves, where TOOLS_PYTHON or this Python has
them.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluator.scoring.words.logs import read_log
from evaluator.scoring.words.prompt import read_prompt
from generator.base.errors import UserError
from generator.dataset.questions import Candidates, Form, make_questions
from generator.dataset.reader import Dataset
from generator.exports.questions import QuestionSet
from tests.conftest import refuse, run_process, succeed

RULE = '''
import re
import zlib


def rule(text):
    """An answer by the words of a question: the first letter, a refusal, or a letter, some after reasoning."""
    options = re.findall(r"^([A-Z])[.)] (.*)$", text, re.MULTILINE)
    words = "|".join(sorted(words for _, words in options)) or re.search('"(.*)"', text)[1]
    number = zlib.crc32(words.encode()) % 7
    if number == 0:
        return "I am sorry, I cannot answer that."
    if not options:
        return ("Yes.", "No, it does not.", "<think>Yes?</think> no")[number % 3]
    letter, _ = min(options, key=lambda option: zlib.crc32(option[1].encode()))
    if number == 1:
        return options[0][0]
    return f"<think>It may be {options[-1][0]}.</think> ANSWER: {letter}" if number == 2 else f"ANSWER: {letter}"


class Model:
    def answer(self, images, question):
        return rule(question)


def make():
    return Model()
'''
LMMS_EVAL = """
import sys
from rule import rule
from lmms_eval.__main__ import cli_evaluate
from lmms_eval.models.simple.dummy import Dummy

Dummy.generate_until = lambda self, requests: [rule(each.args[0]) for each in requests]
sys.argv = ["lmms-eval", "--model", "dummy", "--tasks", sys.argv[1], "--include_path", ".", "--log_samples",
            "--output_path", "logs"]
cli_evaluate()
"""
INSPECT = """
import sys
from rule import rule
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model


def answer(input, tools, tool_choice, config):
    output = ModelOutput.from_content("mockllm", rule(input[-1].text))
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


model = get_model("mockllm/model", custom_outputs=answer)
eval("task.py", model=model, log_dir="logs", log_format=sys.argv[1], log_images=False, display="plain")
"""


def questions(dataset: Path, tmp_path: Path, *more: str) -> list[dict[str, Any]]:
    out = tmp_path / "exported"
    succeed("gen export inspect", dataset, "--out", out, *more)
    return [
        json.loads(line)
        for line in (out / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def answer_of(row: dict[str, Any]) -> str:
    """By the item's group: the truth, always A, a refusal, or the truth after reasoning."""
    kind = sum(map(ord, row["item"])) % 4
    return (
        row["answer"],
        "A",
        "I'm sorry, I can't help with that.",
        f"<think>A, or B</think>\n{row['answer']}",
    )[kind]


def write_log(tool: str, rows: list[dict[str, Any]], path: Path) -> Path:
    """A log of a tool, with the entries that are read and some more."""
    path = path.with_suffix({"lmms-eval": ".jsonl", "inspect": ".json"}.get(tool, f".{tool}"))
    replies = [answer_of(row) for row in rows]
    table = pd.DataFrame(
        {"index": range(len(rows)), "id": [row["id"] for row in rows], "prediction": replies}
    )
    if tool == "lmms-eval":
        right = [{"id": name, "score": 0.0} for name in table["id"]]
        log_table = table.rename(columns={"index": "doc_id", "prediction": "filtered_resps"}).drop(
            columns="id"
        )
        log_table.assign(doc_hash="0", right=right).to_json(path, orient="records", lines=True)
    elif tool == "inspect":
        ends = {"choices": [{"stop_reason": "stop"}]}
        samples = [
            {"id": row["id"], "output": {"completion": answer, **ends}, "error": None}
            for row, answer in zip(rows, replies, strict=True)
        ]
        path.write_text(json.dumps({"version": 2, "samples": samples}), encoding="utf-8")
    elif tool == "tsv":
        table.to_csv(path, sep="\t", index=False)
    else:
        pytest.importorskip("openpyxl")
        table.to_excel(path, index=False)
    return path


def outcomes(run: Path) -> dict[tuple[str, ...], tuple[str, str]]:
    with (run / "tables" / "items.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["item_id"], row["metric"], row.get("error", "")): (row["value"], row["unscored"])
            for row in csv.DictReader(file)
        }


@pytest.mark.parametrize("tool", ["lmms-eval", "inspect", "tsv", "xlsx"])
def test_an_item_is_right_if_every_order_is(rendered: Path, tmp_path: Path, tool: str) -> None:
    rows = questions(rendered, tmp_path, "--protocol", "binary")
    log = write_log(tool, rows, tmp_path / "log")
    succeed("score measure", "--items", log, "--dataset", rendered, "--out", tmp_path / "run")
    answers: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        answers[row["item"]].append((answer_of(row), row["answer"]))
    outcomes_of_items = outcomes(tmp_path / "run")
    assert len(outcomes_of_items) == len(answers) == len(rows) // 2
    for (item, metric, _), (value, unscored) in outcomes_of_items.items():
        assert metric == "accuracy"
        right = all(reply.endswith(answer) for reply, answer in answers[item])  # a refusal is wrong
        assert (value, bool(unscored)) == (f"{float(right):g}", False)
    assert {value for value, _ in outcomes_of_items.values()} == {"0", "1"}


def test_a_workbook_that_has_a_column_twice_is_refused(tmp_path: Path) -> None:
    table = pd.DataFrame([["a", "A", "B"]], columns=["id", "prediction", "prediction"])
    table.to_excel(tmp_path / "log.xlsx", index=False)
    with pytest.raises(UserError, match=r"log\.xlsx has the column 'prediction' twice; keep one"):
        read_log(tmp_path / "log.xlsx")


def test_a_log_is_compared_with_a_run_and_gets_a_page(rendered: Path, tmp_path: Path) -> None:
    rows = questions(rendered, tmp_path, "--protocol", "binary")
    log = write_log("lmms-eval", rows, tmp_path / "log")
    succeed(
        "score measure",
        "--items",
        log,
        "--dataset",
        rendered,
        "--model",
        "theirs",
        "--out",
        tmp_path / "theirs",
    )
    succeed(
        "score run",
        rendered,
        "--model",
        "blind:length",
        "--protocol",
        "binary",
        "--out",
        tmp_path / "ours",
    )
    compared = json.loads(
        succeed("score compare", tmp_path / "theirs", tmp_path / "ours", "--json").stdout
    )
    (items,) = compared["items"]
    assert {row["metric"] for row in compared["rows"]} == {"accuracy"}
    assert (
        items["compared"] + sum(group["items"] for group in items["unscored"].values())
        == len(rows) // 2
    )
    succeed("score report", tmp_path / "theirs", "--out", tmp_path / "page.html")
    assert "theirs" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_items_whose_orders_the_log_lacks_are_unscored_unless_they_are_wrong_already(
    rendered: Path, tmp_path: Path
) -> None:
    rows = questions(rendered, tmp_path, "--protocol", "binary")
    log = write_log("lmms-eval", rows[:-1], tmp_path / "log")
    done = succeed(
        "score measure", "--items", log, "--dataset", rendered, "--out", tmp_path / "run"
    )
    assert "1 items lack some of their questions" in done.stderr
    wrong = not answer_of(rows[-2]).endswith(rows[-2]["answer"])
    assert rows[-2]["item"] == rows[-1]["item"]
    assert outcomes(tmp_path / "run")[rows[-1]["item"], "accuracy", ""][0] == ("0" if wrong else "")


def test_a_request_that_failed_in_lmms_eval_leaves_its_item_unscored(
    rendered: Path, tmp_path: Path
) -> None:
    rows = questions(rendered, tmp_path, "--protocol", "binary", "--split", "unseen")
    log = write_log("lmms-eval", rows, tmp_path / "log")
    logged = pd.read_json(log, lines=True)
    logged["filtered_resps"] = [row["answer"] for row in rows]
    # The error of a request says something that would be read as a letter.
    logged.loc[0, "filtered_resps"] = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] ANSWER: A"
    logged.to_json(log, orient="records", lines=True)
    succeed("score measure", "--items", log, "--dataset", rendered, "--out", tmp_path / "run")
    outcomes_of_items = outcomes(tmp_path / "run")
    value, reason = outcomes_of_items.pop((rows[0]["item"], "accuracy", ""))
    assert value == ""
    assert "LMMS_EVAL_REQUEST_FAILED" in reason
    assert {value for value, _ in outcomes_of_items.values()} == {"1"}


def test_epochs_of_inspect_are_samples(rendered: Path, tmp_path: Path) -> None:
    """Three epochs, of which the last is always right: the majority is that of the first two."""
    rows = questions(rendered, tmp_path, "--protocol", "binary", "--split", "unseen")
    log = write_log("inspect", rows, tmp_path / "log")
    content = json.loads(log.read_text(encoding="utf-8"))
    right = {row["id"]: row["answer"] for row in rows}
    content["samples"] = [
        {**sample, "epoch": epoch}
        | (
            {"output": {**sample["output"], "completion": right[sample["id"]]}}
            if epoch == 3
            else {}
        )
        for sample in content["samples"]
        for epoch in (1, 2, 3)
    ]
    log.write_text(json.dumps(content), encoding="utf-8")
    succeed("score measure", "--items", log, "--dataset", rendered, "--out", tmp_path / "run")
    outcomes_of_items = outcomes(tmp_path / "run")
    answers: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        answers[row["item"]].append(answer_of(row).endswith(row["answer"]))
    refused = {row["item"] for row in rows if "sorry" in answer_of(row)}
    for item, orders in answers.items():
        # Refusals have no label, so the third epoch decides.
        assert (
            outcomes_of_items[item, "accuracy", ""][0]
            == f"{float(item in refused or all(orders)):g}"
        )
        assert float(outcomes_of_items[item, "accuracy, mean of 3", ""][0]) == pytest.approx(
            (1 + 2 * all(orders)) / 3
        )


@pytest.mark.parametrize("form", ["choice", "yes-no"])
def test_exported_questions_have_the_words_of_score_ask(rendered: Path, form: Form) -> None:
    dataset = Dataset.open(rendered)
    benchmark = dataset.benchmark()
    protocols = ("binary", "pairs")
    rows = QuestionSet(dataset, benchmark, form, protocols).rows()
    candidates, prompt = Candidates(benchmark), read_prompt(None)
    questions = make_questions(benchmark, candidates, protocols=protocols, form=form)
    words_and_scenes = [prompt.ask(question, candidates) for question in questions]
    assert [(row["prompt"], row["scenes"]) for row in rows] == words_and_scenes
    assert len({row["form"] for row in rows}) == (3 if form == "choice" else 1)


def test_a_complete_log_of_pairs_leaves_no_item_unscored(rendered: Path, tmp_path: Path) -> None:
    """A question about a caption and one that matches two captions have the same options."""
    rows = questions(rendered, tmp_path, "--protocol", "pairs", "--split", "unseen")
    log = write_log("inspect", [{**row, "item": ""} for row in rows], tmp_path / "log")
    succeed("score measure", "--items", log, "--dataset", rendered, "--out", tmp_path / "run")
    results = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    assert {row["metric"] for row in results["rows"]} >= {"text", "image", "group", "matching"}
    assert sum(row["unscored"] or 0 for row in results["rows"]) == 0
    group = [row for row in outcomes(tmp_path / "run").items() if row[0][1] == "group"]
    assert {value for _, (value, _) in group} == {"1"}


def test_a_log_of_one_split_has_only_the_items_of_that_split(
    rendered: Path, tmp_path: Path
) -> None:
    rows = questions(rendered, tmp_path, "--protocol", "binary", "--split", "unseen")
    log = write_log("lmms-eval", rows, tmp_path / "log")
    succeed("score measure", "--items", log, "--dataset", rendered, "--out", tmp_path / "run")
    assert {item for item, _, _ in outcomes(tmp_path / "run")} == {row["item"] for row in rows}
    results = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    assert {row["split"] for row in results["rows"]} == {"unseen"}
    assert sum(row["unscored"] or 0 for row in results["rows"]) == 0


def test_other_files_are_refused(rendered: Path, tmp_path: Path) -> None:
    rows = questions(rendered, tmp_path, "--protocol", "binary", "--split", "unseen")
    log, of = (
        write_log("lmms-eval", rows, tmp_path / "log"),
        ("--dataset", rendered, "--out", tmp_path / "run"),
    )
    refuse("give the --dataset", "score measure", "--items", log)
    refuse("leave --probabilities out", "score measure", "--items", log, *of, "--probabilities")
    changed = (rows[0]["id"][:-1] + "x", rows[0]["id"].replace(".1of", ".0.1of"))
    totals = {"dataset": "sugar_crepe/swap_att", "metrics": {"text_acc": 0.5}}
    for message, name, content in (
        ("twice", "lmms-eval", [*rows, rows[0]]),
        ("a log of other questions ('17')", "lmms-eval", [{**rows[0], "id": "17"}]),
        *(("which is not a question of", "inspect", [{**rows[0], "id": name}]) for name in changed),
        ("lacks some questions of every item", "tsv", rows[:1]),
        ("VLMEvalKit's evaluation of predictions", "result.csv", "index,prediction,hit\n0,A,1\n"),
        ("only totals", "clip.json", json.dumps(totals)),
        ("not a log of Inspect", "empty.json", "{}"),
        ("Inspect", "bad.eval", "PK"),
    ):
        file = tmp_path / name
        if isinstance(content, str):
            file.write_text(content, encoding="utf-8")
        else:
            file = write_log(name, content, file)
        refuse(message, "score measure", "--items", file, *of)
    assert not (tmp_path / "run").exists()


def python_with(package: str) -> str:
    """The Python that has a tool. Skips the test where none has it."""
    for python in filter(None, (os.environ.get("TOOLS_PYTHON"), sys.executable)):
        code = (
            f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
        )
        if subprocess.run([python, "-c", code], check=False).returncode == 0:
            return python
    pytest.skip(f"{package} is not installed; name a Python that has it in TOOLS_PYTHON")


def run_tool(python: str, program: str, folder: Path, argument: str) -> Path:
    """Run a tool's own program in the exported folder, with a model that answers by RULE; returns
    its log."""
    (folder / "rule.py").write_text(RULE, encoding="utf-8")
    (folder / "run.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    done = subprocess.run(
        [python, "run.py", argument],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    logs = [
        path
        for path in (folder / "logs").rglob("*")
        if "results" not in path.name and path.is_file()
    ]
    if len(logs) == 1:
        return logs[0]
    joined = folder / "log.jsonl"
    joined.write_text(
        "".join(path.read_text(encoding="utf-8") for path in sorted(logs)), encoding="utf-8"
    )
    return joined


@pytest.mark.full
@pytest.mark.parametrize(
    ("tool", "form"), [("lmms_eval", "choice"), ("inspect_ai", "choice"), ("inspect_ai", "yes-no")]
)
def test_each_item_is_as_score_ask_finds_it(
    undisturbed: Path, tmp_path: Path, tool: str, form: str
) -> None:
    python = python_with(tool)
    dataset = Path(shutil.copytree(undisturbed, tmp_path / "dataset"))
    succeed("gen describe", dataset, "--name", "asked")
    of = ("--benchmark", "asked", "--form", form)
    out = tmp_path / "exported"
    succeed("gen export", tool.removesuffix("_ai").replace("_", "-"), dataset, "--out", out, *of)
    name = next(
        (path.stem for path in out.glob("*.yaml") if not path.stem.endswith("_part")), "json"
    )
    log = run_tool(python, LMMS_EVAL if tool == "lmms_eval" else INSPECT, out, name)
    measured, asked_run = tmp_path / "measured", tmp_path / "asked"
    succeed(
        "score measure",
        "--items",
        log,
        "--dataset",
        dataset,
        "--benchmark",
        "asked",
        "--out",
        measured,
    )
    model = f"python:{out / 'rule.py'}:make"
    done = run_process(
        "score", "ask", dataset, *of, "--model", model, "--out", asked_run
    )  # another rule.py each time
    assert done.returncode == 0, done.stderr
    assert outcomes(measured) == outcomes(asked_run)
    assert {value for value, _ in outcomes(asked_run).values()} >= {"0", "1"}
