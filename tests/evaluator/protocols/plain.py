"""The definitions of the protocols in plain Python: an item's scores by slot, and what a protocol
makes of them."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from evaluator.protocols.items import COUNTS, MISSING, NOT_A_NUMBER, TRUNCATED, Items
from tests.evaluator.synthetic import Row, find

Key = tuple[Any, ...]
Value = tuple[float, bool, float | None]
"""Of an item under a metric: the value, whether a tie decided it, the chance."""


def make_items(
    scores: Sequence[Sequence[float]], split: Sequence[str] | None = None, **columns: Sequence[Any]
) -> Items:
    """Items with one true text in slot c, false ones in n of the kinds a, b, …, and a cluster each,
    but for the given columns of Items."""
    n, m = np.shape(scores)

    def repeated(values: Sequence[str]) -> np.ndarray:
        return np.tile(np.array(values, dtype=object), (n, 1))

    truth = np.tile(np.arange(m) == 0, (n, 1))
    defaults: dict[str, Any] = {
        **dict.fromkeys(
            ("item_id", "scene_id", "cluster"), np.array([f"i{i}" for i in range(n)], dtype=object)
        ),
        **dict.fromkeys(("kind", "skill", "level", "unscored"), np.full(n, "", dtype=object)),
        "split": np.array(split or ["seen"] * n, dtype=object),
        "counts": np.tile([1, 1, 0], (n, 1)),
        "scores": np.array(scores, dtype=np.float32),
        "truth": truth,
        "false": ~truth,
        "slot": repeated(["c", *["n"] * (m - 1)]),
        "candidate_kind": repeated(["", *"abcdef"[: m - 1]]),
        "text_id": repeated([f"t{i}" for i in range(m)]),
    }
    changes = {
        name: np.array(values, dtype=None if name == "counts" else object)
        for name, values in columns.items()
    }
    return Items(**defaults | changes)


def tie(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b))


def wins(a: float, b: float) -> bool:
    return a > b and not tie(a, b)


class PlainItem:
    """An item in plain Python: its rows, and its scores by slot."""

    def __init__(
        self,
        item: Row,
        rows: list[Row],
        score: dict[tuple[str, str], float | None],
        read: dict[str, str],
        text: Row,
    ):
        self.item, self.rows, self.caption = item, rows, text
        self.score = [score.get((row["scene_id"], row["text_id"])) for row in rows]
        self.reason = self._reason(score, read)

    def _reason(self, score: dict[tuple[str, str], float | None], read: dict[str, str]) -> str:
        for a in (row for row in self.rows if row["truth"]):
            for b in (
                row for row in self.rows if not row["truth"] and row["scene_id"] == a["scene_id"]
            ):
                together = a["slot"] == b["slot"] or {a["slot"], b["slot"]} <= {
                    "c",
                    "n",
                    "p",
                    "0",
                    "1",
                }
                one, other = (read.get(row["text_id"], row["text_id"]) for row in (a, b))
                if together and one == other:
                    return TRUNCATED
        for row in self.rows:
            if (row["scene_id"], row["text_id"]) not in score:
                return MISSING
            if score[row["scene_id"], row["text_id"]] is None:
                return NOT_A_NUMBER
        return ""

    def of(self, slot: str, truth: bool, kinds: tuple[str, ...] = ()) -> list[float]:
        return [
            s
            for s, r in zip(self.score, self.rows, strict=True)
            if r["slot"] == slot and r["truth"] == truth and (not kinds or r["kind"] in kinds)
        ]

    def recall(
        self, kinds: tuple[str, ...] = (), k: int = 1, slot: str = "c", against: str = "n"
    ) -> tuple[float, bool, float]:
        """Value, whether a tie decided it, chance."""
        true, false = max(self.of(slot, True)), self.of(against, False, kinds)
        won = sum(not wins(true, s) for s in false) < k
        n_true, n_false = len(self.of(slot, True)), len(false)
        chance = 1 - math.comb(n_false, k) / math.comb(n_true + n_false, k) if n_false >= k else 1.0
        return float(won), not won and sum(wins(s, true) for s in false) < k, chance


LABELS = ("kind", "skill", "level", "n", *COUNTS)


def labels(q: PlainItem, by: tuple[str, ...]) -> Key:
    of = {**q.item, **{name: q.caption[name] for name in ("level", *COUNTS)}}
    of["n"] = sum(of[name] for name in COUNTS)
    return tuple(of[name] if name in by else None for name in LABELS)


def check_rows(
    protocol: str,
    definition: Callable[[PlainItem], dict[str, Value]],
    groupings: Sequence[tuple[str, ...]],
    plain_items: Iterable[PlainItem],
    rows: Iterable[Row],
    grouped_by_skill: Sequence[str] = (),
) -> None:
    """Every row of a protocol (micro averages) is what a plain loop over its items gives.

    groupings: the labels by which rows are grouped. grouped_by_skill: where not empty, the only
        kinds with rows by
    skill.
    """
    values: dict[Key, list[Value]] = defaultdict(list)
    clusters, unscored = defaultdict(set), defaultdict(int)
    for q in plain_items:
        if q.item["protocol"] != protocol:
            continue
        for by in groupings:
            if grouped_by_skill and "skill" in by and q.item["kind"] not in grouped_by_skill:
                continue
            place = (*labels(q, by), q.item["split"])
            if q.reason:
                unscored[place] += 1
                continue
            clusters[place].add(q.item["cluster_id"])
            for metric, value in definition(q).items():
                values[metric, *place].append(value)
    rows_by_key = {
        tuple(row.get(name) for name in ("metric", *LABELS, "split")): row
        for row in rows
        if row["protocol"] == protocol
        and not row["error"]
        and not row["is_gap"]
        and row["average"].startswith("micro")
    }
    assert {key for key, row in rows_by_key.items() if row["items"]} == set(values)
    for key, row in rows_by_key.items():
        expected, place = values[key], key[1:]
        assert (row["items"], row["clusters"], row["unscored"]) == (
            len(expected),
            len(clusters[place]),
            unscored[place],
        )
        if expected:
            assert row["value"] == pytest.approx(
                statistics.fmean(value for value, _, _ in expected), abs=2e-6
            )
            assert row["ties"] == sum(tied for _, tied, _ in expected), key
            if expected[0][2] is None:
                assert row["chance"] is None
            else:
                assert row["chance"] == pytest.approx(
                    statistics.fmean(chance for _, _, chance in expected), abs=2e-6
                )
            assert row["low"] is None or row["low"] - 1e-6 <= row["value"] <= row["high"] + 1e-6
    assert sum(row["ties"] for row in rows_by_key.values() if row["unit"] == "share")


def check_gaps(protocol: str, results: Row) -> None:
    """Rows of gaps are the differences of the rows of two splits."""
    keys = ("metric", "kind", "skill", "level", "n", "error", "split", "minus")
    rows = [row for row in results["rows"] if row["protocol"] == protocol]
    values = {tuple(row[k] for k in keys): row["value"] for row in rows}
    gaps = [key for key in values if key[-1]]
    for key in gaps:
        *of, first, second = key
        assert values[key] == pytest.approx(
            values[*of, first, None] - values[*of, second, None], abs=2e-6
        )
    assert protocol == "integration" or gaps


def mistaken(true: Iterable[float], false: Iterable[tuple[float, Any]]) -> list[Any]:
    """The names of the false texts that win, all that tie for the best score; none where a true one
    is on top."""
    false, best = list(false), max(true)
    top = max(s for s, _ in false)
    return [name for s, name in false if tie(s, top)] if wins(top, best) else []


def shares(names: Sequence[str]) -> dict[str, float]:
    return {name: names.count(name) / len(names) for name in names}


def predicted(q: PlainItem) -> dict[str, float]:
    """The kind of the false text on top, shared by all that tie for it; "tie" with a true one;
    nothing where it is right."""
    true, false = (
        q.of("c", True),
        [(s, r["kind"]) for s, r in zip(q.score, q.rows, strict=True) if r["slot"] == "n"],
    )
    if tie(max(true), max(s for s, _ in false)):
        return {"tie": 1.0}
    return shares(mistaken(true, false))


Shares = dict[Key, list[dict[str, float]]]


def check_shares(rows: Sequence[Row], chosen: Shares, by_chance: Shares) -> None:
    """Of each row's kind and split: the mean share of its error over items, and the same by
    chance."""
    for row in rows:
        key = (row["kind"], row["split"])
        assert row["items"] == len(chosen[key])
        assert row["value"] == pytest.approx(
            statistics.fmean(shares.get(row["error"], 0) for shares in chosen[key]), abs=2e-6
        )
        if row["error"] == "tie":
            assert row["chance"] is None
        else:
            share = statistics.fmean(shares.get(row["error"], 0) for shares in by_chance[key])
            assert row["chance"] == pytest.approx(share, abs=2e-6)


def check_errors(
    protocol: str, metric: str, of_errors: bool, plain_items: Iterable[PlainItem], results: Row
) -> None:
    """Each error belongs to the winning text: of the errors (with `of_errors`) or of all
    predictions."""
    chosen: Shares = defaultdict(list)
    by_chance: Shares = defaultdict(list)
    for q in plain_items:
        if q.item["protocol"] != protocol or q.reason or (of_errors and not predicted(q)):
            continue
        key = (q.item["kind"], q.item["split"])
        chosen[key].append(predicted(q))
        texts = [row for row in q.rows if row["slot"] in ("c", "n")]
        kinds = [row["kind"] for row in texts if not row["truth"]]
        by_chance[key].append(
            {kind: kinds.count(kind) / len(kinds if of_errors else texts) for kind in kinds}
        )
    rows = [
        row for row in results["rows"] if (row["protocol"], row["metric"]) == (protocol, metric)
    ]
    check_shares(rows, chosen, by_chance)
    assert {row["error"] for row in rows} == {
        k for shares in by_chance.values() for e in shares for k in e
    } | {"tie"}
    for kind, split in chosen:
        total = sum(row["value"] for row in rows if (row["kind"], row["split"]) == (kind, split))
        right = (
            0.0 if of_errors else find(results, protocol, split, kind=kind, metric="GZSL")["value"]
        )
        assert total + right == pytest.approx(1, abs=1e-5)
