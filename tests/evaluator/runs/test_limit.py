"""A few items of each protocol instead of all."""

from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pytest

from evaluator import evaluate
from evaluator.runs.parts import describe_limit, items_in_splits, limit_items, record_limit
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark
from tests.evaluator.conftest import score_command, succeed


def test_a_limit_takes_some_items_of_each_protocol(benchmark: Benchmark) -> None:
    few, fewer = limit_items(benchmark, 20), limit_items(benchmark, 5)
    for protocol in ("binary", "retrieval"):
        all_items, some_items, fewest_items = (
            set(part.items_of(protocol)["item_id"].to_pylist()) for part in (benchmark, few, fewer)
        )
        assert (len(some_items), len(fewest_items)) == (20, 5)
        assert fewest_items < some_items < all_items
    assert few.items_of("train").num_rows == benchmark.items_of("train").num_rows
    assert limit_items(benchmark, None) is benchmark
    assert limit_items(benchmark, 10**6).items.equals(benchmark.items)
    assert few.items.equals(limit_items(benchmark, 20).items)
    assert few.digest == benchmark.digest


def test_a_split_that_a_limit_empties_is_named(benchmark: Benchmark) -> None:
    limited = limit_items(benchmark, 1)
    record = record_limit(benchmark, limited, protocols=["binary"], limit=1)
    items = benchmark.items_of("binary")
    assert record["of"] == {"binary": items.num_rows}
    assert len(record["empty"]["binary"]) == len(pc.unique(items["split"])) - 1
    (sentence,) = describe_limit(record)
    assert sentence.startswith("The limit of 1 items left 'binary' no items of ")
    record = record_limit(benchmark, benchmark, protocols=["binary"], limit=10**6)
    assert describe_limit(record) == []


def test_some_splits_alone_are_scored(
    bags: None, drawn: Path, benchmark: Benchmark, tmp_path: Path
) -> None:
    assert items_in_splits(benchmark, ()) is benchmark
    with pytest.raises(UserError, match=r"has no items of the split 'vall'; did you mean 'val'\?"):
        items_in_splits(benchmark, ["vall"])
    few = evaluate(f"bag:sharp@{drawn}", drawn, within="val", out=tmp_path / "run").items
    whole = evaluate(f"bag:sharp@{drawn}", drawn).items
    expected = whole[whole["split"] == "val"]
    assert few["item_id"].tolist() == expected["item_id"].tolist() != []
    assert few["value"].tolist() == expected["value"].tolist()
    with pytest.raises(UserError, match="holds a run of another split"):
        evaluate(f"bag:sharp@{drawn}", drawn, out=tmp_path / "run")


def test_results_say_the_limit_and_keep_it_when_measured_again(
    bags: None, drawn: Path, tmp_path: Path
) -> None:
    spec, out = f"bag:sharp@{drawn}", tmp_path / "run"
    done = succeed(
        "run", drawn, "--model", spec, "--protocol", "binary", "--limit", 2, "--out", out
    )
    assert "(limit 2)" in done.stdout
    assert "The limit of 2 items left 'binary' no items of" in done.stdout
    assert "The limit of 2 items left 'binary' no items of" in done.stderr
    measured = score_command("measure", out)
    assert measured.stdout == done.stdout
    whole = evaluate(spec, drawn, protocols="binary").results
    for table in ("summary", "items"):
        assert set(pd.read_csv(out / "tables" / f"{table}.csv")["limit"]) == {2}
    of_limit = evaluate(spec, drawn, protocols="binary", limit=2).results
    assert sum(row["items"] for row in of_limit["rows"] if not row["is_gap"]) == 2
    assert (
        of_limit["factors"]["design"] != whole["factors"]["design"]
    )  # so that they are never pooled
    refused = score_command("run", drawn, "--model", spec, "--protocol", "binary", "--out", out)
    assert refused.exit_code == 2
    assert "holds a run of another limit (2); choose another --out." in refused.stderr
