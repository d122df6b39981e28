"""Write the tables of a run as CSV (results, outcomes and best texts of items), and yield its
questions as rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.benchmarks.tables import rows_of
from evaluator.protocols.items import COUNTS, TOP, Items
from evaluator.protocols.records import Results
from evaluator.protocols.results import Outcome, ProtocolResults
from evaluator.provenance.contamination import MARK, describe_marks, mark_of
from evaluator.runs.folder import Run, tables_folder
from generator.base.tables import write_csv

_ITEMS_AT_ONCE = 50_000
"""Items whose tables are in memory at once; a run may have millions."""
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
"""The columns of top.csv."""
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
"""The columns of the rows of `item_rows`."""
Marks = Mapping[str, str | int | None]
"""What every row of a run's tables says, by column; None for a mark that is not set."""


def write_tables(run: Run, measured: Mapping[str, ProtocolResults], results: Results) -> None:
    """Write tables/*.csv of a run. If the run has a limit, is contaminated, or its texts reveal
    answers, every row says so.

    Args:
        run: A finished run.
        measured: By protocol, its results.
        results: The contents of results.json.
    """
    folder = tables_folder(run.folder)
    text_of = run.benchmark.text_of
    marks: Marks = {
        "limit": results["rules"].get("limit"),
        MARK: mark_of(results),
        "revealed": "; ".join(results.get("revealed") or ()) or None,
    }

    # The tables of results.
    fits: list[dict[str, Any]] = []
    for fit in results["fits"]:
        fits += _fit_rows(fit)
    level = results["rules"]["level"]
    for name, rows in (("summary", results["rows"]), ("cells", results["cells"]), ("fits", fits)):
        table = pa.Table.from_pylist(rows)
        if table.num_columns:
            # Not called `level`, which is the name of a label.
            levels = pa.array([level] * table.num_rows, pa.float64())
            table = table.append_column("confidence", levels)
        write_csv(folder / f"{name}.csv", _marked(table, marks))

    # The tables of items, which are made and written part by part.
    outcomes = _outcome_tables(measured, text_of)
    write_csv(folder / "items.csv", (_marked(table, marks) for table in outcomes))
    top = _top_tables(measured, text_of)
    write_csv(folder / "top.csv", (_marked(table, marks) for table in top))


def _outcome_tables(
    measured: Mapping[str, ProtocolResults], text_of: Mapping[str, str]
) -> Iterator[pa.Table]:
    """The outcomes of all items: by protocol, then by metric."""
    for protocol, results in measured.items():
        for metric in range(len(results.outcomes)):
            for items, outcomes in results.parts(_ITEMS_AT_ONCE):
                yield _outcomes(protocol, items, outcome=outcomes[metric], text_of=text_of)


def _top_tables(
    measured: Mapping[str, ProtocolResults], text_of: Mapping[str, str]
) -> Iterator[pa.Table]:
    for protocol, results in measured.items():
        for items, _ in results.parts(_ITEMS_AT_ONCE):
            yield top_texts(protocol, items, text_of)


def top_texts(protocol: str, items: Items, text_of: Mapping[str, str]) -> pa.Table:
    """The TOP best texts of every scored item that has more than TOP texts.

    Compares the texts of slots c and n. Among scores that tie within the tolerance the false text
    comes first, since a tie is never correct.

    Args:
        protocol: Name of the items' protocol.
        items: The items with their scores.
        text_of: By text_id, its words.

    Returns:
        A row (_TOP) for each text, best first.
    """
    compared = items.of_slots("c", "n")
    n_texts = (compared.truth | compared.false).sum(axis=1)
    items = compared.take(compared.scored & (n_texts > TOP))

    # A true text has to win by more than the tolerance.
    scores = items.scores.astype(np.float64)
    handicap = items.truth * items.rules.tolerance * np.maximum(1, np.abs(scores))
    is_compared = items.truth | items.false
    sort_key = np.where(is_compared, -(scores - handicap), np.inf)
    # lexsort sorts by its last key first; False is before True.
    order = np.lexsort((items.truth, sort_key), axis=1)[:, :TOP]

    def best(values: np.ndarray) -> list[object]:
        return list(np.take_along_axis(values, order, axis=1).ravel().tolist())

    text_ids = best(items.text_id)
    columns: dict[str, Any] = {"protocol": [protocol] * len(text_ids)}
    for name in ("item_id", "scene_id", "kind", "split"):
        columns[name] = np.repeat(getattr(items, name), TOP).tolist()
    columns |= {
        "rank": list(range(1, TOP + 1)) * len(items),
        "truth": best(items.truth),
        "score": best(scores),
        "text": [text_of.get(str(text_id)) for text_id in text_ids],
        "text_id": text_ids,
    }
    return pa.table(columns, schema=_TOP)


def item_rows(run: Run, measured: Mapping[str, ProtocolResults]) -> Iterator[dict[str, Any]]:
    """The questions of a run with their candidates, scores and outcomes.

    Args:
        run: A finished run.
        measured: By protocol, its results.

    Yields:
        A row of COLUMNS for each question. images, texts, truth, scores: lists with an entry for
        each candidate: its scene, its words, whether they are true of the scene, and its score
        (None if missing). A question against a pool has up to six candidates, the three best true
        and the three best false texts. margin: best true score less best false score; with two
        images, for the first. metric, value, tie: the protocol's first metric, the outcome, and
        whether a tie decided it. unscored: the reason if there is no outcome (margin, value and
        tie are then None), else None. mark: the warning for a contaminated model or a stand-in,
        else None.
    """
    scenes_of_item: dict[str, list[str]] = {}
    for item, scene in rows_of(run.benchmark.candidates, "item_id", "scene_id"):
        scenes_of_item.setdefault(item, []).append(scene)
    mark = describe_marks(run.record) or None
    for protocol, results in measured.items():
        items, outcome = results.items, results.outcomes[0]
        best = items.best_candidates()
        margins = best["true"] - best["false"]
        for i in range(len(items)):
            candidates = np.flatnonzero(items.truth[i] | items.false[i])
            # Candidates of a pool are not in the benchmark's table; all are of one image.
            images = scenes_of_item.get(str(items.item_id[i]), [])
            if len(images) != len(candidates):
                images = [items.scene_id[i]] * len(candidates)
            row: dict[str, Any] = {"protocol": protocol}
            for name in ("item_id", "split", "kind", "skill", "level", "cluster"):
                row[name] = getattr(items, name)[i] or None
            text_ids = items.text_id[i, candidates].tolist()
            is_scored = bool(items.unscored[i] == "")
            row |= {
                "images": images,
                "texts": [run.benchmark.text_of.get(text_id) for text_id in text_ids],
                "truth": items.truth[i, candidates].tolist(),
                "scores": [_number(score) for score in items.scores[i, candidates]],
                "margin": _number(margins[i]) if is_scored else None,
                "metric": outcome.metric,
                "value": _number(outcome.value[i]) if is_scored else None,
                "tie": bool(outcome.tie[i]) if is_scored else None,
                "unscored": items.unscored[i] or None,
                "mark": mark,
            }
            yield row


def _number(value: np.floating[Any]) -> float | None:
    """A number for JSON; None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None


def _fit_rows(fit: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """A row for each coefficient of a fit; one row without coefficients for a fit that failed."""
    common = {name: value for name, value in fit.items() if name != "coefficients"}
    coefficients = fit["coefficients"]
    if not coefficients:
        return [common]
    return [{**common, "count": count, **values} for count, values in coefficients.items()]


def _outcomes(
    protocol: str, items: Items, *, outcome: Outcome, text_of: Mapping[str, str]
) -> pa.Table:
    """A table of the outcome of each item by one metric, with its best texts as words and ids."""
    n = len(items)
    columns: dict[str, Any] = {"protocol": pa.array([protocol] * n, pa.string())}
    for name in ("item_id", "scene_id", "cluster", "kind", "skill", "level", "split"):
        columns[name] = pa.array(getattr(items, name), pa.string())
    for i, name in enumerate(COUNTS):
        counts = items.counts[:, i]
        columns[name] = pa.array(counts, pa.int64(), mask=counts < 0)
    bindings = items.bindings if outcome.bindings is None else outcome.bindings
    if bindings is not None:
        columns["bindings"] = pa.array(bindings, pa.string())
    columns |= {
        "metric": pa.array([outcome.metric] * n, pa.string()),
        "value": _numbers(outcome.value, items.scored),
        "tie": pa.array(outcome.tie, mask=~items.scored),
    }
    for name, values in items.best_candidates().items():
        if name.endswith("_text"):
            columns[name] = pa.array([text_of.get(text_id) for text_id in values], pa.string())
            columns[f"{name}_id"] = pa.array(values, pa.string())
        else:
            columns[name] = _numbers(values, items.scored)
    columns["unscored"] = pa.array(items.unscored, pa.string())
    if items.unread is not None:
        columns["unread"] = pa.array(items.unread, pa.string())
    return pa.table(columns)


def _numbers(values: np.ndarray, is_known: np.ndarray) -> pa.Array:
    """A column of float64; null where a value is unknown or nan."""
    return pa.array(values.astype(np.float64), mask=~is_known | np.isnan(values))


def _marked(table: pa.Table, marks: Marks) -> pa.Table:
    """Prepend a constant column to the table for each mark that is set."""
    for name, mark in marks.items():
        # A table without columns would get rows of nothing but marks.
        if mark and table.num_columns:
            column = pa.repeat(pa.scalar(mark), table.num_rows)
            table = table.add_column(0, name, column)
    return table
