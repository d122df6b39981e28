"""From the scores of a run to results: every protocol's outcomes and rows. Needs no model."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from evaluator.protocols import NAMES, retrieval
from evaluator.protocols.comparison import TOLERANCE
from evaluator.protocols.items import Candidates
from evaluator.protocols.outcomes import Measured, Row
from evaluator.scoring import collect_needs
from evaluator.statistics import DRAWS
from generator.dataset.errors import UserError
from generator.dataset.files import read_json, write_json, write_text
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.schema import SCORES

PROTOCOLS = {name: import_module(f"evaluator.protocols.{name}") for name in NAMES}
TRAINING = "train"
_RULES = {"tie_tolerance": TOLERANCE, "interval": f"95%, cluster bootstrap, {DRAWS} draws, seed 0"}


def measure(folder: Path) -> dict[str, Any]:
    """Write results.json and tables/*.csv of the run in `folder`; returns the results.

    `rows` has a row for every metric, group of items and split of every protocol, `fits` the skill loads, `cells` R@1 for
    every combination of counts, `unknown_protocols` what the benchmark asks and nobody here measures.
    Raises UserError when the folder is no run, or when the dataset changed since the scores were made.
    """
    return results_of(folder, measure_protocols(folder))


def results_of(folder: Path, measured: dict[str, Measured]) -> dict[str, Any]:
    """Write and return the results of a run that was measured."""
    record = read_json(folder / "run.json")
    benchmark = Dataset.open(record["dataset"]).benchmark(record["benchmark_name"])

    def named(part: str) -> list[Row]:
        return [{"protocol": name, **row} for name, each in measured.items() for row in getattr(each, part)]

    results = {
        "model": record["model"], "benchmark": record["benchmark_name"], "certificate": record["certificate"], "rules": _RULES,
        "unknown_protocols": unknown_protocols(benchmark), **{part: named(part) for part in ("rows", "fits", "cells")},
    }  # fmt: skip
    write_json(folder / "results.json", results)
    tables = folder / "tables"
    tables.mkdir(exist_ok=True)
    _write_csv(tables / "summary.csv", pa.Table.from_pylist(results["rows"]))
    _write_csv(tables / "cells.csv", pa.Table.from_pylist(results["cells"]))
    _write_csv(tables / "fits.csv", pa.Table.from_pylist([row for fit in results["fits"] for row in _fit_rows(fit)]))
    _write_csv(
        tables / "items.csv", pa.concat_tables([t for name, m in measured.items() for t in _item_tables(name, m)])
    )
    return results


def measure_protocols(folder: Path) -> dict[str, Measured]:
    """Items, outcomes and rows of every protocol of a run."""
    if not (folder / "run.json").exists():
        raise UserError(f"{folder} is no finished run; give a folder written by `score run`.")
    record = read_json(folder / "run.json")
    if not (folder / "scores.parquet").exists():
        raise UserError(f"{folder} has lost its scores.parquet; run `score run` again.")
    dataset = Dataset.open(record["dataset"])
    benchmark = dataset.benchmark(record["benchmark_name"])
    if (benchmark.digest, dataset.world.digest) != (record["benchmark"], record["world"]):
        raise UserError(
            f"The dataset {record['dataset']} changed since {folder} was scored; run `score run` again with another --out."
        )
    scores = pq.read_table(folder / "scores.parquet", schema=SCORES)
    protocols, indistinct = record["protocols"], record["indistinct_texts"]
    candidates = Candidates(benchmark, [name for name in protocols if name != "retrieval"], scores, indistinct)
    return {
        name: _measure_retrieval(folder, benchmark, indistinct)
        if name == "retrieval"
        else PROTOCOLS[name].measure(candidates.items(name))
        for name in protocols
    }


def unknown_protocols(benchmark: Benchmark) -> dict[str, int]:
    """Protocols that the benchmark has items of and that are not measured here, with the number of items."""
    counts = benchmark.items["protocol"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in counts if row["values"] not in (*PROTOCOLS, TRAINING)}


def _measure_retrieval(folder: Path, benchmark: Benchmark, indistinct: dict[str, str]) -> Measured:
    def matrix(pool: str) -> np.ndarray:
        return np.asarray(np.load(folder / "pools" / f"{pool}.npy"))

    pools = collect_needs(benchmark, ["retrieval"]).pools
    return retrieval.measure(*retrieval.load_pools(benchmark, pools, matrix, indistinct))


def _fit_rows(fit: Row) -> list[Row]:
    """A row for each coefficient of a skill load; one without for a fit that could not be made."""
    common = {name: value for name, value in fit.items() if name != "coefficients"}
    return [{**common, "count": count, **values} for count, values in fit["coefficients"].items()] or [common]


def _item_tables(protocol: str, measured: Measured) -> list[pa.Table]:
    """The outcomes of every item, a table for each metric."""
    items = measured.items
    n = len(items)
    names = ("item_id", "scene_id", "cluster", "kind", "skill", "level", "split")
    common = {name: pa.array(getattr(items, name), pa.string()) for name in names}
    scored = items.scored
    shown = {
        name: pa.array(column, pa.string())
        if name.endswith("_text")
        else pa.array(column.astype(np.float64), mask=~scored)
        for name, column in items.shown().items()
    }
    return [
        pa.table(
            {
                "protocol": pa.array([protocol] * n, pa.string()), **common, "metric": pa.array([outcome.metric] * n, pa.string()),
                "value": pa.array(outcome.value.astype(np.float64), mask=~scored), "tie": pa.array(outcome.tie, mask=~scored),
                **shown, "unscored": pa.array(items.unscored, pa.string()),
            }
        )
        for outcome in measured.outcomes
    ]  # fmt: skip


def _write_csv(path: Path, table: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    if table.num_columns:
        pa.csv.write_csv(table, sink, pa.csv.WriteOptions(quoting_style="needed"))
    write_text(path, sink.getvalue().to_pybytes().decode())
