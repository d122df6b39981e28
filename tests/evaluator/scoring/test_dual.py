"""Dual encoders: what is encoded, how often, and what comes of inputs that cannot be scored."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from evaluator.api import evaluate
from evaluator.models.contracts import DualEncoder
from evaluator.protocols.items import NOT_A_NUMBER
from evaluator.scoring.needs import Needs, collect_needs
from evaluator.scoring.score import score
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from tests.evaluator.encoders import Counting, Cramped, Sharp, WordBag, Wrapped, captions_by_image
from tests.evaluator.needs import needs_of, pair_ids, pool_ids
from tests.evaluator.synthetic import find, pool_matrix


@pytest.fixture(scope="module")
def bag(drawn: Path) -> WordBag:
    return WordBag(captions_by_image(drawn))


@pytest.fixture(scope="module")
def needs(benchmark: Benchmark) -> Needs:
    return collect_needs(benchmark, ["binary", "retrieval"])


def _scored(
    model: DualEncoder, world: World, benchmark: Benchmark, needs: Needs, out: Path, batch: int = 64
) -> dict[str, object]:
    """Score into `out` with a cache of its own; returns the rows by pair and the pool's matrix."""
    out.mkdir()
    indistinct = score(model, world, benchmark, needs, out, batch, out / "embeddings")
    rows = pq.read_table(out / "scores.parquet").to_pylist()
    pools = {pool: pool_matrix(out, pool) for pool in needs.pools}
    return {"rows": rows, "pools": pools, "indistinct": indistinct}


def test_each_input_is_encoded_once_and_not_at_all_when_cached(
    bag: WordBag, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    model = Counting(bag)
    score(model, world, benchmark, needs, tmp_path, 16, tmp_path / "embeddings")
    assert sorted(model.texts) == sorted({benchmark.text_of[t] for t in needs.texts.to_pylist()})
    assert len(model.images) == len(set(model.images)) == len(needs.images)
    images, texts = needs.images.to_pylist(), [benchmark.text_of[text] for text in needs.texts.to_pylist()]
    cosines = bag.encode_images([world.image(image) for image in images]) @ bag.encode_texts(texts).T
    scores = pq.read_table(tmp_path / "scores.parquet")
    assert list(zip(*(scores[name].to_pylist() for name in ("image_id", "text_id")), strict=True)) == pair_ids(needs)
    assert scores["score"].to_numpy() == pytest.approx(cosines[tuple(needs.pairs)], abs=1e-5)
    pool_images, pool_texts = needs.pools["grid"]
    assert pool_matrix(tmp_path, "grid") == pytest.approx(cosines[pool_images][:, pool_texts], abs=1e-5)
    before = (tmp_path / "scores.parquet").read_bytes(), (tmp_path / "pools" / "grid.images.npy").read_bytes()
    score(model, world, benchmark, needs, tmp_path, 16, tmp_path / "embeddings")
    assert (len(model.texts), len(model.images)) == (len(needs.texts), len(needs.images))
    assert before == ((tmp_path / "scores.parquet").read_bytes(), (tmp_path / "pools" / "grid.images.npy").read_bytes())


def test_a_run_that_was_stopped_encodes_only_the_rest(
    bag: WordBag, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    class Stopped(Counting):
        def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
            if len(self.images) >= 16:
                raise KeyboardInterrupt
            return super().encode_images(images)

    with pytest.raises(KeyboardInterrupt):
        score(Stopped(bag), world, benchmark, needs, tmp_path, 8, tmp_path / "embeddings")
    assert not (tmp_path / "scores.parquet").exists()
    rest = Counting(bag)
    score(rest, world, benchmark, needs, tmp_path, 8, tmp_path / "embeddings")
    assert (len(rest.texts), len(rest.images)) == (0, len(needs.images) - 16)


def test_embeddings_of_another_model_are_not_taken(
    drawn: Path, bag: WordBag, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    score(bag, world, benchmark, needs, tmp_path, 64, tmp_path / "embeddings")
    first = pq.read_table(tmp_path / "scores.parquet")
    other = Counting(Sharp(captions_by_image(drawn), key="other"))
    score(other, world, benchmark, needs, tmp_path, 64, tmp_path / "embeddings")
    assert len(other.texts) == len(needs.texts)
    assert not pq.read_table(tmp_path / "scores.parquet").equals(first)


@pytest.mark.parametrize("room", [1, 5, 31])
def test_batches_are_halved_when_memory_runs_out(
    bag: WordBag,
    world: World,
    benchmark: Benchmark,
    needs: Needs,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    room: int,
) -> None:
    images, texts = pool_ids(needs, "grid")
    few = needs_of(pair_ids(needs)[:40], {"grid": (images[:8], texts[:50])})
    plenty = _scored(bag, world, benchmark, few, tmp_path / "plenty")
    caplog.clear()
    cramped = Cramped(bag, room)
    tight = _scored(cramped, world, benchmark, few, tmp_path / "tight", 64)
    assert tight["rows"] == plenty["rows"]
    assert np.array_equal(tight["pools"]["grid"], plenty["pools"]["grid"])
    fitting = next(64 >> i for i in range(7) if 64 >> i <= room)
    assert max(cramped.sizes) == fitting
    assert f"Out of memory: going on with batches of {fitting}." in caplog.text


def test_scores_that_are_no_number_are_counted_and_in_no_mean(
    drawn: Path, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Wrapped):
        def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
            vectors = super().encode_images(images)
            vectors[[hidden in broken for hidden in (image.tobytes() for image in images)]] = np.array(
                [np.nan, np.inf] * 8
            )
            return vectors

    captions = captions_by_image(drawn)
    scenes = sorted(row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "seen")[:3]
    broken = {Image.open(world.image_path(scene)).convert("RGB").tobytes() for scene in scenes}
    monkeypatch.setattr("evaluator.runs.run.load_model", lambda spec, device: Broken(Sharp(captions)))
    found = evaluate("bag:broken", drawn, out=tmp_path / "run", batch_size=64, device="cpu")
    folder, results = found.folder, found.results
    for row in pq.read_table(folder / "scores.parquet").to_pylist():
        assert row["unscored"] == (NOT_A_NUMBER if row["image_id"] in scenes else None)
    for protocol, items in (("binary", 24), ("retrieval", 12)):
        seen = find(results, protocol, "seen")
        assert (seen["unscored"], seen["items"]) == (items // 4, items * 3 // 4)
        assert seen["value"] == 1
        assert find(results, protocol, "partial")["unscored"] == 0


def test_an_image_that_is_not_the_one_of_its_sum_is_refused(
    drawn_copy: Path, needs: Needs, drawn: Path, tmp_path: Path
) -> None:
    captions = captions_by_image(drawn)
    dataset = Dataset.open(drawn_copy)
    path = dataset.world.image_path(needs.images[0].as_py())
    whole = path.read_bytes()
    for damage in (whole[: len(whole) // 2], dataset.world.image_path(needs.images[1].as_py()).read_bytes(), None):
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        with pytest.raises(UserError, match=rf"{path.name} is damaged or missing"):
            score(WordBag(captions), dataset.world, dataset.benchmark(), needs, tmp_path, 64, tmp_path / "embeddings")
        path.write_bytes(whole)
