"""The oracle is right wherever a question has one right answer, and errs at the rate that it is
asked for."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.api import evaluate
from evaluator.models.oracle import load_oracle
from evaluator.models.registry import load_model
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure_protocols
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from tests.generator.designs import BENCHMARK, Design, make

PROTOCOLS = ("binary", "systematicity", "productivity", "integration", "hard_positives", "gzsl")
CROWD = Design(6, 6, "3x3", objects=(2, 3), scenes=14, request=TextRequest(PROTOCOLS, strict=False))
RATE = 0.8


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A verified dataset with items of every protocol."""
    root = make(CROWD, tmp_path_factory.mktemp("oracle") / "dataset")
    verify_dataset(root, None)
    return root


@pytest.fixture(scope="module")
def rows(judged: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of the oracle's results on all protocols."""
    return _rows(judged, "oracle", tmp_path_factory.mktemp("runs") / "oracle")


def _rows(root: Path, model: str, out: Path) -> list[dict[str, Any]]:
    results: Any = evaluate(model, root, out=out).results
    return list(results["rows"])


def test_the_oracle_answers_every_item_with_candidates(rows: list[dict[str, Any]]) -> None:
    main = [row for row in rows if row["is_main"] and not row["is_gap"] and row["kind"] != "raw"]
    assert {row["protocol"] for row in main} >= {
        "binary",
        "systematicity",
        "integration",
        "gzsl",
        "hard_positives",
    }
    assert {row["value"] for row in main if row["items"]} == {1.0}
    assert {row["ties"] for row in main} == {0}


def test_the_oracle_ties_where_a_caption_is_true_of_several_images(
    rows: list[dict[str, Any]],
) -> None:
    """Raw retrieval counts one caption as right, so an oracle ties with every other true one."""
    raw = [row for row in rows if row["kind"] == "raw"]
    assert min(row["value"] for row in raw) < 1
    assert all((row["ties"] > 0) == (row["value"] < 1) for row in raw)


def test_an_oracle_errs_at_its_rate(judged: Path, tmp_path: Path) -> None:
    """With k false texts it is right if it is right about all k + 1 texts, since ties are never
    correct."""
    evaluate(f"oracle:{RATE}", judged, protocols=("binary", "productivity"), out=tmp_path / "run")
    for protocol, measured in measure_protocols(open_run(tmp_path / "run")).items():
        items, first = measured.items, measured.outcomes[0]
        n_texts = (items.truth | items.false).sum(axis=1)
        for n, count in Counter(n_texts.tolist()).items():
            if count >= 30:
                expected = RATE**n
                error = np.sqrt(expected * (1 - expected) / count)
                assert abs(first.value[n_texts == n].mean() - expected) < 4 * error, (protocol, n)


def test_errors_follow_the_seed_and_the_pair_alone(judged: Path) -> None:
    dataset = Dataset.open(judged)
    benchmark = dataset.benchmark(BENCHMARK)
    scene_id = benchmark.candidates["scene_id"][-1].as_py()
    scores = []
    for spec in ("oracle:0.8", "oracle:0.8", "oracle:0.8,seed=1", "oracle"):
        oracle: Any = load_model(spec, None)
        oracle.open(benchmark, dataset.world)
        scores.append(oracle.scores_of_texts(scene_id))
    first, repeated, other, right = scores
    np.testing.assert_array_equal(first, repeated)
    assert (first != other).any()
    decided = right != 0.5
    assert (first[~decided] == 0.5).all()
    assert 0.7 < (first[decided] == right[decided]).mean() < 0.9


def test_pools_and_pairs_have_the_same_scores(drawn_copy: Path, tmp_path: Path) -> None:
    """R@1 over a pool of all captions, whose truths the candidates list only in part."""
    verify_dataset(drawn_copy, None)
    rows = _rows(drawn_copy, "oracle", tmp_path / "run")
    retrieval = [
        row
        for row in rows
        if row["protocol"] == "retrieval" and row["is_main"] and not row["is_gap"]
    ]
    assert retrieval
    assert {row["value"] for row in retrieval} == {1.0}
    assert {row["metric"] for row in retrieval} == {"R@1"}, "the pool is scored whole"


@pytest.mark.parametrize("rate", ["0.4", "1.1", "nan", "often"])
def test_other_rates_are_refused(rate: str) -> None:
    with pytest.raises(UserError, match=r"rate of right answers from 0\.5 to 1"):
        load_oracle(rate, None)
