"""Every protocol against its definition in plain Python, over thousands of items with planted ties and missing scores."""

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm

from evaluator.measure import PROTOCOLS, measure, measure_protocols
from evaluator.protocols import NAMES
from evaluator.protocols.items import COUNTS, INCOMPLETE, MISSING, NOT_A_NUMBER, TRUNCATED
from evaluator.report.figures import figures
from evaluator.report.terminal import print_table
from generator.dataset.reader import Dataset
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.synthetic import Builder, Row, find, one_of_each, planted, write_run

TIMES = 400
Key = tuple[Any, ...]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return one_of_each(Builder(0, 240), TIMES).write(tmp_path_factory.mktemp("all") / "dataset")


@pytest.fixture(scope="module")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with many ties, scores that are no number or not there, and texts that are read as another."""
    rng = np.random.default_rng(1)
    n = Dataset.open(root).benchmark("all").candidates.num_rows
    broken, absent, read = rng.choice(n, 200), rng.choice(n, 100), rng.choice(n - 3, 400)
    indistinct = {f"t{i + 1:07d}": f"t{i:07d}" for i in read.tolist()}
    folder = tmp_path_factory.mktemp("runs") / "run"
    return write_run(root, folder, lambda size: planted(rng, size), broken, absent, indistinct)


@pytest.fixture(scope="module")
def results(folder: Path) -> Row:
    return measure(folder)


def tie(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b))


def wins(a: float, b: float) -> bool:
    return a > b and not tie(a, b)


class Asked:
    """An item in plain Python: its rows, and its scores by slot."""

    def __init__(
        self, item: Row, rows: list[Row], score: dict[tuple[str, str], float | None], read: dict[str, str], text: Row
    ):
        self.item, self.rows, self.caption = item, rows, text
        self.score = [score.get((row["scene_id"], row["text_id"])) for row in rows]
        self.reason = self._reason(score, read)

    def _reason(self, score: dict[tuple[str, str], float | None], read: dict[str, str]) -> str:
        for a in self.rows:
            for b in self.rows:
                together = a["slot"] == b["slot"] or {a["slot"], b["slot"]} <= {"c", "n", "p"}
                if (
                    a["truth"]
                    and not b["truth"]
                    and together
                    and read.get(a["text_id"], a["text_id"]) == read.get(b["text_id"], b["text_id"])
                ):
                    return TRUNCATED
        for row in self.rows:
            if (row["scene_id"], row["text_id"]) not in score:
                return MISSING
            if score[row["scene_id"], row["text_id"]] is None:
                return NOT_A_NUMBER
        return ""  # fmt: skip

    def of(self, slot: str, truth: bool, kinds: tuple[str, ...] = ()) -> list[float]:
        return [
            s for s, r in zip(self.score, self.rows, strict=True)
            if r["slot"] == slot and r["truth"] == truth and (not kinds or r["kind"] in kinds)
        ]  # fmt: skip

    def recall(
        self, kinds: tuple[str, ...] = (), k: int = 1, slot: str = "c", against: str = "n"
    ) -> tuple[float, bool, float]:
        """Value, whether a tie decided it, chance."""
        true, false = max(self.of(slot, True)), self.of(against, False, kinds)
        won = sum(not wins(true, s) for s in false) < k
        n_true, n_false = len(self.of(slot, True)), len(false)
        chance = 1 - math.comb(n_false, k) / math.comb(n_true + n_false, k) if n_false >= k else 1.0
        return float(won), not won and sum(wins(s, true) for s in false) < k, chance


def binary(q: Asked) -> dict[str, tuple[float, bool, float]]:
    return {"accuracy": q.recall()}


def systematicity(q: Asked) -> dict[str, tuple[float, bool, float]]:
    one, three = q.recall(), q.recall(k=3)
    mean = ((one[0] + three[0]) / 2, one[1] or three[1], (one[2] + three[2]) / 2)
    return {"R@1": one, "R@3": three, "mean of R@1 and R@3": mean}


def plain_recall(q: Asked) -> dict[str, tuple[float, bool, float]]:
    return {"R@1": q.recall()}


def integration(q: Asked) -> dict[str, tuple[float, bool, float]]:
    slots = sorted({row["slot"] for row in q.rows} - {"c", "n"})
    pairs = [(q.of(slot, True)[0], q.of(slot, False)[0]) for slot in slots]
    won = all(wins(a, b) for a, b in pairs)
    composed, decomposed = (
        q.recall(),
        (float(won), not won and not any(wins(b, a) for a, b in pairs), 0.5 ** len(slots)),
    )
    gap = (decomposed[0] - composed[0], composed[1] or decomposed[1], decomposed[2] - composed[2])
    return {"R@1 composed": composed, "R@1 decomposed": decomposed, "integration gap": gap}


def hard_positives(q: Asked) -> dict[str, tuple[float, bool, float | None]]:
    c, n, p = q.of("c", True)[0], q.of("n", False)[0], q.of("p", True)[0]

    def chain(*pairs: tuple[float, float]) -> tuple[bool, bool]:
        return all(wins(a, b) for a, b in pairs), not any(wins(b, a) for a, b in pairs)

    original, augmented = chain((c, n)), chain((c, n), (p, n))
    up, down = chain((c, n), (n, p)), chain((p, n), (n, c))
    brittle = up[0] or down[0]
    return {
        "original accuracy": (float(original[0]), original[1] and not original[0], 1 / 2),
        "augmented accuracy": (float(augmented[0]), augmented[1] and not augmented[0], 1 / 3),
        "brittleness": (float(brittle), (up[1] or down[1]) and not brittle, 1 / 3),
        "mean score c": (c, False, None), "mean score n": (n, False, None), "mean score p": (p, False, None),
    }  # fmt: skip


def context(q: Asked) -> dict[str, tuple[float, bool, float]]:
    minimal, said = q.recall(), q.recall(slot="context", against="context")
    both = (said[0] - minimal[0], said[1] or minimal[1], said[2] - minimal[2])
    return {"accuracy, minimal": minimal, "accuracy, with context": said, "context - minimal": both}


def gzsl(q: Asked) -> dict[str, tuple[float, bool, float]]:
    return {"GZSL": q.recall(), "ZSL": q.recall(("distractor",))}


DEFINITIONS: dict[str, tuple[Callable[[Asked], dict[str, Any]], tuple[tuple[str, ...], ...]]] = {
    "binary": (binary, ((), ("kind",))),
    "systematicity": (systematicity, (("kind",),)),
    "productivity": (plain_recall, (("kind",), ("kind", "n"))),
    "integration": (integration, (("level", "n"),)),
    "skill": (plain_recall, (("skill", "level"),)),
    "hard_positives": (hard_positives, (("kind",), ("kind", "skill"))),
    "confusion": (plain_recall, (("kind",),)),
    "context": (context, (("kind",),)),
    "gzsl": (gzsl, (("kind",),)),
}


@pytest.fixture(scope="module")
def asked(root: Path, folder: Path) -> list[Asked]:
    benchmark = Dataset.open(root).benchmark("all")
    score = {(r["image_id"], r["text_id"]): r["score"] for r in pq.read_table(folder / "scores.parquet").to_pylist()}
    read = json.loads((folder / "run.json").read_text())["indistinct_texts"]
    texts = {row["text_id"]: row for row in benchmark.texts.to_pylist()}
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in benchmark.candidates.to_pylist():
        rows[row["item_id"]].append(row)
    return [
        Asked(item, rows[item["item_id"]], score, read, texts[next(r["text_id"] for r in rows[item["item_id"]] if r["slot"] == "c")])
        for item in benchmark.items.to_pylist()
    ]  # fmt: skip


def labels(q: Asked, by: tuple[str, ...]) -> Key:
    of = {**q.item, "level": q.caption["level"], "n": sum(q.caption[name] for name in COUNTS)}
    return tuple(of[name] if name in by else None for name in ("kind", "skill", "level", "n"))


def test_the_cases_are_many_and_every_reason_occurs(asked: list[Asked]) -> None:
    assert len(asked) >= 10_000
    assert {q.reason for q in asked} == {"", TRUNCATED, MISSING, NOT_A_NUMBER}
    assert set(DEFINITIONS) | {"retrieval", "pairs"} == set(NAMES) == set(PROTOCOLS)


@pytest.mark.parametrize("protocol", DEFINITIONS)
def test_every_row_is_the_definition_in_a_plain_loop(protocol: str, asked: list[Asked], results: Row) -> None:
    definition, groupings = DEFINITIONS[protocol]
    values: dict[Key, list[tuple[float, bool, float]]] = defaultdict(list)
    clusters, unscored = defaultdict(set), defaultdict(int)
    for q in asked:
        if q.item["protocol"] != protocol:
            continue
        for by in groupings:
            if "skill" in by and protocol == "hard_positives" and q.item["kind"] != "replace":
                continue
            place = (*labels(q, by), q.item["split"])
            if q.reason:
                unscored[place] += 1
                continue
            clusters[place].add(q.item["cluster_id"])
            for metric, value in definition(q).items():
                values[metric, *place].append(value)
    rows = {
        (row["metric"], row["kind"], row["skill"], row["level"], row["n"], row["split"]): row for row in results["rows"]
        if row["protocol"] == protocol and not row["error"] and " - " not in row["split"] and row["average"].startswith("micro")
    }  # fmt: skip
    assert {key for key, row in rows.items() if row["items"]} == set(values)
    for key, row in rows.items():
        found, place = values[key], key[1:]
        assert (row["items"], row["clusters"], row["unscored"]) == (len(found), len(clusters[place]), unscored[place])
        if found:
            assert row["value"] == pytest.approx(statistics.fmean(value for value, _, _ in found), abs=2e-6)
            assert row["ties"] == sum(tied for _, tied, _ in found), key
            if found[0][2] is None:
                assert row["chance"] is None
            else:
                assert row["chance"] == pytest.approx(statistics.fmean(chance for _, _, chance in found), abs=2e-6)
            assert row["low"] is None or row["low"] - 1e-6 <= row["value"] <= row["high"] + 1e-6
    assert sum(row["ties"] for row in rows.values() if row["unit"] == "share")


@pytest.mark.parametrize("protocol", DEFINITIONS)
def test_gaps_are_differences_of_rows(protocol: str, results: Row) -> None:
    keys = ("metric", "kind", "skill", "level", "n", "error")
    values = {
        (*(row[k] for k in keys), row["split"]): row["value"] for row in results["rows"] if row["protocol"] == protocol
    }
    gaps = [key for key in values if " - " in key[-1]]
    for *key, split in gaps:
        first, second = split.split(" - ")
        assert values[*key, split] == pytest.approx(values[*key, first] - values[*key, second], abs=2e-6)
    assert protocol == "integration" or gaps


def winners(q: Asked) -> dict[str, float]:
    """The kind of the false text on top, shared by all that tie for it; "tie" with a true one; nothing where it is right."""
    true = max(s for s, r in zip(q.score, q.rows, strict=True) if r["truth"])
    false = [(s, r["kind"]) for s, r in zip(q.score, q.rows, strict=True) if not r["truth"]]
    top = max(s for s, _ in false)
    if not wins(top, true):
        return {"tie": 1.0} if tie(top, true) else {}
    kinds = [kind for s, kind in false if tie(s, top)]
    return {kind: kinds.count(kind) / len(kinds) for kind in kinds}


@pytest.mark.parametrize(("protocol", "metric"), [("gzsl", "share of predictions"), ("confusion", "share of errors")])
def test_errors_are_those_of_the_winning_text(protocol: str, metric: str, asked: list[Asked], results: Row) -> None:
    found: dict[Key, list[dict[str, float]]] = defaultdict(list)
    base: dict[Key, list[dict[str, float]]] = defaultdict(list)
    for q in asked:
        if q.item["protocol"] != protocol or q.reason or (protocol == "confusion" and not winners(q)):
            continue
        key = (q.item["kind"], q.item["split"])
        found[key].append(winners(q))
        kinds = [row["kind"] for row in q.rows if not row["truth"]]
        base[key].append(
            {kind: kinds.count(kind) / (len(q.rows) if protocol == "gzsl" else len(kinds)) for kind in kinds}
        )
    rows = [row for row in results["rows"] if (row["protocol"], row["metric"]) == (protocol, metric)]
    shares: dict[Key, float] = defaultdict(float)
    for row in rows:
        key = (row["kind"], row["split"])
        assert row["items"] == len(found[key])
        assert row["value"] == pytest.approx(
            statistics.fmean(each.get(row["error"], 0) for each in found[key]), abs=2e-6
        )
        shares[key] += row["value"]
        if row["error"] == "tie":
            assert row["chance"] is None
        else:
            assert row["chance"] == pytest.approx(statistics.fmean(e.get(row["error"], 0) for e in base[key]), abs=2e-6)
    assert {row["error"] for row in rows} == {k for each in base.values() for e in each for k in e} | {"tie"}
    for key, total in shares.items():
        right = 0.0
        if protocol == "gzsl":
            right = find(results, protocol, key[1], kind=key[0], metric="GZSL")["value"]
        assert total + right == pytest.approx(1, abs=1e-5)


def test_the_mean_over_n_is_unweighted_with_the_sample_deviation(results: Row) -> None:
    macro = [row for row in results["rows"] if row["average"].startswith("macro")]
    assert len(macro) == 3 * 2 * 4
    for row in macro:
        parts = [
            other for other in results["rows"] if other["n"] is not None and other["items"]
            and all(other[name] == row[name] for name in ("protocol", "metric", "level", "split"))
        ]  # fmt: skip
        assert row["value"] == pytest.approx(statistics.fmean(part["value"] for part in parts), abs=2e-6)
        assert row["chance"] == pytest.approx(statistics.fmean(part["chance"] for part in parts), abs=2e-6)
        assert row["sd"] == pytest.approx(statistics.stdev(part["value"] for part in parts), abs=2e-6)
        assert row["low"] <= row["value"] <= row["high"]


def test_a_random_scorer_has_the_gap_of_chance(tmp_path: Path) -> None:
    builder = Builder(3, 2000)
    decomposed = [(f"d{i}", truth, None) for i in range(1, 5) for truth in (True, False)]
    for _ in range(6000):
        builder.add(
            "integration",
            "composed",
            [("c", True, None), *[("n", False, None)] * 4, *decomposed],
            None,
            "OA",
            (2, 2, 0),
        )
    root = builder.write(tmp_path / "dataset")
    rng = np.random.default_rng(0)
    results = measure(write_run(root, tmp_path / "run", lambda n: rng.normal(size=n)))
    gaps = [row for row in results["rows"] if row["metric"] == "integration gap" and row["n"] == 4]
    assert len(gaps) == 4
    for row in gaps:
        assert row["chance"] == pytest.approx(2**-4 - 1 / 5, abs=1e-6)
        assert round(100 * row["chance"], 1) == -13.8
        assert row["low"] < row["chance"] < row["high"]
        assert row["value"] == pytest.approx(-0.1375, abs=0.04)


def test_a_model_that_gives_every_text_the_same_score_ties_on_everything(root: Path, tmp_path: Path) -> None:
    results = measure(write_run(root, tmp_path / "run", lambda n: np.full(n, 0.25)))
    for row in results["rows"]:
        if row["unit"] == "share" and row["average"].startswith("micro"):
            assert row["value"] == (row["error"] == "tie")
            assert row["ties"] == (row["items"] if row["error"] in (None, "tie") else 0)
        if row["unit"] == "difference":
            assert row["value"] == 0
            assert row["low"] < 0 < row["high"]  # that two splits agree exactly is no certainty
    assert {fit["reason"] for fit in results["fits"]} == {"all outcomes are equal"}


def test_skill_loads_are_those_of_statsmodels(root: Path, asked: list[Asked], results: Row) -> None:
    assert len(results["fits"]) == 3 * 4 * 4
    compared = 0
    for fit in results["fits"]:
        part = [
            q for q in asked if not q.reason and q.item["protocol"] == "skill"
            and (q.item["skill"], q.item["split"], q.caption["level"]) == (fit["skill"], fit["split"], fit["level"])
        ]  # fmt: skip
        names = [name for name in COUNTS if len({q.caption[name] for q in part}) > 1]
        x = sm.add_constant(np.array([[q.caption[name] for name in names] for q in part], dtype=float))
        scenes = np.unique([q.rows[0]["scene_id"] for q in part], return_inverse=True)[1]
        model = sm.OLS([100 * q.recall()[0] for q in part], x)
        reference = model.fit(cov_type="cluster", cov_kwds={"groups": scenes}, use_t=True)
        assert list(fit["coefficients"]) == names
        assert (fit["items"], fit["clusters"], fit["df"]) == (len(part), len(set(scenes)), len(set(scenes)) - 1)
        assert fit["constant"] == pytest.approx(reference.params[0], abs=1e-3)
        for i, name in enumerate(names, 1):
            beta = fit["coefficients"][name]
            low, high = reference.conf_int()[i]
            assert [beta[k] for k in ("beta", "error", "t", "low", "high")] == pytest.approx(
                [reference.params[i], reference.bse[i], reference.tvalues[i], low, high], abs=1e-3
            )
            assert beta["p"] == pytest.approx(reference.pvalues[i], abs=1e-9)
            assert beta["stars"] == ("**" if beta["p"] < 0.001 else "*" if beta["p"] < 0.005 else "")
            assert beta["load"] == ("self" if name == f"n_{fit['skill']}s" else "cross")
            compared += 1
    assert compared == 3 * 4 * (1 + 2 + 2 + 3)


def test_cells_add_up_to_rows(results: Row) -> None:
    for skill in ("object", "attribute", "relation"):
        for split in ("val", "seen", "partial", "unseen"):
            row = find(results, "skill", split, skill=skill, level="OAR")
            cells = [c for c in results["cells"] if (c["skill"], c["split"], c["level"]) == (skill, split, "OAR")]
            assert sum(cell["items"] for cell in cells) == row["items"]
            assert sum(c["items"] * (c["value"] or 0) for c in cells) == pytest.approx(
                row["items"] * row["value"], abs=1e-3
            )
            assert {(c["n_objects"], c["n_attributes"], c["n_relations"]) for c in cells} <= {
                (a, b, c) for a in (1, 2, 3) for b in (1, 2, 3) for c in (1, 2, 3)
            }


def test_an_item_without_a_false_text_is_unscored_and_says_so(tmp_path: Path) -> None:
    builder = Builder(0, 1)
    for candidates in (
        [("c", True, None), ("n", False, None)],
        [("c", True, None)],
        [("n", False, None)],
        [("c", True, None), ("n", False, None), ("context", True, None)],
    ):
        builder.add("context", "swap", candidates)
    builder.add(
        "context", "swap", [("c", True, None), ("n", False, None), ("context", True, None), ("context", False, None)]
    )
    root = builder.write(tmp_path / "dataset")
    folder = write_run(root, tmp_path / "run", lambda n: np.arange(n, dtype=float))
    items = measure_protocols(folder)["context"].items
    assert items.unscored.tolist() == ["", INCOMPLETE, INCOMPLETE, INCOMPLETE, ""]
    assert sum(row["unscored"] for row in measure(folder)["rows"] if row["metric"] == "accuracy, minimal") == 3


def test_the_same_texts_may_be_alike_in_one_item_and_not_matter_in_another(tmp_path: Path) -> None:
    builder = Builder(0, 1)
    for _ in range(2):
        builder.add("binary", "swap", [("c", True, None), ("n", False, None)])
    root = builder.write(tmp_path / "dataset")
    # the caption of the second is read as that of the first; the foil of the first as its own caption
    alike = {"t0000002": "t0000000", "t0000001": "t0000000"}
    folder = write_run(root, tmp_path / "run", lambda n: np.arange(n, 0, -1.0), indistinct=alike)
    assert measure_protocols(folder)["binary"].items.unscored.tolist() == [TRUNCATED, ""]


def test_what_is_not_known_is_named(tmp_path: Path) -> None:
    builder = Builder(0, 4)
    for protocol in ("binary", "unheard-of", "unheard-of", "train"):
        builder.add(protocol, "swap", [("c", True, None), ("n", False, None)])
    root = builder.write(tmp_path / "dataset")
    folder = write_run(root, tmp_path / "run", lambda n: np.arange(n, 0, -1.0))
    assert measure(folder)["unknown_protocols"] == {"unheard-of": 2}
    done = score_command("measure", folder)
    assert "Not measured: 2 items of the protocol 'unheard-of', which this version does not know." in done.stdout


def test_a_benchmark_of_unknown_protocols_alone_is_one_sentence(tmp_path: Path) -> None:
    builder = Builder(0, 1)
    builder.add("unheard-of", "swap", [("c", True, None), ("n", False, None)])
    root = builder.write(tmp_path / "dataset")
    done = score_command("run", root, "--model", "open_clip:tiny", "--out", tmp_path / "run")
    assert_one_sentence(done, "has no items to measure (other protocols it has: 'unheard-of')")
    for name, near in (("hard_positive", "hard_positives"), ("integratio", "integration"), ("skil", "skill")):
        assert_one_sentence(score_command("run", root, "--model", "x:y", "--protocol", name), f"did you mean '{near}'?")


def test_every_row_is_printed_and_drawn(results: Row, capsys: pytest.CaptureFixture[str]) -> None:
    print_table([results])
    printed = capsys.readouterr().out
    assert "…" not in printed
    for row in results["rows"]:
        assert row["n"] is not None or row["metric"] in printed
    assert all(name in printed for name in DEFINITIONS)
    drawn = figures([results])
    assert len(drawn) == len(DEFINITIONS) + 3  # by split, and by number of atoms or by count
    for word in ("integration, OAR", "productivity, neg", "R@1 decomposed, unseen", "n_attributes = 2", "atoms n"):
        assert any(word in svg for svg in drawn), word


@pytest.mark.full
def test_every_figure_is_the_same_again(results: Row) -> None:
    assert figures([results]) == figures([results])


def test_tables_hold_every_row_fit_and_item(folder: Path, results: Row, asked: list[Asked]) -> None:
    import pandas as pd

    tables = {path.stem: pd.read_csv(path, low_memory=False) for path in (folder / "tables").glob("*.csv")}
    assert set(tables) == {"summary", "cells", "fits", "items"}
    assert len(tables["summary"]) == len(results["rows"])
    assert len(tables["cells"]) == len(results["cells"])
    assert len(tables["fits"]) == sum(max(1, len(fit["coefficients"])) for fit in results["fits"])
    assert set(tables["items"]["item_id"]) == {q.item["item_id"] for q in asked}
    unscored = tables["items"].drop_duplicates("item_id").set_index("item_id")["unscored"].fillna("")
    assert unscored.to_dict() == {q.item["item_id"]: q.reason for q in asked}
