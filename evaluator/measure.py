"""From the scores of a run to results: every protocol's outcomes and rows. Needs no model."""

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from evaluator.protocols import NAMES, raw, retrieval
from evaluator.protocols.comparison import TOLERANCE
from evaluator.protocols.items import Candidates, positions
from evaluator.protocols.outcomes import Measured, Row
from evaluator.report.latex import latex_tables
from evaluator.scoring.needs import collect_needs, sampled_mask
from evaluator.scoring.writing import pool_path
from evaluator.statistics import DRAWS
from generator.dataset.errors import UserError, did_you_mean
from generator.dataset.files import read_json, write_json, write_text
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.schema import SCORES

PROTOCOLS = {name: import_module(f"evaluator.protocols.{name}") for name in NAMES}
TRAINING = "train"
_RULES = {"tie_tolerance": TOLERANCE, "interval": f"95%, cluster bootstrap, {DRAWS} draws, seed 0"}


def measure(folder: Path, channel: str | None = None) -> dict[str, Any]:
    """Write results.json and tables/ of the run in `folder`; returns the results.

    `rows` has a row for every metric, group of items and split of every protocol, `fits` the skill loads, `cells` R@1 for
    every combination of counts, `unknown_protocols` what the benchmark asks and nobody here measures. `channel` is which
    of a model's scores is measured; None is the one that the run measured.
    Raises UserError when the folder is no run, or when the dataset changed since the scores were made.
    """
    return results_of(folder, measure_protocols(folder, channel), channel)


def results_of(folder: Path, measured: dict[str, Measured], channel: str | None = None) -> dict[str, Any]:
    """Write and return the results of a run that was measured."""
    record = read_json(folder / "run.json")
    benchmark = Dataset.open(record["dataset"]).benchmark(record["benchmark_name"])

    def named(part: str) -> list[Row]:
        return [{"protocol": name, **row} for name, each in measured.items() for row in getattr(each, part)]

    results = {
        "model": record["model"], "benchmark": record["benchmark_name"], "certificate": record["certificate"], "rules": _RULES,
        "channel": _channel(record, channel), "sampled_pools": record.get("sampled_pools", {}), "left_out": record.get("left_out", []),
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
    for name, text in latex_tables(results).items():
        write_text(tables / f"{name}.tex", text)
    return results


def measure_protocols(folder: Path, channel: str | None = None) -> dict[str, Measured]:
    """Items, outcomes and rows of every protocol of a run, by one channel of its scores."""
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
    channel = _channel(record, channel)
    scores = pq.read_table(folder / "scores.parquet", schema=SCORES)
    scores = scores.filter(pc.equal(scores["channel"], channel))
    run = _Run(folder, record, channel, benchmark, scores)
    candidates = Candidates(
        benchmark, [name for name in record["protocols"] if name != "retrieval"], scores, record["indistinct_texts"]
    )
    return {
        name: run.retrieval()
        if name == "retrieval"
        else run.with_raw(name, PROTOCOLS[name].measure(candidates.items(name)))
        for name in record["protocols"]
    }


def unknown_protocols(benchmark: Benchmark) -> dict[str, int]:
    """Protocols that the benchmark has items of and that are not measured here, with the number of items."""
    counts = benchmark.items["protocol"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in counts if row["values"] not in (*PROTOCOLS, TRAINING)}


def _channel(record: dict[str, Any], asked: str | None) -> str:
    """The channel to measure. Raises UserError when the run has none of that name."""
    channels = record.get("channels", ["cosine"])
    if asked is not None and asked not in channels:
        raise UserError(f"The run has no channel '{asked}': {did_you_mean(asked, channels)}")
    return str(asked or record.get("channel") or channels[0])


@dataclass(frozen=True)
class _Run:
    """The scores of one channel of a run."""

    folder: Path
    record: dict[str, Any]
    channel: str
    benchmark: Benchmark
    scores: pa.Table

    def retrieval(self) -> Measured:
        """R@1 in the pools, whole or sampled."""
        pools = collect_needs(self.benchmark, ["retrieval"]).pools
        sampled = self.record.get("sampled_pools", {})

        def matrix(pool: str) -> np.ndarray:
            return self._looked_up(*pools[pool]) if pool in sampled else self._matrix(pool)

        def asked(pool: str) -> np.ndarray | None:
            return sampled_mask(self.benchmark, pool, *pools[pool], sampled[pool]) if pool in sampled else None

        loaded = retrieval.load_pools(self.benchmark, pools, matrix, self.record["indistinct_texts"], asked)
        return retrieval.measure(*loaded, sampled=bool(sampled))

    def with_raw(self, protocol: str, measured: Measured) -> Measured:
        """What was measured, with the rows of raw retrieval where the run has its scores."""
        if protocol not in self.record.get("raw_retrieval", []):
            return measured
        rows = raw.rows(raw.folds(self.benchmark, protocol), self._matrix, self.record["indistinct_texts"])
        return replace(measured, rows=measured.rows + rows)

    def _matrix(self, pool: str) -> np.ndarray:
        channels = self.record.get("channels", ["cosine"])
        return np.asarray(np.load(pool_path(self.folder, pool, self.channel, channels.index(self.channel))))

    def _looked_up(self, images: list[str], texts: list[str]) -> np.ndarray:
        """The scores of scores.parquet as a matrix, float32 (images, texts), nan for what is not there."""
        row = positions(self.scores["image_id"], pa.chunked_array([images], pa.string()))
        column = positions(self.scores["text_id"], pa.chunked_array([texts], pa.string()))
        inside = (row >= 0) & (column >= 0)
        matrix = np.full((len(images), len(texts)), np.nan, dtype=np.float32)
        values = self.scores["score"].to_numpy(zero_copy_only=False).astype(np.float32)
        matrix[row[inside], column[inside]] = values[inside]
        return matrix


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
