"""Texts that a model cannot tell apart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import open_clip
import pyarrow.parquet as pq
import pytest
import torch

from evaluator.api import evaluate
from evaluator.models.contracts import DualEncoder
from evaluator.models.registry import load_model
from evaluator.protocols.items import TRUNCATED
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure_protocols
from evaluator.scoring.batches import Settings
from evaluator.scoring.needs import Needs, collect_needs
from evaluator.scoring.score import indistinct_texts, score, settings_for, text_names
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import Tiny
from tests.evaluator.encoders import WordBag, captions_by_image
from tests.evaluator.scorers import Reader, TorchBag
from tests.evaluator.synthetic import find, pool_matrix


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


def _cut(words: int) -> Callable[[str], list[str]]:
    return lambda text: text.split()[:words]


def _blind_to_shape(text: str) -> list[str]:
    return ["cube" if word in ("cone", "pyramid", "heart") else word for word in text.split()]


def _unordered(text: str) -> list[str]:
    """True of both orders or of neither: retrieval may count such texts as one."""
    return " and ".join(sorted(text.split(" and "))).split()


@pytest.mark.parametrize("read", [_cut(6), _cut(5), _cut(2), _blind_to_shape, _unordered, str.split])
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

    got = _scored(model, world, benchmark, needs, tmp_path / "run")
    assert {(row["score"] is None, row["unscored"]) for row in got["rows"]} == {
        (False, None)
    }  # measuring says which count
    same = indistinct_texts(text_names(model, benchmark, needs))
    for text, first in same.items():
        assert read(benchmark.text_of[text]) == read(benchmark.text_of[first])
        assert text != first
    groups = [group for group in alike.values() if set(group) & set(needs.texts.to_pylist())]
    assert len(same) == len(needs.texts) - len(groups)

    monkeypatch.setattr("evaluator.runs.run.load_model", lambda spec, device: model)
    results = evaluate("bag:cut", drawn, out=tmp_path / "measured", batch_size=64, device="cpu").results
    items = benchmark.items_of("binary").to_pylist() + benchmark.items_of("retrieval").to_pylist()
    candidates: dict[str, list[dict[str, object]]] = {}
    for row in benchmark.candidates.to_pylist():
        candidates.setdefault(row["item_id"], []).append(row)
    for protocol in ("binary", "retrieval"):
        for split in ("val", "seen", "partial", "unseen"):
            chosen = [i["item_id"] for i in items if (i["protocol"], i["split"]) == (protocol, split)]
            unscored = 0
            for item in chosen:
                rows = candidates[item]
                if protocol == "binary":
                    unscored += " ".join(read(benchmark.text_of[rows[0]["text_id"]])) == " ".join(
                        read(benchmark.text_of[rows[1]["text_id"]])
                    )
                else:
                    true = {r["text_id"] for r in rows}
                    unscored += any(set(alike[" ".join(read(benchmark.text_of[t]))]) - true for t in true)
            row = find(results, protocol, split)
            assert (row["unscored"], row["items"]) == (unscored, len(chosen) - unscored)
    reasons = {r for m in measure_protocols(open_run(tmp_path / "measured")).values() for r in m.items.unscored}
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


def test_models_of_equal_weights_and_other_tokenizers_share_no_results(
    drawn: Path, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    """Their keys are equal, since a key may be made of the weights alone; what they read of a text is not."""
    captions = captions_by_image(drawn)
    cached = {}
    for name, read in {"whole": str.split, "cut": _cut(4), "again": str.split}.items():
        model = WordBag(captions, read=read, key="the same weights")
        own = _scored(model, world, benchmark, needs, tmp_path / name)
        (tmp_path / f"{name}-shared").mkdir()
        score(model, world, benchmark, needs, tmp_path / f"{name}-shared", 64, tmp_path / "cache")
        cached[name] = pq.read_table(tmp_path / f"{name}-shared" / "scores.parquet").to_pylist()
        assert cached[name] == own["rows"]
    assert cached["whole"] == cached["again"] != cached["cut"]


def test_settings_follow_the_models_device_and_kind() -> None:
    bag: Any = TorchBag()
    assert settings_for(bag, 4, "bfloat16", 2) == Settings(torch.device("cpu"), "bfloat16", 4, 2)
    bag.info = {"device": "its own"}
    assert settings_for(bag).device == torch.device("cpu")
    bag.info = {"device": "cuda:1"}
    assert settings_for(bag).precision == "bfloat16"
    reader = Reader()
    reader.info = {"device": "cuda:1"}
    assert settings_for(reader).precision == "float32"
