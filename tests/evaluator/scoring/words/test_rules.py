"""Models that answer by fixed rules get exactly the scores that the rules imply, in every
protocol."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import Result

from evaluator.models.contracts import FAILED
from generator.base.files import read_json
from tests.conftest import succeed
from tests.evaluator.chat import Server, completion, serving
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.scoring.words.rules import (
    PICTURE,
    Rules,
    answers_of,
    captions_of_items,
    every_protocol,
    items_of,
)

WITHOUT_LABEL = {"refuses": "refused", "filtered": "refused", "cut": "cut_off", "rambles": "unread"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(Rules) as running:
        yield running


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return every_protocol(tmp_path_factory.mktemp("rules") / "all")


def ask_in_words(benchmark: Path, model: str, out: Path, *more: str) -> dict[str, Any]:
    """The results of a run in words."""
    succeed("score ask", f"table:{benchmark}", "--model", model, "--out", out, *more)
    return read_json(out / "results.json")


def assert_ends(done: Result, *messages: str) -> None:
    """A run that was under way ended as a user's mistake does."""
    last = done.stderr.strip().splitlines()[-1]
    assert done.exit_code == 2, done.output
    assert last.startswith("Error: ")
    assert last.endswith(".")
    for part in messages:
        assert part in last


def shares(results: dict[str, Any]) -> pd.DataFrame:
    """The rows of what is right, without gaps and kinds of errors."""
    rows = pd.DataFrame(results["rows"])
    return rows[
        ~rows["is_gap"] & (rows["unit"] == "share") & rows["error"].isna() & (rows["items"] > 0)
    ]


@pytest.mark.parametrize("form", ["choice", pytest.param("yes-no", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("errs", 0.0),
        *(pytest.param(*case, marks=pytest.mark.full) for case in (("true", 1.0), ("first", 0.0))),
    ],
)
def test_models_that_are_always_or_never_right_have_that_value(
    server: Server, benchmark: Path, tmp_path: Path, rule: str, value: float, form: str
) -> None:
    """Always the true one; always A, which no cyclic order lets pass, or always yes; and right
    reasoning that errs."""
    results = ask_in_words(benchmark, server.spec(rule), tmp_path / "run", "--form", form)
    rows = shares(results)
    assert set(rows["protocol"]) == set(pd.read_csv(benchmark)["protocol"])
    rows = rows[rows["metric"] != "brittleness"]  # needs one of two to be right
    assert (rows["value"] == value).all()
    assert (rows["unscored"] == 0).all()
    positions = pd.DataFrame(results["answers"]["positions"])
    if form == "choice":  # every label is right equally often
        assert (positions["right"] - 1 / positions["options"]).abs().max() < 1e-9
        assert (positions["chosen"][positions["label"] == "A"] == 1).all() == (rule == "first")
    else:
        true = positions["right"].tolist()
        says = {"first": [1.0, 0.0], "true": true, "errs": true[::-1]}[rule]
        assert positions["chosen"].tolist() == pytest.approx(says)


@pytest.mark.parametrize(
    "rule",
    [
        "refuses",
        *(pytest.param(rule, marks=pytest.mark.full) for rule in ("filtered", "cut", "rambles")),
    ],
)
def test_answers_that_choose_nothing_are_wrong(
    server: Server, benchmark: Path, tmp_path: Path, rule: str
) -> None:
    """Refusals, answers that are cut off, and prose are wrong, and are counted apart with the whole
    answer."""
    results = ask_in_words(benchmark, server.spec(rule), tmp_path / "run")
    rows = shares(results).query("metric != 'brittleness'")  # needs one of two to be right
    assert (rows["value"] == 0).all()
    rows = rows[rows["average"] == "micro (over items)"]
    assert (rows["unread"] == rows["items"]).all()
    assert rows["value_read"].isna().all()
    answers = results["answers"]
    counted = {name: answers[name] for name in WITHOUT_LABEL.values() if answers[name]}
    assert counted == {WITHOUT_LABEL[rule]: answers["answers"]}
    assert answers_of(tmp_path / "run")["answer"].str.len().gt(10).all() == (rule != "filtered")


def test_some_items_are_right(server: Server, benchmark: Path, tmp_path: Path) -> None:
    """The rule is right of pictures of even numbers: so are the items of their scenes, in every
    protocol."""
    results = ask_in_words(benchmark, server.spec("even"), tmp_path / "run")
    items = items_of(tmp_path / "run")
    of = items[(items["protocol"] != "pairs") & items["value"].notna()]
    of = of[
        ~of["metric"].str.contains(" - |gap|brittleness")
    ]  # differences, and what only some are right can be
    assert (of["value"] == of["even"]).all()
    assert 0 < of["even"].mean() < 1
    binary = shares(results).query("protocol == 'binary' and kind == 'swap'")
    swap = of[(of["protocol"] == "binary") & (of["kind"] == "swap")]
    assert binary.set_index("split")["value"].to_dict() == pytest.approx(
        swap.groupby("split")["value"].mean().to_dict()
    )


def test_matching_is_asked_in_both_orders_of_the_images_and_of_the_captions(
    server: Server, benchmark: Path, tmp_path: Path
) -> None:
    """A model that chooses by the words alone is wrong in one order of the images."""
    results = ask_in_words(benchmark, server.spec("blind"), tmp_path / "run", "--protocol", "pairs")
    questions = [
        (pictures, PICTURE.findall(text))
        for model, pictures, text, _ in server.asked
        if model == "blind" and "Two captions belong to two images" in text
    ]
    assert len(questions) == 4
    assert len({pictures for pictures, _ in questions}) == 2
    named = {(pictures, tuple(captions)) for pictures, captions in questions}
    assert len(named) == 4
    for _, (first, second, *exchanged) in questions:
        assert exchanged == [second, first]  # both options name both captions
    rows = shares(results)
    assert rows[rows["metric"] == "matching"]["value"].tolist() == [0.0]
    labels = [row for row in results["answers"]["positions"] if row["form"] == "matching"]
    assert {row["right"] for row in labels} == {0.5}


def test_samples(server: Server, tmp_path: Path) -> None:
    """The majority, the mean and all of K, computed again from the answers; and an item's samples
    are one item."""
    benchmark = captions_of_items(tmp_path / "items", 40)
    ask_in_words(
        benchmark,
        server.spec("sometimes"),
        tmp_path / "run",
        "--samples",
        "5",
        "--temperature",
        "0.7",
    )
    answers = answers_of(tmp_path / "run")
    answers["right"] = [
        options[int(says)] == true
        for options, says, true in zip(
            answers["options"], answers["says"], answers["true"], strict=True
        )
    ]
    by_sample = answers.groupby(["item_id", "sample"])["right"].all().unstack()
    most = answers.groupby(["item_id", "order"])["right"].sum().gt(2).unstack().all(axis=1)
    expected = {
        "accuracy": most,
        "accuracy, mean of 5": by_sample.mean(axis=1),
        "accuracy, all 5": by_sample.all(axis=1),
    }
    items = items_of(tmp_path / "run")
    assert set(items["metric"]) == set(expected)
    assert 0 < expected["accuracy, all 5"].mean() < expected["accuracy, mean of 5"].mean() < 1
    rows = pd.DataFrame(read_json(tmp_path / "run" / "results.json")["rows"])
    for metric, values in expected.items():
        values = items[items["metric"] == metric].set_index("item_id")["value"]
        assert values.to_dict() == pytest.approx(values.astype(float).to_dict())
        of = rows[(rows["metric"] == metric) & ~rows["is_gap"]]
        assert of["items"].sum() == 40
        assert (of["clusters"] <= of["items"]).all()


def test_a_number_of_orders_and_a_prompt_of_ones_own(server: Server, tmp_path: Path) -> None:
    """One order asks a question an item; the words of questions come from the file, whose digest
    the results have."""
    benchmark = captions_of_items(tmp_path / "items", 8)
    (tmp_path / "own.toml").write_text(
        'choice = "Pick one:\\n{options}"\noption = "{letter}. {caption}!"\n'
    )
    before = server.asked.total()
    results = ask_in_words(
        benchmark,
        server.spec("true"),
        tmp_path / "run",
        "--orders",
        "1",
        "--prompt",
        str(tmp_path / "own.toml"),
    )
    assert server.asked.total() - before == 8
    (texts,) = {
        text.partition("\n")[0] for model, _, text, _ in server.asked if text.startswith("Pick")
    }
    assert texts == "Pick one:"
    usual = ask_in_words(benchmark, server.spec("true"), tmp_path / "usual", "--orders", "1")
    assert results["rules"]["words"]["prompt"] != usual["rules"]["words"]["prompt"]
    done = score_command(
        "ask", f"table:{benchmark}", "--model", server.spec("true"), "--out", tmp_path / "run"
    )
    assert_one_sentence(done, "holds a run of another question")


def test_batch_files(server: Server, tmp_path: Path) -> None:
    """Questions go out, answers come in; what a batch lacks is unscored, and nothing is asked."""
    benchmark, batch = captions_of_items(tmp_path / "items", 10), tmp_path / "batch.jsonl"
    place = (f"table:{benchmark}", "--model", server.spec("even"))
    before = server.asked.total()
    succeed("score ask", *place, "--to", batch)
    lines = [json.loads(line) for line in batch.read_text().splitlines()]
    assert len({line["custom_id"] for line in lines}) == len(lines) == 20
    answers = []
    for line in lines[:-1]:
        body = completion("even", "A", "stop")
        answers.append(
            {
                "custom_id": line["custom_id"],
                "response": {"status_code": 200, "body": body},
                "error": None,
            }
        )
    answers.append(
        {"custom_id": lines[-1]["custom_id"], "response": None, "error": {"message": "expired"}}
    )
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers[::-1])))
    succeed("score ask", *place, "--from", tmp_path / "answers.jsonl", "--out", tmp_path / "run")
    assert server.asked.total() == before
    items = items_of(tmp_path / "run")
    assert items["value"].sum() == 0
    assert items["unscored"].notna().sum() == 1
    assert items["unscored"].dropna().str.contains("it has no answer").all()
    (tmp_path / "other.jsonl").write_text(json.dumps({**answers[0], "custom_id": "other"}))
    assert_one_sentence(
        score_command("ask", *place, "--from", tmp_path / "other.jsonl"),
        "answers none of these 20 questions",
    )
    (tmp_path / "page.jsonl").write_text("<html>")
    assert_one_sentence(
        score_command("ask", *place, "--from", tmp_path / "page.jsonl"),
        "is no answer in OpenAI's batch format",
    )


def test_a_run_that_breaks_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    benchmark = captions_of_items(tmp_path / "items", 60)
    with serving(Rules, answers=50, wait=0.02) as server:
        place = (
            "ask",
            f"table:{benchmark}",
            "--model",
            server.spec("even", concurrency=4),
            "--out",
            tmp_path / "run",
        )
        assert_ends(score_command(*place), "has stopped answering", "out of order")
        answered = 50
        server.handler.answers = 10**9
        failed = server.asked.total() - answered
        succeed("score", *place)
        assert server.asked.total() == 120 + failed
        assert server.handler.at_once["most"] == 4
        before = server.asked.total()
        succeed("score", *place[:-1], tmp_path / "again")
        assert server.asked.total() == before
    assert (tmp_path / "run" / "answers.parquet").read_bytes() == (
        tmp_path / "again" / "answers.parquet"
    ).read_bytes()


def test_a_budget(server: Server, tmp_path: Path) -> None:
    """Each answer takes 35 tokens: a run stops below its budget, and a larger one finishes it."""
    benchmark = captions_of_items(tmp_path / "items", 30)
    model = ("--model", server.spec("true"), "--max-tokens", "10")
    place = ("ask", f"table:{benchmark}", *model, "--out", tmp_path / "run")
    before = server.asked.total()
    assert_ends(score_command(*place, "--budget", "1000"), "The budget of 1,000 tokens")
    some = server.asked.total() - before
    assert 20 < some <= 1000 // 35
    succeed("score", *place, "--budget", "3000")
    assert server.asked.total() - before == 60


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("page", "its response is not a chat completion"),
        ("closed", "put its key in the environment variable OPENAI_API_KEY"),
        ("busy", "run the same command again later"),
    ],
)
def test_one_sentence(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, message: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    benchmark = captions_of_items(tmp_path / "items", 30)
    done = score_command(
        "ask", f"table:{benchmark}", "--model", server.spec(rule), "--out", tmp_path / "run"
    )
    assert_ends(done, message)
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert b"very-secret" not in file.read_bytes()
    assert "very-secret" not in done.output


def test_an_image_that_is_too_large(server: Server, tmp_path: Path) -> None:
    """Its items are unscored, the others measured; one sentence says so."""
    benchmark = captions_of_items(tmp_path / "items", 20)
    done = succeed(
        "score ask",
        f"table:{benchmark}",
        "--model",
        server.spec("small"),
        "--out",
        tmp_path / "run",
    )
    assert "questions have no answer (not answered: Error code: 413" in done.stderr
    items = items_of(tmp_path / "run")
    assert (items["unscored"].isna() == items["even"]).all()
    assert (items["value"][items["even"]] == 1).all()


def test_a_model_that_takes_fewer_parameters(server: Server, tmp_path: Path) -> None:
    """Requests at once are refused the same, and every question is answered."""
    benchmark = captions_of_items(tmp_path / "items", 20)
    results = ask_in_words(benchmark, server.spec("reasoner"), tmp_path / "run")
    assert (shares(results)["value"] == 1).all()
    assert not answers_of(tmp_path / "run")["finish"].str.startswith(FAILED).any()
    assert read_json(tmp_path / "run" / "run.json")["info"]["not_taken"] == [
        "max_tokens",
        "temperature",
    ]


@pytest.mark.full
@pytest.mark.parametrize("form", ["choice", "yes-no"])
def test_samples_of_every_protocol(
    server: Server, benchmark: Path, tmp_path: Path, form: str
) -> None:
    """What never varies is the same in one sample, in the majority, in the mean and in all of
    three."""
    alone = shares(ask_in_words(benchmark, server.spec("even"), tmp_path / "one", "--form", form))
    more = ("--samples", "3", "--temperature", "1")
    several = shares(
        ask_in_words(benchmark, server.spec("even"), tmp_path / "three", "--form", form, *more)
    )
    labels = ["protocol", "metric", "kind", "skill", "level", "n", "split", "average"]
    expected_values = alone.fillna("").set_index(labels)["value"].to_dict()
    for name in ("", ", mean of 3", ", all 3"):
        part = several[
            several["metric"].str.endswith(name) if name else ~several["metric"].str.contains(" 3")
        ]
        part = part.assign(metric=part["metric"].str.replace(name, "")) if name else part
        assert part.fillna("").set_index(labels)["value"].to_dict() == pytest.approx(
            expected_values
        )


def test_damaged_answers_are_one_sentence(server: Server, tmp_path: Path) -> None:
    benchmark, run = captions_of_items(tmp_path / "items", 4), tmp_path / "run"
    ask_in_words(benchmark, server.spec("true"), run)
    whole = answers_of(run)
    wrong = (
        ("options", [[99, 98]]),
        ("options", [[]]),
        ("true", [7777]),
        ("sample", [None]),
        ("item_id", ["x"]),
    )
    for name, value in wrong:
        damaged = whole.astype(object)
        damaged[name] = value * len(whole)
        damaged.to_parquet(run / "answers.parquet")
        assert_one_sentence(score_command("measure", run), "is damaged")
    (run / "answers.parquet").unlink()
    assert_one_sentence(score_command("measure", run), "has lost its answers.parquet")
