"""Scores by a dataset's own ids: what is there is measured, what is missing is said."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evaluator.scoring.elsewhere import dataset_scores
from evaluator.scoring.needs import Needs, collect_needs
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark
from tests.evaluator.needs import all_pairs, pair_ids, pool_ids

PATH = Path("scores.csv")
PROTOCOLS = ["binary", "retrieval"]


@pytest.fixture(scope="module")
def needs(benchmark: Benchmark) -> Needs:
    return collect_needs(benchmark, PROTOCOLS)


def table(pairs: list[tuple[str, str]], scores: list[float | None]) -> pa.Table:
    images, texts = zip(*pairs, strict=True)
    return pa.table({"scene_id": images, "text_id": texts, "score": scores})


def test_every_pair_and_pool_gets_its_own_score(benchmark: Benchmark, needs: Needs) -> None:
    pairs = sorted(all_pairs(needs))
    shuffled = [pairs[i] for i in np.random.default_rng(0).permutation(len(pairs))]
    score = {pair: float(i) for i, pair in enumerate(pairs)}
    found = dataset_scores(table(shuffled, [score[pair] for pair in shuffled]), PATH, benchmark, PROTOCOLS, False)
    assert found.protocols == PROTOCOLS
    scored = zip(found.images.to_pylist(), found.texts.to_pylist(), strict=True)
    assert dict(zip(scored, found.scores.tolist(), strict=True)) == {pair: score[pair] for pair in pair_ids(needs)}
    (matrix,) = found.pools.values()
    images, texts = pool_ids(needs, "grid")
    for i, j in ((0, 0), (3, 17), (len(images) - 1, len(texts) - 1)):
        assert matrix[i, j] == np.float32(score[images[i], texts[j]])


def test_an_image_that_lacks_a_text_of_its_pool_has_no_row(
    benchmark: Benchmark, needs: Needs, caplog: pytest.LogCaptureFixture
) -> None:
    images, texts = pool_ids(needs, "grid")
    pairs = [(image, text) for image in images[:3] for text in texts if (image, text) != (images[1], texts[5])]
    found = dataset_scores(table(pairs, [0.5] * len(pairs)), PATH, benchmark, PROTOCOLS, False)
    assert "retrieval" in found.protocols
    assert np.isnan(found.pools["grid"]).all(axis=1).tolist()[:4] == [False, True, False, True]
    assert "lacks" in caplog.text


def test_a_protocol_without_a_score_is_not_measured(
    benchmark: Benchmark, needs: Needs, caplog: pytest.LogCaptureFixture
) -> None:
    found = dataset_scores(table(pair_ids(needs)[:4], [0.5, None, 0.5, 0.5]), PATH, benchmark, PROTOCOLS, False)
    assert found.protocols == ["binary"]
    assert found.pools == {}
    assert len(found.images) == len(found.texts) == 3
    assert "Not measured, because scores.csv has no score of their items: retrieval." in caplog.text


def test_other_ids_repeated_pairs_and_unneeded_scores_are_refused(benchmark: Benchmark, needs: Needs) -> None:
    image, text = pair_ids(needs)[0]
    for pairs, said in (
        ([(image, text), ("999999", text)], "Row 2 of scores.csv has scene_id '999999'"),
        ([(image, "no text")], "text_id 'no text'"),
        ([(image, text), (image, text)], "Row 2 of scores.csv scores a pair that an earlier row scores"),
    ):
        with pytest.raises(UserError, match=said):
            dataset_scores(table(pairs, [0.5] * len(pairs)), PATH, benchmark, PROTOCOLS, False)
    train = next(row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train")
    with pytest.raises(UserError, match=r"has no score that an item of .* needs"):
        dataset_scores(table([(train, text)], [0.5]), PATH, benchmark, PROTOCOLS, False)
