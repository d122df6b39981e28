"""Which way errors go: a hand-made table with a known outcome, and a plain loop over random items;
and what texts assert, which is read from their forms."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.protocols.errors import (
    ATOMS,
    BY_ATOM,
    BY_FAMILIARITY,
    FAMILIARITY,
    WRONG,
    Assertions,
    error_directions,
    read_assertions,
)
from evaluator.protocols.pools import item_pools, true_texts
from evaluator.runs.measure import measure
from evaluator.statistics.intervals import cluster_mean
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.writer import write_benchmark
from tests.evaluator.protocols.conftest import CAPTION_AND_FOIL, run_of
from tests.evaluator.protocols.plain import Shares, check_shares, mistaken, shares
from tests.evaluator.protocols.test_retrieval import write
from tests.evaluator.synthetic import Builder, Row, write_run

HOLDOUT = {
    "kind": "color",
    "category": "shape",
    "bindings": [["red", "cube"], ["blue", "cone"]],
    "triples": [["cube", "left", "cone"], ["cone", "right", "cube"]],
}
TRUTH = (("red", "cube"),)
FALSE = [(("red", "ball"),), (("red", "cone"),), (("blue", "cube"),), (("green", "cone"),)]
"""Object, object, attribute, both: each with fewer held-out bindings than the truth."""
CHOSEN = [0, 0, 0, 2, 3, None, None, (0, 2)]
"""Of each item the false text that it prefers, None where it is right; two that tie share the
error."""


def form(objects: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(
        {"objects": [{"category": c, "attributes": {"color": v}} for v, c in objects]}
    )


@pytest.fixture
def hand_made(tmp_path: Path) -> Row:
    """Items with one true text that names a held-out binding, and four false ones that name
    none."""
    builder = Builder(0, 60)
    for _ in CHOSEN:
        builder.add("gzsl", "two-object", [("c", True, None), *[("n", False, "none")] * 4])
    for place, text in enumerate(builder.texts):
        text["form"] = form([TRUTH, *FALSE][place % 5])
    for place, item in enumerate(builder.items):
        item |= {"split": "unseen", "cluster_id": f"k{place // 2}"}
    root = builder.write(tmp_path / "dataset")
    tables = {"texts": builder.texts, "items": builder.items, "candidates": builder.candidates}
    write_benchmark(root, "all", tables, HOLDOUT, {})

    def score(n: int) -> np.ndarray:
        values = np.tile([0.5, 0.1, 0.2, 0.3, 0.4], len(CHOSEN))
        for item, chosen in enumerate(CHOSEN):
            for place in (
                () if chosen is None else chosen if isinstance(chosen, tuple) else (chosen,)
            ):
                values[5 * item + 1 + place] = 0.9
        return values

    return measure(write_run(root, tmp_path / "run", score))


def test_a_hand_made_table_has_its_known_outcome(hand_made: Row) -> None:
    rows = {
        (row["metric"], row["error"]): row
        for row in hand_made["rows"]
        if row["metric"] in (BY_FAMILIARITY, BY_ATOM)
    }
    expected = {
        (BY_FAMILIARITY, "more familiar"): (6, 1.0),
        (BY_ATOM, "attribute"): (1.5, 1 / 4),
        (BY_ATOM, "object"): (3.5, 1 / 2),
        (BY_ATOM, "attribute and object"): (1, 1 / 4),
    }
    assert set(rows) == set(expected)
    for name, row in rows.items():
        share, chance = expected[name]
        assert (row["value"], row["chance"]) == pytest.approx((share / 6, chance), abs=1e-6)
        assert (row["items"], row["clusters"], row["split"], row["unit"]) == (
            6,
            4,
            "unseen",
            "share",
        )
    wrong = [0, 1, 2, 3, 4, 7]
    of_objects = np.array([1, 1, 1, 0, 0, 0.5])
    interval = cluster_mean(of_objects, np.array([place // 2 for place in wrong]))
    row = rows[BY_ATOM, "object"]
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), abs=1e-6)


def test_a_swap_is_an_error_of_binding() -> None:
    assertions = Assertions(
        np.array([2, 0, 2, 1]), np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1]])
    )
    truth = np.tile([True, False, False, False], (7, 1))
    scores = np.random.default_rng(0).random((7, 4))
    whole = error_directions(
        scores, truth, ~truth, texts=np.arange(4), assertions=assertions, tolerance=1e-5
    )
    names = [*FAMILIARITY, *WRONG]
    expected: list[set[str]] = [
        set(),
        {"more familiar", "binding"},
        {"as familiar", "object"},
        {"more familiar", "attribute and object and relation"},
    ]
    for item, row in enumerate(scores):
        chosen = int(row.argmax())
        assert {names[i] for i in np.flatnonzero(whole[item, 0])} == expected[chosen]
        if chosen:
            assert whole[item, 1].reshape(-1)[names.index("more familiar")] == pytest.approx(2 / 3)


def test_retrieval_over_a_pool_is_a_plain_loop(
    drawn: Path, tmp_path: Path, benchmark: Benchmark
) -> None:
    pool, true = item_pools(benchmark, ["retrieval"])[0], true_texts(benchmark)
    rng = np.random.default_rng(2)
    matrix = rng.choice([0.1, 0.2, 0.3, 0.4], (len(pool.images), len(pool.texts))).astype(
        np.float32
    )
    for row, image in enumerate(pool.images):
        matrix[row, rng.integers(len(pool.texts))] = 0.5
        if row % 4 == 0:
            matrix[row, pool.texts.index(sorted(true[image])[0])] = 0.9
    results = measure(write(drawn, tmp_path / "run", pool, matrix))
    holdout = benchmark.holdout_block()
    bindings = {tuple(binding) for binding in holdout["bindings"]}
    objects = {
        row["text_id"]: [
            (mention["attributes"].get(holdout["kind"]), mention["category"])
            for mention in json.loads(row["form"])["objects"]
        ]
        for row in benchmark.texts.to_pylist()
    }

    def direction(text: str, own: str) -> tuple[str, str]:
        more = sum(b in bindings for b in objects[text]) - sum(b in bindings for b in objects[own])
        atoms = [
            name
            for i, name in enumerate(ATOMS[:2])
            if sorted(b[i] for b in objects[text]) != sorted(b[i] for b in objects[own])
        ]
        return FAMILIARITY[(more > 0) - (more < 0) + 1], " and ".join(atoms) or "binding"

    split_of = {row["scene_id"]: row["split"] for row in benchmark.splits.to_pylist()}
    chosen_shares: Shares = defaultdict(list)
    by_chance: Shares = defaultdict(list)
    for image, row in zip(pool.images, matrix.tolist(), strict=True):
        own = min(true[image])
        best = [s for s, t in zip(row, pool.texts, strict=True) if t in true[image]]
        false = [
            (s, direction(t, own))
            for s, t in zip(row, pool.texts, strict=True)
            if t not in true[image]
        ]
        if chosen := mistaken(best, false):
            for where, directions in (
                (chosen_shares, chosen),
                (by_chance, [values for _, values in false]),
            ):
                familiarity, atoms = zip(*directions, strict=True)
                where["grid", split_of[image]].append(shares(familiarity) | shares(atoms))
    rows = [row for row in results["rows"] if row["metric"] in (BY_FAMILIARITY, BY_ATOM)]
    expected = {
        (split, name) for (_, split), values in by_chance.items() for of in values for name in of
    }
    assert {(row["split"], row["error"]) for row in rows} == expected
    assert {row["split"] for row in rows} == {"val", "seen", "partial", "unseen"}
    check_shares(rows, chosen_shares, by_chance)


def test_texts_without_forms_have_no_rows(tmp_path: Path) -> None:
    builder = Builder(0, 8)
    for _ in range(8):
        builder.add("confusion", "assignments", CAPTION_AND_FOIL)
    results = measure(run_of(builder, tmp_path))
    assert {row["metric"] for row in results["rows"]} == {"R@1", "share of errors"}


def thing(
    category: str | None,
    *,
    count: int = 1,
    without: dict[str, str] | None = None,
    **attributes: str,
) -> dict[str, object]:
    return {
        "category": category,
        "attributes": attributes,
        "count": count,
        "without": without or {},
    }


FORMS = {  # with how many held-out bindings and triples each names
    "two": (2, {"objects": [thing("cube", color="red"), thing("cone", color="blue")]}),
    "swapped": (0, {"objects": [thing("cube", color="blue"), thing("cone", color="red")]}),
    "reversed": (2, {"objects": [thing("cone", color="blue"), thing("cube", color="red")]}),
    "another": (1, {"objects": [thing("cube", color="red"), thing("ball", color="blue")]}),
    "left": (1, {"objects": [thing("cube"), thing("cone")], "relations": [[0, "left", 1, True]]}),
    "right": (0, {"objects": [thing("cube"), thing("cone")], "relations": [[0, "right", 1, True]]}),
    "denied": (1, {"objects": [thing("cube", without={"color": "red"})]}),
    "no cube": (1, {"objects": [thing(None, color="red", without={"shape": "cube"})]}),
    "three": (0, {"objects": [thing("ball", count=3, color="red")]}),
    "one": (0, {"objects": [thing("ball", color="red")]}),
}


@pytest.fixture
def written(tmp_path: Path) -> Benchmark:
    root = Builder().write(tmp_path / "dataset")
    texts = [
        {"text_id": name, "text": name, "form": json.dumps(form)}
        for name, (_, form) in FORMS.items()
    ]
    texts.append({"text_id": "foreign", "text": "words alone"})
    write_benchmark(root, "forms", {"texts": texts}, HOLDOUT, {})
    write_benchmark(root, "no-holdout", {"texts": texts}, None, {})
    return Dataset.open(root).benchmark("forms")


def test_held_out_bindings_and_triples_are_counted(written: Benchmark) -> None:
    assertions: Any = read_assertions(written, list(FORMS))
    assert dict(zip(FORMS, assertions.held_out, strict=True)) == {
        name: count for name, (count, _) in FORMS.items()
    }


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("two", "swapped", [False] * 3),
        ("two", "reversed", [False] * 3),
        ("two", "another", [False, True, False]),
        ("left", "right", [False, False, True]),
        ("two", "left", [True, False, True]),
        ("three", "one", [True, True, False]),
        ("denied", "left", [True, True, True]),
    ],
)
def test_atoms_differ_where_texts_name_others(
    written: Benchmark, one: str, other: str, differ: list[bool]
) -> None:
    assertions: Any = read_assertions(written, [one, other])
    assert (assertions.atoms[0] != assertions.atoms[1]).tolist() == differ


def test_texts_without_a_form_say_nothing_and_without_a_holdout_there_is_no_count(
    written: Benchmark,
) -> None:
    assert read_assertions(written, ["two", "foreign"]) is None
    assert read_assertions(written, ["two", "unknown"]) is None
    assertions: Any = read_assertions(
        Dataset.open(written.folder.parents[1]).benchmark("no-holdout"), ["two"]
    )
    assert assertions.held_out is None


def test_counts_are_those_that_the_generator_recorded(benchmark: Benchmark) -> None:
    items = {row["item_id"]: row for row in benchmark.items.to_pylist()}
    rows = [
        row
        for row in benchmark.candidates.to_pylist()
        if items[row["item_id"]]["protocol"] != "train"
    ]
    assertions: Any = read_assertions(benchmark, [row["text_id"] for row in rows])
    recorded = [
        items[row["item_id"]]["held_out_positive" if row["truth"] else "held_out_negative"]
        for row in rows
    ]
    assert len(set(recorded)) > 1
    assert assertions.held_out.tolist() == recorded
