"""Scores by a dataset's own ids: what is there is measured, what is missing is said."""

import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.protocols.items import COUNTS
from evaluator.protocols.pools import item_pools
from evaluator.runs.measure import measure
from evaluator.scoring.elsewhere import dataset_scores
from evaluator.scoring.needs import Needs, collect_needs
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.dataset.reader import Benchmark, Dataset
from tests.evaluator.conftest import assert_one_sentence, score_command, score_json, succeed
from tests.evaluator.needs import pair_ids, pool_ids
from tests.evaluator.synthetic import (
    Builder,
    Row,
    add_pair,
    find,
    one_of_each,
    planted,
    pool_matrix,
    unnamed,
    write_run,
)

PATH = Path("scores.csv")
PROTOCOLS = ["binary", "retrieval"]


@pytest.fixture(scope="module")
def needs(benchmark: Benchmark) -> Needs:
    return collect_needs(benchmark, PROTOCOLS)


def table(pairs: list[tuple[str, str]], scores: list[float | None]) -> pa.Table:
    images, texts = zip(*pairs, strict=True)
    return pa.table({"scene_id": images, "text_id": texts, "score": scores})


def test_an_image_that_lacks_a_text_of_its_pool_has_no_row(
    benchmark: Benchmark, needs: Needs, caplog: pytest.LogCaptureFixture
) -> None:
    images, texts = pool_ids(needs, "grid")
    pairs = [
        (image, text)
        for image in images[:3]
        for text in texts
        if (image, text) != (images[1], texts[5])
    ]
    scores = dataset_scores(
        table(pairs, [0.5] * len(pairs)),
        PATH,
        benchmark=benchmark,
        protocols=PROTOCOLS,
        probabilities=False,
    )
    assert "retrieval" in scores.protocols
    assert np.isnan(scores.pools["grid"]).all(axis=1).tolist()[:4] == [False, True, False, True]
    assert "lacks" in caplog.text


def test_a_protocol_without_a_score_is_not_measured(
    benchmark: Benchmark, needs: Needs, caplog: pytest.LogCaptureFixture
) -> None:
    scores = dataset_scores(
        table(pair_ids(needs)[:4], [0.5, None, 0.5, 0.5]),
        PATH,
        benchmark=benchmark,
        protocols=PROTOCOLS,
        probabilities=False,
    )
    assert scores.protocols == ["binary"]
    assert scores.pools == {}
    assert len(scores.images) == len(scores.texts) == 3
    assert "Not measured, because scores.csv has no score of their items: retrieval." in caplog.text


def test_other_ids_repeated_pairs_and_unneeded_scores_are_refused(
    benchmark: Benchmark, needs: Needs
) -> None:
    image, text = pair_ids(needs)[0]
    for pairs, message in (
        ([(image, text), ("999999", text)], "Row 2 of scores.csv has scene_id '999999'"),
        ([(image, "no text")], "text_id 'no text'"),
        (
            [(image, text), (image, text)],
            "Row 2 of scores.csv scores a pair that an earlier row scores",
        ),
    ):
        with pytest.raises(UserError, match=message):
            dataset_scores(
                table(pairs, [0.5] * len(pairs)),
                PATH,
                benchmark=benchmark,
                protocols=PROTOCOLS,
                probabilities=False,
            )
    train = next(row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train")
    with pytest.raises(UserError, match=r"has no score that an item of .* needs"):
        dataset_scores(
            table([(train, text)], [0.5]),
            PATH,
            benchmark=benchmark,
            protocols=PROTOCOLS,
            probabilities=False,
        )


WINOGROUND = {  # item: scores of c0_i0, c0_i1, c1_i0, c1_i1; whether text, image, group are right
    "0": ((0.9, 0.2, 0.3, 0.8), (True, True, True)),
    "1": ((0.9, 0.95, 0.3, 0.99), (True, False, False)),
    "2": ((0.5, 0.1, 0.6, 0.7), (False, True, False)),
    "3": ((0.5, 0.5, 0.2, 0.9), (True, False, False)),
    "4": ((0.1, 0.2, 0.3, 0.4), (False, False, False)),
    "5": ((2.0, 1.0, 1.0, 2.0), (True, True, True)),
    "6": ((0.0, 1.0, 1.0, 0.0), (False, False, False)),
}


def write_csv(path: Path, rows: list[Row]) -> Path:
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """A file in the layout in which Winoground's authors publish scores."""
    path = tmp_path / "clip.jsonl"
    places = [(c, i) for c in "01" for i in "01"]
    lines = [
        json.dumps({"label": f"{item}_c{c}_i{i}", "score": score})
        for item, (scores, _) in WINOGROUND.items()
        for (c, i), score in zip(places, scores, strict=True)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_winoground_scores_are_those_computed_by_hand(labels: Path, tmp_path: Path) -> None:
    results = score_json(
        "measure", "--items", labels, "--out", tmp_path / "run", "--benchmark", "winoground"
    )
    assert (results["model"], results["benchmark"]) == ("clip", "winoground")
    for i, (metric, chance) in enumerate((("text", 1 / 4), ("image", 1 / 4), ("group", 1 / 6))):
        row = find(results, "pairs", "all", metric=metric)
        assert row["value"] == pytest.approx(
            sum(right[i] for _, right in WINOGROUND.values()) / 7, abs=1e-6
        )
        assert row["chance"] == pytest.approx(chance, abs=1e-6)
        assert (row["items"], row["clusters"], row["unscored"]) == (7, 7, 0)
        assert row["low"] < row["value"] < row["high"]
    assert [find(results, "pairs", "all", metric=m)["ties"] for m in ("text", "image")] == [0, 1]
    assert results.pop("verdict")["kind"] == "nothing held out"
    remeasured = measure(tmp_path / "run")
    assert remeasured == results


def test_a_list_of_rows_in_json_is_a_table_and_no_log(labels: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()]
    (tmp_path / "clip.json").write_text(json.dumps(rows), encoding="utf-8-sig")
    assert (
        score_json("measure", "--items", tmp_path / "clip.json", "--out", tmp_path / "a")["rows"]
        == (score_json("measure", "--items", labels, "--out", tmp_path / "b")["rows"])
    )


def test_the_terminal_shows_two_decimals_ties_and_the_tolerance(
    labels: Path, tmp_path: Path
) -> None:
    done = score_command(
        "measure", "--items", labels, "--out", tmp_path / "run", "--tolerance", "0.2"
    )
    assert "57.14 [" not in done.stdout
    assert "scores tie within 0.2" in done.stdout
    exact = score_command("measure", tmp_path / "run", "--tolerance", "0")
    assert "57.14 [" in exact.stdout
    assert "scores tie within 0" in exact.stdout
    recorded = score_command("measure", tmp_path / "run")
    assert "scores tie within 0.2" in recorded.stdout
    wrong = score_command("measure", tmp_path / "run", "--tolerance", "nan")
    assert wrong.exit_code == 2
    assert "nan is not a number" in wrong.stderr


def test_a_report_without_images_opens_and_shows_the_words(tmp_path: Path) -> None:
    rows: list[Row] = [
        {
            "item": i,
            "protocol": "binary",
            "truth": truth,
            "text": f"the {truth} text {i}",
            "score": score,
        }
        for i in range(4)
        for truth, score in ((True, 0.5), (False, 0.4 + 0.1 * i))
    ]
    succeed(
        "measure", "--items", write_csv(tmp_path / "scores.csv", rows), "--out", tmp_path / "run"
    )
    succeed("report", tmp_path / "run")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "data:image/webp" not in page
    assert all(str(row["text"]) in page for row in rows)
    assert "none: scores from elsewhere" in page
    words = pd.read_csv(tmp_path / "run" / "tables" / "items.csv")
    assert words["true_text"].tolist() == [row["text"] for row in rows if row["truth"]]


def test_probabilities_near_one_tie_unless_they_are_read_as_log_odds(tmp_path: Path) -> None:
    rows = [
        {"item": i, "protocol": "binary", "truth": truth, "score": repr(p)}
        for i in range(5)
        for truth, p in ((1, 1 - 10 ** -(7 + i)), (0, 1 - 10 ** -(6 + i)))
    ]
    path = write_csv(tmp_path / "itm.csv", rows)
    plain = find(score_json("measure", "--items", path, "--out", tmp_path / "a"), "binary", "all")
    odds = find(
        score_json("measure", "--items", path, "--out", tmp_path / "b", "--probabilities"),
        "binary",
        "all",
    )
    assert (plain["value"], plain["ties"]) == (0, 5)
    assert (odds["value"], odds["ties"]) == (1, 0)
    assert read_json(tmp_path / "b" / "run.json")["info"]["probabilities"] == "read as log-odds"


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = one_of_each(Builder(0, 40), 12)
    for _ in range(12):
        add_pair(builder)
    return builder.write(tmp_path_factory.mktemp("all") / "dataset")


@pytest.mark.full
def test_every_protocol_has_the_results_of_a_run_of_ours(everything: Path, tmp_path: Path) -> None:
    """The items of a benchmark of every protocol, as a file of candidates, and by ids, against the
    run itself."""
    rng = np.random.default_rng(1)
    own = write_run(everything, tmp_path / "own", lambda n: planted(rng, n))
    expected = measure(own)
    benchmark = Dataset.open(everything).benchmark("all")
    scores = pq.read_table(own / "scores.parquet")["score"].to_pylist()
    candidates = benchmark.candidates.to_pandas().assign(score=scores)
    rows = candidates.rename(columns={"kind": "candidate_kind"})
    rows = rows.merge(benchmark.items.to_pandas(), on="item_id").merge(
        benchmark.texts.to_pandas(), on="text_id"
    )
    rows = rows.rename(columns={"item_id": "item", "cluster_id": "cluster", "scene_id": "image"})
    of_items = ["item", "protocol", "split", "kind", "skill", "cluster"]
    of_candidates = ["image", "slot", "truth", "candidate_kind", "text", "level", *COUNTS, "score"]
    rows[of_items + of_candidates].to_parquet(tmp_path / "items.parquet", index=False)
    results = score_json(
        "measure", "--items", tmp_path / "items.parquet", "--out", tmp_path / "run"
    )
    order = list(dict.fromkeys(row["protocol"] for row in results["rows"]))
    candidates[["scene_id", "text_id", "score"]].to_csv(tmp_path / "ids.csv", index=False)
    of_dataset = ("--dataset", everything, "--benchmark", "all", "--out", tmp_path / "by-ids")
    by_ids = score_json("measure", "--items", tmp_path / "ids.csv", *of_dataset)
    for part in ("rows", "fits", "cells"):
        same = sorted(unnamed(expected[part]), key=lambda row: order.index(row["protocol"]))
        assert unnamed(results[part]) == same
        assert unnamed([row for row in by_ids[part] if row.get("kind") != "raw"]) == same


def test_retrieval_needs_no_pool_of_ours(tmp_path: Path) -> None:
    scores = {"q0": (0.9, 0.1, 0.2, 0.8), "q1": (0.3, 0.1, 0.5, 0.2), "q2": (0.1, 0.6, 0.6, 0.0)}
    rows = [
        {"item": item, "protocol": "retrieval", "truth": place < 2, "score": score}
        for item, values in scores.items()
        for place, score in enumerate(values)
    ]
    results = score_json(
        "measure", "--items", write_csv(tmp_path / "r.csv", rows), "--out", tmp_path / "run"
    )
    row = find(results, "retrieval", "all")
    assert (row["metric"], row["value"], row["ties"]) == ("R@1", pytest.approx(1 / 3, abs=1e-6), 1)
    assert row["chance"] == pytest.approx(1 / 2)


def test_scores_of_a_dataset_with_a_pool_are_those_of_its_run(
    bags: None, drawn: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    succeed("run", drawn, "--model", f"bag:sharp@{drawn}", "--out", own)
    (pool,) = item_pools(Dataset.open(drawn).benchmark(), ["retrieval"])
    pairs = pq.read_table(own / "scores.parquet").to_pylist()
    scores = {(row["image_id"], row["text_id"]): row["score"] for row in pairs}
    for image, values in zip(pool.images, pool_matrix(own, "grid").tolist(), strict=True):
        scores |= {(image, text): value for text, value in zip(pool.texts, values, strict=True)}
    shuffled = random.Random(0).sample(list(scores), len(scores))
    pq.write_table(
        table(shuffled, [scores[pair] for pair in shuffled]), tmp_path / "scores.parquet"
    )
    results = score_json(
        "measure",
        "--items",
        tmp_path / "scores.parquet",
        "--dataset",
        drawn,
        "--out",
        tmp_path / "run",
    )
    assert unnamed(results["rows"]) == unnamed(measure(own)["rows"])
    succeed("report", tmp_path / "run")
    assert "data:image/webp" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_folder_of_something_else_is_left_alone(labels: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "notes.txt").write_text("mine")
    refused = score_command("measure", "--items", labels, "--out", tmp_path / "kept")
    assert_one_sentence(
        refused, "is not empty and holds no scores from elsewhere; choose another --out."
    )
    assert (tmp_path / "kept" / "notes.txt").read_text() == "mine"


def test_the_same_folder_may_be_written_again(labels: Path, tmp_path: Path) -> None:
    first = score_json(
        "measure", "--items", labels, "--out", tmp_path / "run", "--benchmark", "one"
    )
    second = score_json(
        "measure", "--items", labels, "--out", tmp_path / "run", "--benchmark", "two"
    )
    assert unnamed(first["rows"]) == unnamed(second["rows"])
    assert [path.name for path in (tmp_path / "run" / "benchmarks").iterdir()] == ["two"]
