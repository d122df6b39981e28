"""What is encoded, how often, and what comes of texts that a model cannot tell apart or cannot score."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import open_clip
import pyarrow.parquet as pq
import pytest
from PIL import Image

from evaluator.measure import measure_protocols
from evaluator.models.registry import DualEncoder, load_model
from evaluator.protocols.items import NOT_A_NUMBER, TRUNCATED
from evaluator.run import Request, run
from evaluator.scoring import Needs, collect_needs, indistinct_texts, score
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from tests.evaluator.conftest import Tiny
from tests.evaluator.encoders import Counting, Cramped, Sharp, WordBag, Wrapped, captions_by_image
from tests.evaluator.synthetic import find


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
    pools = {pool: np.load(out / "pools" / f"{pool}.npy") for pool in needs.pools}
    return {"rows": rows, "pools": pools, "indistinct": indistinct}


def test_needs_are_the_evaluation_items_and_no_more(benchmark: Benchmark, needs: Needs) -> None:
    split = {row["scene_id"]: row["split"] for row in benchmark.splits.to_pylist()}
    protocol = {row["item_id"]: row["protocol"] for row in benchmark.items.to_pylist()}
    rows = benchmark.candidates.to_pylist()
    binary = {(r["scene_id"], r["text_id"]) for r in rows if protocol[r["item_id"]] == "binary"}
    asked = {r["scene_id"] for r in rows if protocol[r["item_id"]] == "retrieval"}
    assert needs.pairs == sorted(binary)
    assert list(needs.pools) == ["grid"]
    assert needs.pools["grid"] == (sorted(asked), benchmark.pools["text_id"].to_pylist())
    assert {split[scene] for scene in needs.images} == {"val", "seen", "partial", "unseen"}
    assert len(needs.images) == 40
    assert set(needs.texts) == set(benchmark.pools["text_id"].to_pylist()) | {t for _, t in binary}
    assert collect_needs(benchmark, ["binary"]).pools == {}
    assert collect_needs(benchmark, ["retrieval"]).pairs == []


def test_each_input_is_encoded_once_and_not_at_all_when_cached(
    bag: WordBag, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    model = Counting(bag)
    score(model, world, benchmark, needs, tmp_path, 16, tmp_path / "embeddings")
    assert sorted(model.texts) == sorted({benchmark.text_of[t] for t in needs.texts})
    assert len(model.images) == len(set(model.images)) == len(needs.images)
    before = (tmp_path / "scores.parquet").read_bytes(), (tmp_path / "pools" / "grid.npy").read_bytes()
    score(model, world, benchmark, needs, tmp_path, 16, tmp_path / "embeddings")
    assert (len(model.texts), len(model.images)) == (len(needs.texts), len(needs.images))
    assert before == ((tmp_path / "scores.parquet").read_bytes(), (tmp_path / "pools" / "grid.npy").read_bytes())


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
    capsys: pytest.CaptureFixture[str],
    room: int,
) -> None:
    few = Needs(needs.pairs[:40], {"grid": (needs.pools["grid"][0][:8], needs.pools["grid"][1][:50])})
    plenty = _scored(bag, world, benchmark, few, tmp_path / "plenty")
    capsys.readouterr()
    cramped = Cramped(bag, room)
    tight = _scored(cramped, world, benchmark, few, tmp_path / "tight", 64)
    assert tight["rows"] == plenty["rows"]
    assert np.array_equal(tight["pools"]["grid"], plenty["pools"]["grid"])
    fitting = next(64 >> i for i in range(7) if 64 >> i <= room)
    assert max(cramped.sizes) == fitting
    assert f"Out of memory: going on with batches of {fitting}." in capsys.readouterr().err


def test_no_memory_for_a_single_input_is_one_sentence(
    bag: WordBag, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="no memory for one of the texts; choose --device cpu or a smaller model"):
        score(Cramped(bag, 0), world, benchmark, needs, tmp_path, 64, tmp_path / "embeddings")


def _cut(words: int) -> Callable[[str], list[str]]:
    return lambda text: text.split()[:words]


def _blind_to_shape(text: str) -> list[str]:
    return ["cube" if word == "cone" else word for word in text.split()]


def _unordered(text: str) -> list[str]:
    """True of both orders or of neither: retrieval may count such texts as one."""
    return " and ".join(sorted(text.split(" and "))).split()


@pytest.mark.parametrize("read", [_cut(6), _cut(5), _cut(2), _blind_to_shape, _unordered, str.split])
def test_texts_that_are_read_alike_are_not_scored(
    drawn: Path, world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path, read: Callable[[str], list[str]],
    bags: None, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    model = WordBag(captions_by_image(drawn), read=read)
    alike: dict[str, list[str]] = {}
    for text_id, text in benchmark.text_of.items():
        alike.setdefault(" ".join(read(text)), []).append(text_id)

    got = _scored(model, world, benchmark, needs, tmp_path / "run")
    assert {(row["score"] is None, row["unscored"]) for row in got["rows"]} == {
        (False, None)
    }  # measuring says which count
    same = indistinct_texts(model, benchmark, needs)
    for text, first in same.items():
        assert read(benchmark.text_of[text]) == read(benchmark.text_of[first])
        assert text != first
    groups = [group for group in alike.values() if set(group) & set(needs.texts)]
    assert len(same) == len(needs.texts) - len(groups)

    monkeypatch.setattr("evaluator.run.load_model", lambda spec, device: model)
    _, results = run(Request(drawn, None, "bag:cut", (), tmp_path / "measured", 64, "cpu"))
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
    reasons = {r for m in measure_protocols(tmp_path / "measured").values() for r in m.items.unscored}
    assert reasons <= {"", TRUNCATED}


def test_what_the_cases_above_cover(benchmark: Benchmark, needs: Needs) -> None:
    """Cut after 2 words every binary item is blurred, cut after 6 only retrieval, blind to a shape only some."""

    def distinct(read: Callable[[str], list[str]]) -> set[bool]:
        texts: dict[str, list[str]] = {}
        for image, text in needs.pairs:
            texts.setdefault(image, []).append(" ".join(read(benchmark.text_of[text])))
        return {len(set(t)) == len(t) for t in texts.values()}

    assert distinct(_cut(2)) == {False}
    assert distinct(_cut(6)) == {True}
    assert distinct(_blind_to_shape) == {True, False}


def test_a_real_tokenizers_truncation_is_seen(
    tiny: Callable[..., Tiny], world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    tiny("tiny-short", context_length=5)  # start, three words, end
    path = tiny("tiny-short").save(tmp_path / "short.pt")
    model = load_model(f"open_clip:tiny-short@{path}", "cpu")
    assert model.info["text_length"] == 5
    same = indistinct_texts(model, benchmark, needs)
    encode = open_clip.SimpleTokenizer().encode
    head = {t: tuple(encode(benchmark.text_of[t])[:3]) for t in needs.texts}
    assert (
        len(needs.texts) - len(same) == len(set(head.values())) == 31
    )  # "cyan" is two tokens: its six shapes are lost
    assert all(head[text] == head[first] for text, first in same.items())


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
    monkeypatch.setattr("evaluator.run.load_model", lambda spec, device: Broken(Sharp(captions)))
    folder, results = run(Request(drawn, None, "bag:broken", (), tmp_path / "run", 64, "cpu"))
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
    path = dataset.world.image_path(needs.images[0])
    whole = path.read_bytes()
    for damage in (whole[: len(whole) // 2], dataset.world.image_path(needs.images[1]).read_bytes(), None):
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        with pytest.raises(UserError, match=rf"{path.name} is damaged or missing"):
            score(WordBag(captions), dataset.world, dataset.benchmark(), needs, tmp_path, 64, tmp_path / "embeddings")
        path.write_bytes(whole)
