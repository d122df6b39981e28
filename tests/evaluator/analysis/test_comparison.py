"""Comparison of models: rows against pandas and statsmodels, seeds, flips and their error rate,
power, what is refused."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from evaluator.analysis.comparison import compare, write_rows
from evaluator.runs.measure import measure
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from tests.evaluator.protocols.conftest import CAPTION_AND_FOIL
from tests.evaluator.synthetic import Builder, planted, write_run
from tests.paths import CHECKOUT

QUESTION = ("protocol", "kind", "skill", "split")
UNKNOWN = "groups like these; the bindings are not known; "


def write(path: Path, correct: dict[str, np.ndarray], groups: int = 10) -> str:
    """A table of one model: outcomes by split, in groups of a split."""
    rows = [
        (f"{split}-{i}", int(right), f"{split}-{i % groups}", split)
        for split, values in correct.items()
        for i, right in enumerate(values)
    ]
    pd.DataFrame(rows, columns=["item", "correct", "cluster", "split"]).to_csv(path, index=False)
    return str(path)


def share(right: int, n: int = 100) -> np.ndarray:
    """Outcomes (n,) of which the first are right, so that ten groups have equally many, up to
    one."""
    return np.arange(n) < right


@pytest.fixture
def named(runs: list[Path]) -> list[str]:
    return [f"{run.name}={run}" for run in runs]


def mid_p(first: np.ndarray, second: np.ndarray) -> float:
    """McNemar's mid-p of two models: the exact p less half the probability of the table itself."""
    first, second = first.astype(bool), second.astype(bool)
    only_first, only_second = (first & ~second).sum(), (~first & second).sum()
    if only_first == only_second:
        return 1.0
    table = [[(first & second).sum(), only_first], [only_second, (~first & ~second).sum()]]
    exact = statsmodels_mcnemar(table, exact=True).pvalue
    of_table = stats.binom.pmf(min(only_first, only_second), only_first + only_second, 0.5)
    return float(exact - of_table)


def assert_row(row: dict[str, Any], part: pd.DataFrame) -> None:
    """The row of two models has the numbers of their answers to the items of `part`, and its
    columns agree with one another."""
    first, second = part[row["first"]].to_numpy(), part[row["second"]].to_numpy()
    assert (row["items"], row["clusters"]) == (len(part), part["cluster"].nunique())
    numbers = (first.mean(), second.mean(), first.mean() - second.mean())
    assert [row[name] for name in ("first_mean", "second_mean", "difference")] == pytest.approx(
        numbers, abs=1e-6
    )
    assert row["p_mcnemar"] == pytest.approx(mid_p(first, second))
    assert row["population"] == UNKNOWN + "these trainings"
    assert -1 <= row["low"] <= row["difference"] <= row["high"] <= 1
    assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)
    # 5 points are shown by one block, by the items at hand, and as detectable, or by none of them.
    needs = row["detectable"], row["block_seeds_needed"], row["items_needed"]
    at_hand = 0.05, 1, len(part)
    is_shown = [need is not None and need <= n for need, n in zip(needs, at_hand, strict=True)]
    assert all(is_shown) or not any(is_shown)


def test_every_question_and_pair_has_the_row_that_its_tables_give(
    runs: list[Path], named: list[str]
) -> None:
    comparison = compare(named, detect=0.05)
    assert comparison["models"] == {run.name: [str(run)] for run in runs}
    tables = {}
    for run in runs:
        items = pd.read_csv(run / "tables" / "items.csv", low_memory=False)
        items = items[items["metric"] == items.groupby("protocol")["metric"].transform("first")]
        tables[run.name] = items.set_index("item_id")
    whole = pd.DataFrame({name: table["value"] for name, table in tables.items()})
    items_of_x = tables["x"]
    labels = items_of_x[[*QUESTION, "cluster"]].assign(
        kind=items_of_x["kind"].fillna(items_of_x["skill"]),
        skill=items_of_x["skill"].where(items_of_x["kind"].notna()),
    )
    (counts,) = comparison["items"]
    assert counts["items"] == len(whole)
    assert counts["compared"] == whole.notna().all(axis=1).sum() < len(whole)
    assert set(counts["unscored"]) == {str(run) for run in runs}
    whole = whole.dropna().join(labels.fillna(""))
    skills = whole.groupby(["protocol", "kind"])["skill"].transform("nunique")
    parts = [
        whole.assign(skill=""),
        whole[skills > 1],
    ]  # all skills of a kind, and each where there are several
    questions = [question for part in parts for question in part.groupby([*QUESTION])]
    assert {key[:3] for key, _ in questions} >= {
        ("hard_positives", "replace", "relation"),
        ("hard_positives", "replace object", ""),
    }
    assert len(comparison["rows"]) == 3 * len(questions)
    assert len(comparison["rankings"]) == len(questions)
    for key, part in questions:
        labels_of_key = tuple(label or None for label in key)
        rows = [
            row
            for row in comparison["rows"]
            if tuple(row[name] for name in QUESTION) == labels_of_key
        ]
        assert [(row["first"], row["second"]) for row in rows] == list(combinations("xyz", 2))
        for row in rows:
            assert_row(row, part)
        assert [row["q"] for row in rows] == multipletests(
            [row["p"] for row in rows], method="fdr_bh"
        )[1].tolist()
        (ranked,) = [
            ranking
            for ranking in comparison["rankings"]
            if tuple(ranking[name] for name in QUESTION) == labels_of_key
        ]
        ranks = part[list("xyz")].mean().rank(method="min", ascending=False)
        assert {row["model"]: row["rank"] for row in ranked["models"]} == ranks.to_dict()
        assert all(row["low"] <= row["rank"] <= row["high"] for row in ranked["models"])


def test_clusters_that_answer_alike_are_compared_by_the_paired_t_test_of_clusters(
    tmp_path: Path,
) -> None:
    """Exact but for the prior guess of the variance, which counts as one cluster more."""
    outcomes = np.random.default_rng(9).random((2, 60)) < [[0.8], [0.5]]
    # Five items of each cluster: `write` deals items to the clusters in turn.
    tables = [
        write(tmp_path / f"{name}.csv", {"s": np.tile(of_model, 5)}, groups=60)
        for name, of_model in zip("ab", outcomes, strict=True)
    ]
    (row,) = compare(tables)["rows"]
    expected = stats.ttest_rel(*outcomes.astype(float))
    low, high = expected.confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=0.1 * (high - low))
    t = stats.t.isf(row["p"] / 2, 59)
    assert t == pytest.approx(abs(expected.statistic), rel=0.2)


def test_bindings_of_a_table_make_the_claim_about_its_vocabulary(tmp_path: Path) -> None:
    names = ["red:cube", "red:ball", "blue:cube", "blue:ball;red:cube"]
    tables = [
        write(tmp_path / f"{name}.csv", {"s": share(right)})
        for name, right in (("a", 60), ("b", 50))
    ]
    for table in tables:
        bindings = [names[i % 4] for i in range(100)]
        pd.read_csv(table).assign(bindings=bindings).to_csv(table, index=False)
    (row,) = compare(tables)["rows"]
    of_vocabulary = "this vocabulary (2 values, 2 objects); bindings like these; "
    assert (row["population"], row["bindings"]) == (of_vocabulary + "these trainings", 4)


def test_a_metric_is_compared_in_place_of_the_main_one_and_less_brittleness_leads(
    tmp_path: Path,
) -> None:
    for name, brittle in (("a", 10), ("b", 60)):
        write(tmp_path / f"{name}.csv", {"seen": share(brittle), "unseen": share(70 - brittle)})
        table = pd.read_csv(tmp_path / f"{name}.csv").assign(metric="brittleness")
        other = table.assign(item="other " + table["item"], metric="accuracy", correct=1)
        pd.concat([table, other]).to_csv(tmp_path / f"{name}.csv", index=False)
    tables = [str(tmp_path / f"{name}.csv") for name in "ab"]
    comparison = compare(tables, metric="brittleness")
    assert [(row["metric"], row["split"], row["leader"]) for row in comparison["rows"]] == [
        ("brittleness", "seen", "a"),
        ("brittleness", "unseen", "b"),
    ]
    (flip,) = comparison["flips"]
    assert (flip["leaders"], flip["significant"]) == (["a", "b"], True)
    assert [ranking["models"][0]["model"] for ranking in comparison["rankings"]] == ["a", "b"]
    assert {row["metric"] for row in compare(tables)["rows"]} == {"brittleness", "accuracy"}
    with pytest.raises(UserError, match=r"a.csv has no rows of the metric 'britleness'"):
        compare(tables, metric="britleness")


def test_a_metric_of_runs_is_compared_where_its_items_are_right_or_wrong(named: list[str]) -> None:
    rows = compare(named[:2], metric="brittleness")["rows"]
    assert {row["protocol"] for row in rows} == {"hard_positives"}
    for row in rows:
        assert row["leader"] in (None, row["first"] if row["difference"] < 0 else row["second"])
    with pytest.raises(UserError, match="has no metric 'britleness'; did you mean 'brittleness'"):
        compare(named, metric="britleness")
    with pytest.raises(
        UserError,
        match="no items that are right or wrong; compare runs of another protocol or metric",
    ):
        compare(named, metric="augmented - original")


def test_the_order_of_models_and_items_does_not_matter(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    a, b = (
        write(tmp_path / f"{name}.csv", {"s": rng.random(60) < 0.6, "u": rng.random(60) < 0.5})
        for name in "ab"
    )
    before, turned = compare([a, b])["rows"], compare([b, a])["rows"]
    for row, other in zip(before, turned, strict=True):
        assert (row["first"], row["difference"]) == (other["second"], -other["difference"])
        assert (row["low"], row["high"]) == pytest.approx((-other["high"], -other["low"]), abs=0.02)
        same = ("leader", "detectable", "p_mcnemar", "population")
        assert [row[key] for key in same] == [other[key] for key in same]
        assert (row["p"], row["q"]) == pytest.approx((other["p"], other["q"]))
    table = pd.read_csv(b).sample(frac=1, random_state=0)
    table.to_csv(b, index=False)
    assert compare([a, b])["rows"] == before


def test_every_key_is_documented(named: list[str]) -> None:
    page = (CHECKOUT / "docs" / "compare.md").read_text(encoding="utf-8")
    comparison = compare(named[:2], detect=0.02)
    row, flip, ranked = comparison["rows"][0], comparison["flips"][0], comparison["rankings"][0]
    for key in (*comparison, *row, *flip, *comparison["items"][0], *ranked, *ranked["models"][0]):
        assert f"`{key}`" in page, key


def test_rows_are_written_as_csv_and_columns_that_a_table_lacks_are_empty_there(
    tmp_path: Path,
) -> None:
    few = [
        write(tmp_path / f"{name}.csv", {"s": share(right)}, 4)
        for name, right in (("a", 60), ("b", 50))
    ]
    comparison = compare(few, detect=0.02)
    write_rows(comparison, tmp_path / "new" / "rows.csv")
    (row,) = pd.read_csv(tmp_path / "new" / "rows.csv").to_dict("records")
    assert set(row) == set(comparison["rows"][0])
    assert (row["first"], row["split"], row["difference"]) == ("a", "s", 0.1)
    assert pd.isna([row["protocol"], row["kind"]]).all()
    assert (row["population"], row["bindings"]) == (UNKNOWN + "these trainings", 0)


def test_a_lead_that_changes_sides_is_a_flip(tmp_path: Path) -> None:
    a = write(
        tmp_path / "a.csv",
        {"val": share(90), "seen": share(90), "partial": share(62), "unseen": share(20)},
    )
    b = write(
        tmp_path / "b.csv",
        {"val": share(10), "seen": share(50), "partial": share(60), "unseen": share(60)},
    )
    c = write(
        tmp_path / "c.csv",
        {"val": share(10), "seen": share(50), "partial": share(64), "unseen": share(60)},
    )
    comparison = compare([a, b])
    leaders = {row["split"]: row["leader"] for row in comparison["rows"]}
    assert leaders == {"val": "a", "seen": "a", "partial": None, "unseen": "b"}
    p = {row["split"]: row["p"] for row in comparison["rows"]}
    certain = {
        "splits": ["seen", "unseen"],
        "differences": [0.4, -0.4],
        "p_flip": max(p["seen"], p["unseen"]),
        "significant": True,
    }
    flips = [{key: flip[key] for key in certain} for flip in comparison["flips"]]
    assert flips[0] == certain
    assert [(flip["splits"], flip["significant"]) for flip in flips] == [
        (["seen", "unseen"], True),
        (["partial", "unseen"], False),
    ]
    assert [flip["splits"] for flip in compare([b, c])["flips"]] == []  # one of two leads is none


def test_seeds_are_trainings_of_one_model_whose_spread_widens_the_interval(tmp_path: Path) -> None:
    tables = [
        write(tmp_path / f"{i}.csv", {"s": share(right)}) for i, right in enumerate((90, 88, 30))
    ]
    b = write(tmp_path / "b.csv", {"s": share(50)})
    near, far = (
        compare([*(f"a={tables[i]}" for i in chosen), f"b={b}"]) for chosen in ((0, 1), (0, 2))
    )
    assert near["models"] == {"a": tables[:2], "b": [b]}
    (one,), (other,) = near["rows"], far["rows"]
    assert (one["leader"], other["leader"]) == ("a", None)
    assert other["difference"] == pytest.approx(0.6 - 0.5)  # the mean over the seeds
    assert (one["first_runs"], one["second_runs"], one["population"]) == (
        2,
        1,
        UNKNOWN + "new trainings",
    )
    assert one["p_mcnemar"] is one["q_mcnemar"] is one["only_first"] is None


def test_published_flips_are_mcnemars_with_mid_p_corrected_over_pairs_of_models(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    shares = {"a": (0.85, 0.30), "b": (0.60, 0.60), "c": (0.78, 0.38)}
    outcomes = {
        name: {
            split: rng.random(300) < share
            for split, share in zip(("seen", "unseen"), of_splits, strict=True)
        }
        for name, of_splits in shares.items()
    }
    comparison = compare(
        [write(tmp_path / f"{name}.csv", of_model) for name, of_model in outcomes.items()]
    )
    q_of = {}
    for split in ("seen", "unseen"):
        rows = [row for row in comparison["rows"] if row["split"] == split]
        by_hand = []
        for row in rows:
            first, second = outcomes[row["first"]][split], outcomes[row["second"]][split]
            by_hand.append(mid_p(first, second))
        assert [row["p_mcnemar"] for row in rows] == pytest.approx(by_hand)
        corrected = multipletests(by_hand, method="fdr_bh")[1]
        assert [row["q_mcnemar"] for row in rows] == pytest.approx(corrected.tolist())
        for row, p, q in zip(rows, by_hand, corrected, strict=True):
            q_of[row["first"], row["second"], split] = (p, q)
    flips = {(flip["first"], flip["second"]): flip for flip in comparison["flips"]}
    assert {("a", "b"), ("a", "c")} <= {*flips}
    for pair, flip in flips.items():
        of_splits = [q_of[*pair, split] for split in flip["splits"]]
        assert flip["p_flip_mcnemar"] == pytest.approx(max(p for p, _ in of_splits))
        assert flip["significant_mcnemar"] == all(q <= 0.05 for _, q in of_splits)
    assert flips["a", "b"]["significant_mcnemar"]
    assert flips["a", "b"]["ahead"] == ["a", "b"]


def test_published_tests_of_several_trainings_need_the_same_lead_in_all(tmp_path: Path) -> None:
    rights = {"a0": 70, "a1": 80, "b0": 50, "b1": 60, "c0": 50, "c1": 90}
    tables = {
        name: write(tmp_path / f"{name}.csv", {"s": share(right)}) for name, right in rights.items()
    }
    (same,) = compare([f"{name[0]}={tables[name]}" for name in ("a0", "a1", "b0", "b1")])["rows"]
    weaker = mid_p(share(70), share(50)), mid_p(share(80), share(60))
    assert same["p_mcnemar"] == pytest.approx(max(weaker))
    (mixed,) = compare([f"{name[0]}={tables[name]}" for name in ("a0", "a1", "c0", "c1")])["rows"]
    assert mixed["p_mcnemar"] == mixed["q_mcnemar"] == 1


def test_blocks_of_one_design_are_compared_within_each_and_pooled(tmp_path: Path) -> None:
    runs = []
    for block in (1, 2, 3):
        builder = Builder(block, 240)
        for _ in range(80):
            builder.add("binary", "swap", CAPTION_AND_FOIL)
        root = builder.write(tmp_path / f"world{block}")
        for name, seed in (("a", 1), ("b", 2)):
            rng = np.random.default_rng(10 * block + seed)
            run = write_run(root, tmp_path / f"{name}{block}", lambda n, rng=rng: planted(rng, n))
            measure(run)
            results = read_json(run / "results.json")
            results["factors"] |= {"block": f"k{block}", "design": {"items": 1}}
            write_json(run / "results.json", results)
            runs.append(f"{name}={run}")
    pooled, alone = compare(runs), [compare(runs[i : i + 2]) for i in (0, 2, 4)]
    assert len(pooled["items"]) == 3
    for row in pooled["rows"]:
        key = [row[name] for name in ("protocol", "kind", "split")]
        same_rows = [
            r
            for one in alone
            for r in one["rows"]
            if [r[name] for name in ("protocol", "kind", "split")] == key
        ]
        assert row["difference"] == pytest.approx(
            np.mean([r["difference"] for r in same_rows]), abs=1e-5
        )
        assert (row["blocks"], row["items"]) == (len(same_rows), sum(r["items"] for r in same_rows))
    with pytest.raises(UserError, match="'b' has no run on the benchmark of"):
        compare(runs[:-1])


def test_a_run_given_twice_counts_once_and_rows_are_in_the_order_of_results(
    runs: list[Path], named: list[str]
) -> None:
    x, y, _ = named
    comparison = compare([x, y])
    assert compare([x, y, x, f"y={runs[1].parent / '.' / 'y'}"]) == comparison
    rows = [
        row for row in comparison["rows"] if (row["protocol"], row["kind"]) == ("binary", "flip")
    ]
    assert [row["split"] for row in rows] == ["val", "seen", "partial", "unseen"]
    assert "block_seeds_needed" not in rows[0]
    with pytest.raises(UserError, match="Expected at least two models, got 'random' alone"):
        compare([str(runs[0]), str(runs[1])])


def test_a_model_that_is_compared_with_itself_does_not_differ(runs: list[Path]) -> None:
    for row in compare([f"x={runs[0]}", f"y={runs[0]}"])["rows"]:
        assert (row["difference"], row["p"], row["q"], row["leader"]) == (0, 1, 1, None)
        assert row["low"] < 0 < row["high"]


def _flip_rate(tmp_path: Path, lead: float, draws: int) -> float:
    """How often a flip is claimed of a model that leads on one split by `lead` and on the other by
    nothing."""
    rng, flips = np.random.default_rng(5), 0
    for _ in range(draws):
        tables = [
            write(
                tmp_path / f"{name}.csv",
                {"seen": rng.random(90) < 0.6 + better, "unseen": rng.random(90) < 0.6},
                90,
            )
            for name, better in (("a", lead), ("b", 0))
        ]
        flips += sum(flip["significant"] for flip in compare(tables)["flips"])
    return flips / draws


@pytest.mark.full
@pytest.mark.parametrize(("lead", "most"), [(0, 0.01), (0.35, 0.025 + 0.017)])
def test_flips_are_claimed_no_more_often_than_their_level(
    tmp_path: Path, lead: float, most: float
) -> None:
    """With a sure lead on one split a flip needs an error on the other, in one direction: 2.5%, and
    2 standard errors."""
    assert _flip_rate(tmp_path, lead, 330) <= most


def test_flips_are_hardly_ever_claimed_of_equal_models(tmp_path: Path) -> None:
    assert _flip_rate(tmp_path, 0, 40) == 0
