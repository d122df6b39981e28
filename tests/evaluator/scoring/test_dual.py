"""Dual encoders: what is encoded, how often, and inputs that cannot be scored or told apart."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from evaluator.api import evaluate
from evaluator.models.contracts import DualEncoder
from evaluator.models.registry import load_model
from evaluator.protocols.items import NOT_A_NUMBER, TRUNCATED
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure_protocols
from evaluator.scoring.batches import Settings
from evaluator.scoring.needs import Needs, collect_needs
from evaluator.scoring.score import indistinct_texts, score, settings_for, text_names
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import Tiny
from tests.evaluator.encoders import Counting, Sharp, WordBag, Wrapped, captions_by_image
from tests.evaluator.needs import pair_ids
from tests.evaluator.scorers import Reader, TorchBag
from tests.evaluator.synthetic import find, pool_matrix


@pytest.fixture(scope="module")
def bag(drawn: Path) -> WordBag:
    return WordBag(captions_by_image(drawn))


@pytest.fixture(scope="module")
def needs(benchmark: Benchmark) -> Needs:
    return collect_needs(benchmark, ["binary", "retrieval"])


def _scored(
    model: DualEncoder,
    world: World,
    benchmark: Benchmark,
    needs: Needs,
    out: Path,
    cache: Path | None = None,
) -> list[dict[str, Any]]:
    """Score into `out`, with a cache of its own or another one; returns the rows by pair."""
    out.mkdir()
    score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=out,
        batch=64,
        cache_folder=cache or out / "embeddings",
    )
    return pq.read_table(out / "scores.parquet").to_pylist()


def test_each_input_is_encoded_once_and_not_at_all_when_cached(
    bag: WordBag, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    model = Counting(bag)
    score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path,
        batch=16,
        cache_folder=tmp_path / "embeddings",
    )
    assert sorted(model.texts) == sorted({benchmark.text_of[t] for t in needs.texts.to_pylist()})
    assert len(model.images) == len(set(model.images)) == len(needs.images)
    images, texts = (
        needs.images.to_pylist(),
        [benchmark.text_of[text] for text in needs.texts.to_pylist()],
    )
    cosines = (
        bag.encode_images([world.image(image) for image in images]) @ bag.encode_texts(texts).T
    )
    scores = pq.read_table(tmp_path / "scores.parquet")
    assert list(
        zip(*(scores[name].to_pylist() for name in ("image_id", "text_id")), strict=True)
    ) == pair_ids(needs)
    assert scores["score"].to_numpy() == pytest.approx(cosines[tuple(needs.pairs)], abs=1e-5)
    pool_images, pool_texts = needs.pools["grid"]
    assert pool_matrix(tmp_path, "grid") == pytest.approx(
        cosines[pool_images][:, pool_texts], abs=1e-5
    )
    before = (
        (tmp_path / "scores.parquet").read_bytes(),
        (tmp_path / "pools" / "grid.images.npy").read_bytes(),
    )
    score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path,
        batch=16,
        cache_folder=tmp_path / "embeddings",
    )
    assert (len(model.texts), len(model.images)) == (len(needs.texts), len(needs.images))
    assert before == (
        (tmp_path / "scores.parquet").read_bytes(),
        (tmp_path / "pools" / "grid.images.npy").read_bytes(),
    )


def test_images_of_one_precision_are_not_taken_for_those_of_another(
    bag: WordBag, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    model = Counting(bag)
    for precision in ("float32", "bfloat16"):
        how = settings_for(model, precision=precision)
        score(
            model,
            world,
            benchmark=benchmark,
            needs=needs,
            out=tmp_path / precision,
            cache_folder=tmp_path,
            settings=how,
        )
    assert (len(model.texts), len(model.images)) == (len(needs.texts), 2 * len(needs.images))


def test_a_run_that_was_stopped_encodes_only_the_rest(
    bag: WordBag, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    class Stopped(Counting):
        def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
            if len(self.images) >= 16:
                raise KeyboardInterrupt
            return super().encode_images(images)

    with pytest.raises(KeyboardInterrupt):
        score(
            Stopped(bag),
            world,
            benchmark=benchmark,
            needs=needs,
            out=tmp_path,
            batch=8,
            cache_folder=tmp_path / "embeddings",
        )
    assert not (tmp_path / "scores.parquet").exists()
    rest = Counting(bag)
    score(
        rest,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path,
        batch=8,
        cache_folder=tmp_path / "embeddings",
    )
    assert (len(rest.texts), len(rest.images)) == (0, len(needs.images) - 16)


def test_scores_that_are_no_number_are_counted_and_in_no_mean(
    drawn: Path,
    world: World,
    benchmark: Benchmark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Wrapped):
        def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
            vectors = super().encode_images(images)
            vectors[[hidden in broken for hidden in (image.tobytes() for image in images)]] = (
                np.array([np.nan, np.inf] * 8)
            )
            return vectors

    captions = captions_by_image(drawn)
    scenes = sorted(
        row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "seen"
    )[:3]
    broken = {Image.open(world.image_path(scene)).convert("RGB").tobytes() for scene in scenes}
    monkeypatch.setattr(
        "evaluator.runs.run.load_model", lambda spec, device: Broken(Sharp(captions))
    )
    evaluation = evaluate("bag:broken", drawn, out=tmp_path / "run", batch_size=64, device="cpu")
    folder, results = evaluation.folder, evaluation.results
    for row in pq.read_table(folder / "scores.parquet").to_pylist():
        assert row["unscored"] == (NOT_A_NUMBER if row["image_id"] in scenes else None)
    for protocol, items in (("binary", 24), ("retrieval", 12)):
        seen = find(results, protocol, "seen")
        assert (seen["unscored"], seen["items"]) == (items // 4, items * 3 // 4)
        assert seen["value"] == 1
        assert find(results, protocol, "partial")["unscored"] == 0
    items = measure_protocols(open_run(folder))["binary"].items
    assert set(items.unscored.tolist()) == {"", NOT_A_NUMBER}
    message = (
        f"Unscored items of 'binary': {', '.join(items.item_id[~items.scored][:5])} and 1 more "
        f"({NOT_A_NUMBER})"
    )
    assert message in caplog.text


def _cut(words: int) -> Callable[[str], list[str]]:
    return lambda text: text.split()[:words]


def _blind_to_shape(text: str) -> list[str]:
    return ["cube" if word in ("cone", "pyramid", "heart") else word for word in text.split()]


def _unordered(text: str) -> list[str]:
    """True of both orders or of neither: retrieval may count such texts as one."""
    return " and ".join(sorted(text.split(" and "))).split()


@pytest.mark.full
@pytest.mark.parametrize(
    "read", [_cut(6), _cut(5), _cut(2), _blind_to_shape, _unordered, str.split]
)
def test_texts_that_are_read_alike_are_not_scored(
    drawn: Path,
    world: World,
    benchmark: Benchmark,
    needs: Needs,
    tmp_path: Path,
    read: Callable[[str], list[str]],
    bags: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = WordBag(captions_by_image(drawn), read=read)
    alike: dict[str, list[str]] = {}
    for text_id, text in benchmark.text_of.items():
        alike.setdefault(" ".join(read(text)), []).append(text_id)

    rows = _scored(model, world, benchmark, needs, tmp_path / "run")
    assert {(row["score"] is None, row["unscored"]) for row in rows} == {
        (False, None)
    }  # measuring says which count
    same = indistinct_texts(text_names(model, benchmark, needs))
    for text, first in same.items():
        assert read(benchmark.text_of[text]) == read(benchmark.text_of[first])
        assert text != first
    groups = [group for group in alike.values() if set(group) & set(needs.texts.to_pylist())]
    assert len(same) == len(needs.texts) - len(groups)

    monkeypatch.setattr("evaluator.runs.run.load_model", lambda spec, device: model)
    evaluate("bag:cut", drawn, out=tmp_path / "measured", batch_size=64, device="cpu")
    reasons = {
        r
        for m in measure_protocols(open_run(tmp_path / "measured")).values()
        for r in m.items.unscored
    }
    assert (TRUNCATED in reasons) == (read not in (_unordered, str.split))
    assert reasons <= {"", TRUNCATED}


def test_a_real_tokenizers_truncation_is_seen(
    tiny: Callable[..., Tiny], world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    tiny("tiny-short", context_length=5)  # start, three words, end
    path = tiny("tiny-short").save(tmp_path / "short.pt")
    model = load_model(f"open_clip:tiny-short@{path}", "cpu")
    assert model.info["text_length"] == 5
    same = indistinct_texts(text_names(model, benchmark, needs))
    encode = open_clip.SimpleTokenizer().encode
    head = {t: tuple(encode(benchmark.text_of[t])[:3]) for t in needs.texts.to_pylist()}
    assert (
        len(needs.texts) - len(same) == len(set(head.values())) == 31
    )  # "cyan" is two tokens: its six shapes are lost
    assert all(head[text] == head[first] for text, first in same.items())


def test_models_of_other_keys_or_tokenizers_share_no_results(
    drawn: Path, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    """Keys may be equal, since a key may be made of the weights alone; what a model reads of a text
    is not."""
    captions, key, scores = captions_by_image(drawn), "the same weights", {}
    models = {
        "whole": WordBag(captions, key=key),
        "cut": WordBag(captions, read=_cut(4), key=key),
        "again": WordBag(captions, key=key),
        "other": Sharp(captions, key="other"),
    }
    for name, model in models.items():
        scores[name] = _scored(
            model, world, benchmark, needs, tmp_path / f"{name}-shared", tmp_path / "cache"
        )
        assert scores[name] == _scored(model, world, benchmark, needs, tmp_path / name)
    assert scores["whole"] == scores["again"]
    assert scores["whole"] not in (scores["cut"], scores["other"])


def test_settings_follow_the_models_device_and_kind() -> None:
    bag: Any = TorchBag()
    assert settings_for(bag, 4, precision="bfloat16", workers=2) == Settings(
        torch.device("cpu"), "bfloat16", 4, 2
    )
    bag.info = {"device": "its own"}
    assert settings_for(bag) == Settings(torch.device("cpu"), batch=128)
    bag.info = {"device": "cuda:1"}
    assert settings_for(bag) == Settings(torch.device("cuda:1"), "bfloat16", 512)
    reader = Reader()
    reader.info = {"device": "cuda:1"}
    assert settings_for(reader) == Settings(torch.device("cuda:1"))
