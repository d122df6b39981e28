"""Models behind a real server: scores, runs that are continued, and what is unscored."""

import math
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evaluator.models.api import load_api
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from generator.base.files import read_json
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.models.api.chat_server import probability
from tests.evaluator.models.api.conftest import Server

IMAGES = [Image.new("RGB", (8, 8), (red, 0, 0)) for red in (3, 200)]
TEXTS = ["a red cube", "a blue sphere", "two cones"]
SAMPLES = 50
PAIRS = [(i, text) for i in range(2) for text in TEXTS]


def test_log_probabilities(server: Server) -> None:
    """The server's own probabilities, in the order of the pairs, with several requests at once."""
    model = load_model(server.spec("slow"), None, concurrency="3")
    scores = model.score_pairs(IMAGES, PAIRS)
    assert scores.dtype == np.float32
    for (image, text), (log_odds, p_yes) in zip(PAIRS, scores, strict=True):
        p = probability(text, IMAGES[image])
        assert (log_odds, p_yes) == (pytest.approx(math.log(p / (1 - p)), abs=1e-5), pytest.approx(0.9 * p))
    requests = server.requests()
    assert len(requests) == 1 + len(PAIRS)
    assert max(each["most"] for each in requests) == 3
    assert requests[-1] == requests[-1] | {"max_tokens": 1, "logprobs": True, "top_logprobs": 20}
    assert model.info["answers"] == "log-probabilities"
    assert model.info["served"] == "slow-2026"


@pytest.mark.parametrize(("name", "requests"), [("sampling", 1), ("single", 50), ("quiet", 1)])
def test_samples_where_there_are_no_log_probabilities(server: Server, name: str, requests: int) -> None:
    """Shares of sampled answers, by one request with several answers where the endpoint gives them."""
    model = load_api(server.spec(name).removeprefix("api:"), None, samples=SAMPLES)
    before = len(server.requests())
    pairs = PAIRS[:2]
    log_odds, p_yes = model.score_pairs(IMAGES, pairs).T
    truth = np.array([probability(text, IMAGES[image]) for image, text in pairs])
    assert np.abs(p_yes - truth).max() < 4 * math.sqrt(0.25 / SAMPLES)
    assert log_odds == pytest.approx(np.log((SAMPLES * p_yes + 0.5) / (SAMPLES - SAMPLES * p_yes + 0.5)), abs=1e-5)
    assert model.info["answers"] == f"{SAMPLES} sampled answers"
    sent = server.requests()[before:]
    assert len(sent) == requests * len(pairs)
    assert len({each["seed"] for each in sent}) == requests
    assert f"{100 * requests:,} requests ({SAMPLES} sampled answers a pair)" in model.describe_cost(100)


def test_each_way_has_a_cache_of_its_own(server: Server) -> None:
    keys = {
        load_model(server.spec("plain"), None, **arguments).key
        for arguments in ({}, {"answers": "samples"}, {"answers": "samples", "samples": 4}, {"concurrency": 2})
    }
    assert len(keys) == 3


def test_an_answer_that_is_not_listed_is_bounded_and_counted(server: Server) -> None:
    model = load_api(server.spec("sure").removeprefix("api:"), None)
    log_odds, p_yes = model.score_pairs(IMAGES, PAIRS).T
    assert log_odds == pytest.approx(
        np.log(p_yes / np.minimum(np.minimum(0.05, 0.3 / 0.9 * p_yes), 1 - p_yes - 0.05)), abs=1e-5
    )
    assert model.counts["bounded"] == len(PAIRS)


def test_prose_and_refusals_are_unscored_and_counted(server: Server) -> None:
    prose = load_api(server.spec("prose").removeprefix("api:"), None)
    assert np.isnan(prose.score_pairs(IMAGES, PAIRS)).all()
    assert prose.counts["neither yes nor no"] == len(PAIRS)
    for name in ("strict", "broken"):
        model = load_api(server.spec(name).removeprefix("api:"), None, retries=1)
        unscored = np.isnan(model.score_pairs(IMAGES, PAIRS)[:, 0])
        assert unscored.tolist() == ["blue" in text for _, text in PAIRS]
        assert (model.counts["refused"], model.counts["neither yes nor no"]) == (2, 0)


def test_an_endpoint_that_answers_nothing_ends_the_run(server: Server) -> None:
    model = load_api(server.spec("breaking").removeprefix("api:"), None, retries=1)
    with pytest.raises(UserError, match=r"answers no more, none of the last 6 questions \(.*out of order.*\); mend it"):
        model.score_pairs(IMAGES, PAIRS)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("missing", (), "name a model that it serves"),
        ("page", (), "does not answer questions about an image with 'page' (what it gave is no chat completion)"),
        (
            "quiet",
            ("--model-args", "answers=logprobs"),
            "gives no log-probabilities of 'quiet' (it lists no tokens); take answers=samples",
        ),
        (
            "plain",
            ("--model-args", "samples=0"),
            "The argument 'samples' of api: is '0'; input should be greater than or equal to 1",
        ),
        ("plain", ("--model-args", "sample=2"), "api: has no argument 'sample': did you mean 'samples'?"),
        ("plain", ("--device", "cpu"), "runs at its endpoint and not on 'cpu'"),
    ],
)
def test_one_sentence(
    server: Server, drawn: Path, tmp_path: Path, name: str, arguments: tuple[str, ...], said: str
) -> None:
    asked = ("run", drawn, "--model", server.spec(name), "--out", tmp_path / "run", *arguments)
    assert_one_sentence(score_command(*asked), said)
    assert not (tmp_path / "run").exists()


def test_an_endpoint_that_is_down_is_one_sentence(server: Server, drawn: Path, tmp_path: Path) -> None:
    server.stop()
    assert_one_sentence(
        score_command("run", drawn, "--model", server.spec("plain")), "does not answer (", "start it or mend its URL"
    )


def test_a_run_says_its_cost_and_continues(
    server: Server, drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run through an endpoint that is broken for some texts; a later run asks about those alone; the key is written nowhere."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    command = (
        "run",
        drawn,
        "--model",
        server.spec("broken"),
        "--protocol",
        "binary",
        "--limit",
        "12",
        "--model-args",
        "retries=0",
    )
    first = score_command(*command, "--out", tmp_path / "a")
    assert first.exit_code == 0, first.output
    record = read_json(tmp_path / "a" / "run.json")
    pairs = record["counts"]["requests"] - 1 + record["counts"]["refused"]
    assert (
        f"{pairs} pairs of image and text to ask about, {pairs} requests (log-probabilities of the answer)"
        in first.stderr
    )
    assert f"about {100 * pairs:,} prompt tokens" in first.stderr
    assert f"refused {record['counts']['refused']}" in first.stderr
    assert record["model"] == f"{server.spec('broken')} retries=0"
    assert 0 < record["counts"]["refused"] < pairs
    rows = [row for row in read_json(tmp_path / "a" / "results.json")["rows"] if row["metric"] == "accuracy"]
    assert 0 < sum(row["unscored"] or 0 for row in rows) < sum(row["items"] for row in rows)
    before = len(server.requests())
    assert score_command(*command, "--out", tmp_path / "b").exit_code == 0
    again = len(server.requests()) - before - record["counts"]["refused"]
    assert 1 < again <= 4  # the first request, and one after each batch without an answer
    assert (tmp_path / "a" / "scores.parquet").read_bytes() == (tmp_path / "b" / "scores.parquet").read_bytes()
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert b"very-secret" not in file.read_bytes()


def test_an_outage_keeps_what_is_finished(server: Server, drawn: Path, tmp_path: Path) -> None:
    """The server goes away within a run and comes back on the same port."""
    command = (
        "run",
        drawn,
        "--model",
        server.spec("slow"),
        "--protocol",
        "binary",
        "--out",
        tmp_path / "run",
        "--batch-size",
        "4",
        "--limit",
        "8",
    )
    more = ("--model-args", "retries=1,concurrency=2")

    def stop() -> None:
        while len(server.requests()) < 12:
            time.sleep(0.01)
        server.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    assert_last(score_command(*command, *more), "does not answer (")
    thread.join()
    asked = len(server.requests())
    again = Server(tmp_path / "again.jsonl", server.port)
    try:
        done = score_command(*command, *more)
        assert done.exit_code == 0, done.output
        whole = read_json(tmp_path / "run" / "run.json")["counts"]["requests"]
        fresh = len(again.requests())
        assert whole == fresh
        assert score_command(*command[:-6], "--limit", "8", "--out", tmp_path / "other", *more).exit_code == 0
        assert len(again.requests()) == fresh + 1  # all is cached
        assert asked > 8
    finally:
        again.stop()


def assert_last(result: object, said: str) -> None:
    """The command ended with exit code 2 and a sentence."""
    assert result.exit_code == 2  # type: ignore[attr-defined]
    last = result.stderr.strip().splitlines()[-1]  # type: ignore[attr-defined]
    assert last.startswith("Error: ")
    assert said in last
