"""Write the tables of a run as CSV (results, outcomes and best texts of items), and yield its
questions as rows."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.benchmarks.tables import rows_of
from evaluator.protocols.items import TOP, Items
from evaluator.protocols.records import Results
from evaluator.protocols.results import Outcome, ProtocolResults
from evaluator.provenance.contamination import MARK, mark_of, marks_said
from evaluator.runs.folder import Run, tables_folder
from generator.base.tables import write_csv

_ROWS = 50_000
"""Items whose tables are in memory at once."""
_TOP = pa.schema(
    [
        *((name, pa.string()) for name in ("protocol", "item_id", "scene_id", "kind", "split")),
        ("rank", pa.int32()),
        ("truth", pa.bool_()),
        ("score", pa.float64()),
        ("text", pa.string()),
        ("text_id", pa.string()),
    ]
)
COLUMNS = (
    "protocol",
    "item_id",
    "split",
    "kind",
    "skill",
    "level",
    "cluster",
    "images",
    "texts",
    "truth",
    "scores",
    "margin",
    "metric",
    "value",
    "tie",
    "unscored",
    "mark",
)


def write_tables(run: Run, measured: Mapping[str, ProtocolResults], results: Results) -> None:
    """Write tables/*.csv of a run. If the run has a limit or is contaminated, every row says so."""
    folder, text_of = tables_folder(run.folder), run.benchmark.text_of
    marks: dict[str, str | int | None] = {
        "limit": results["rules"].get("limit"),
        MARK: mark_of(results),
    }
    marks["revealed"] = "; ".join(results.get("revealed") or ()) or None
    level = results["rules"]["level"]
    fits = [row for fit in results["fits"] for row in _fit_rows(fit)]
    for name, rows in (("summary", results["rows"]), ("cells", results["cells"]), ("fits", fits)):
        table = pa.Table.from_pylist(rows)
        if table.num_columns:  # `level` is the name of another label
            table = table.append_column(
                "confidence", pa.array([level] * table.num_rows, pa.float64())
            )
        write_csv(folder / f"{name}.csv", _marked(table, marks))
    outcomes = (
        _outcomes(name, items, outcomes[i], text_of)
        for name, each in measured.items()
        for i in range(len(each.outcomes))
        for items, outcomes in each.parts(_ROWS)
    )
    top = (
        top_texts(name, items, text_of)
        for name, each in measured.items()
        for items, _ in each.parts(_ROWS)
    )
    for name, tables in (("items", outcomes), ("top", top)):
        write_csv(folder / f"{name}.csv", (_marked(table, marks) for table in tables))


def top_texts(protocol: str, items: Items, text_of: Mapping[str, str]) -> pa.Table:
    """The TOP best texts of every scored item that has more than TOP texts: a row (_TOP) for each
    text, best first.

    Compares the texts of slots c and n. Among scores that tie within the tolerance the false text
    comes first, since a tie is never correct.
    """
    compared = items.of_slots("c", "n")
    inside = compared.truth | compared.false
    items = compared.take(compared.scored & (inside.sum(axis=1) > TOP))
    inside = items.truth | items.false
    scores = items.scores.astype(np.float64)
    needed = scores - items.truth * items.tolerance * np.maximum(
        1, np.abs(scores)
    )  # a true text has to win by more
    order = np.lexsort((items.truth, np.where(inside, -needed, np.inf)), axis=1)[:, :TOP]

    def best(values: np.ndarray) -> list[object]:
        return list(np.take_along_axis(values, order, axis=1).ravel().tolist())

    text_ids = best(items.text_id)
    columns = {
        "protocol": [protocol] * len(text_ids),
        **{
            name: np.repeat(getattr(items, name), TOP).tolist()
            for name in ("item_id", "scene_id", "kind", "split")
        },
        "rank": list(range(1, TOP + 1)) * len(items),
        "truth": best(items.truth),
        "score": best(items.scores.astype(np.float64)),
        "text": [text_of.get(str(text_id)) for text_id in text_ids],
        "text_id": text_ids,
    }
    return pa.table(columns, schema=_TOP)


def item_rows(run: Run, measured: dict[str, ProtocolResults]) -> Iterator[dict[str, Any]]:
    """A row of COLUMNS for each question of a run.

    images, texts, truth, scores: lists with an entry for each candidate: its scene, its words,
    whether they are true of the scene, and its score (None if missing). A question against a pool
    has up to six candidates, the three best true and the three best false texts. margin: best true
    score less best false score; with two images, for the first. metric, value, tie: the protocol's
    first metric, the outcome, and whether a tie decided it. unscored: the reason if there is no
    outcome (margin, value and tie are then None), else None. mark: the warning for a contaminated
    model or a stand-in, else None.
    """
    scenes: dict[str, list[str]] = {}
    for item, scene in rows_of(run.benchmark.candidates, "item_id", "scene_id"):
        scenes.setdefault(item, []).append(scene)
    for protocol, found in measured.items():
        items, outcome = found.items, found.outcomes[0]
        best = items.best_candidates()
        for i in range(len(items)):
            given = np.flatnonzero(items.truth[i] | items.false[i])
            scored, texts = bool(items.unscored[i] == ""), items.text_id[i, given].tolist()
            shown = scenes.get(str(items.item_id[i]), [])
            yield {
                "protocol": protocol,
                **{
                    name: getattr(items, name)[i] or None
                    for name in ("item_id", "split", "kind", "skill", "level", "cluster")
                },
                "images": shown if len(shown) == len(given) else [items.scene_id[i]] * len(given),
                "texts": [run.benchmark.text_of.get(text) for text in texts],
                "truth": items.truth[i, given].tolist(),
                "scores": [_number(each) for each in items.scores[i, given]],
                "margin": _number(best["true"][i] - best["false"][i]) if scored else None,
                "metric": outcome.metric,
                "value": _number(outcome.value[i]) if scored else None,
                "tie": bool(outcome.tie[i]) if scored else None,
                "unscored": items.unscored[i] or None,
                "mark": marks_said(run.record) or None,
            }


def _number(value: np.floating[Any]) -> float | None:
    """A number for JSON; None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None


def _fit_rows(fit: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each coefficient of a fit; one row without coefficients for a fit that failed."""
    common = {name: value for name, value in fit.items() if name != "coefficients"}
    return [
        {**common, "count": count, **values} for count, values in fit["coefficients"].items()
    ] or [common]


def _outcomes(
    protocol: str, items: Items, outcome: Outcome, text_of: Mapping[str, str]
) -> pa.Table:
    """A table of the outcome of each item by one metric, with its best texts as words and ids."""
    n = len(items)
    labels = {
        name: pa.array(getattr(items, name), pa.string())
        for name in ("item_id", "scene_id", "cluster", "kind", "skill", "level", "split")
    }
    bindings = items.bindings if outcome.bindings is None else outcome.bindings
    if bindings is not None:
        labels["bindings"] = pa.array(bindings, pa.string())
    candidates = {}
    for name, column in items.best_candidates().items():
        if name.endswith("_text"):
            candidates[name] = pa.array([text_of.get(text) for text in column], pa.string())
            candidates[f"{name}_id"] = pa.array(column, pa.string())
        else:
            candidates[name] = _numbers(column, items.scored)
    return pa.table(
        {
            "protocol": pa.array([protocol] * n, pa.string()),
            **labels,
            "metric": pa.array([outcome.metric] * n, pa.string()),
            "value": _numbers(outcome.value, items.scored),
            "tie": pa.array(outcome.tie, mask=~items.scored),
            **candidates,
            "unscored": pa.array(items.unscored, pa.string()),
            **({} if items.unread is None else {"unread": pa.array(items.unread, pa.string())}),
        }
    )


def _numbers(values: np.ndarray, known: np.ndarray) -> pa.Array:
    return pa.array(values.astype(np.float64), mask=~known | np.isnan(values))


def _marked(table: pa.Table, marks: Mapping[str, str | int | None]) -> pa.Table:
    """Prepend a constant column to the table for each mark that is set."""
    for name, mark in marks.items():
        if mark and table.num_columns:
            table = table.add_column(0, name, pa.repeat(pa.scalar(mark), table.num_rows))
    return table
