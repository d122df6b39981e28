"""Models that read image and text together: which pairs they are asked, how often, in what
company."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.api import evaluate
from evaluator.metrics.comparison import TOLERANCE
from evaluator.protocols.pools import Pool, sampled_columns, true_texts
from evaluator.runs.measure import measure
from evaluator.scoring.needs import LIMIT, SAMPLE, Needs, collect_needs, within_limit
from evaluator.scoring.pairs import _DistinctPairs
from evaluator.scoring.score import score, settings_for
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.needs import all_pairs, contest_ids, needs_of, pair_ids, pool_ids
from tests.evaluator.scorers import Reader, score_of
from tests.evaluator.synthetic import find


@pytest.fixture(scope="module")
def needs(benchmark: Benchmark) -> Needs:
    """Binary pairs of all images, and a pool of few."""
    whole = collect_needs(benchmark, ["binary", "retrieval"])
    images, texts = pool_ids(whole, "grid")
    return needs_of([], {"grid": (images[:3], texts[:40])}, contest_ids(whole))


def _run(
    model: Reader, dataset: Path, out: Path, monkeypatch: pytest.MonkeyPatch, **more: Any
) -> dict[str, Any]:
    monkeypatch.setattr("evaluator.runs.run.load_model", lambda spec, device: model)
    options: dict[str, Any] = {"protocols": ("binary",), "batch_size": 16} | more
    results: Any = evaluate("reader:x", dataset, out=out, device="cpu", **options).results
    return results


@pytest.mark.parametrize("batch", [1, 5, 64, 1000])
def test_scores_are_those_of_a_loop_over_pairs(
    world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path, batch: int
) -> None:
    model = Reader()
    score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path / "run",
        batch=batch,
        cache_folder=tmp_path / "cache",
    )
    rows, n = pq.read_table(tmp_path / "run" / "scores.parquet").to_pylist(), needs.pairs.shape[1]
    assert [(r["image_id"], r["text_id"]) for r in rows] == pair_ids(needs) * 2
    assert [r["channel"] for r in rows] == ["match"] * n + ["length"] * n
    images, texts = pool_ids(needs, "grid")
    pools = [np.load(tmp_path / "run" / "pools" / name) for name in ("grid.npy", "grid.length.npy")]
    for place, channel in enumerate(model.channels):
        for row in rows[place * n :][:n]:
            expected = score_of(
                world.image(row["image_id"]), benchmark.text_of[row["text_id"]], True
            )[place]
            assert (row["channel"], row["score"], row["unscored"]) == (channel, expected, None)
        for i, image in enumerate(images):
            picture = world.image(image)
            assert pools[place][i].tolist() == [
                score_of(picture, benchmark.text_of[t], True)[place] for t in texts
            ]
    assert max(Counter(model.scored).values()) == 1
    assert len(model.scored) == len(all_pairs(needs)) == needs.count()


def test_compared_pairs_come_in_one_batch_and_images_once(
    world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    model = Reader()
    score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path / "run",
        batch=1000,
        cache_folder=tmp_path / "cache",
    )
    names = Counter(name for images, _, _ in model.calls for name in images)
    assert max(names.values()) == 1  # no image is in two calls
    expected = {
        frozenset(
            (world.image(image).tobytes(), benchmark.text_of[text]) for image, text in contest
        )
        for contest in contest_ids(needs)
    }
    scored_contests = {
        frozenset(pairs[i] for i in contest)
        for _, pairs, contests in model.calls
        for contest in contests
    }
    assert expected <= scored_contests
    assert all(len(contest) == 2 for contest in expected)
    for _, pairs, contests in model.calls:  # which is true cannot be told from the order
        for contest in contests:
            assert contest == sorted(contest)
            assert len(contest) <= len(pairs)


def test_a_model_whose_scores_depend_on_the_company_never_gets_half_of_it(
    world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    class Racing(Reader):
        contested = True

    model = Racing("racing")
    score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path / "run",
        batch=2,
        cache_folder=tmp_path / "cache",
    )
    assert max(Counter(name for images, _, _ in model.calls for name in images).values()) == 1
    before = len(model.scored)
    score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path / "run",
        batch=2,
        cache_folder=tmp_path / "cache",
    )
    assert len(model.scored) == before
    fewer = needs_of(pair_ids(needs)[:1])
    score(
        model,
        world,
        benchmark=benchmark,
        needs=fewer,
        out=tmp_path / "other",
        batch=2,
        cache_folder=tmp_path / "cache",
    )
    assert len(model.scored) == before + 1  # alone it is another question


def test_nothing_is_scored_twice_and_other_benchmarks_take_what_is_known(
    world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    model = Reader()
    half = needs_of(pair_ids(needs)[: needs.pairs.shape[1] // 2])
    score(
        model,
        world,
        benchmark=benchmark,
        needs=half,
        out=tmp_path / "half",
        batch=16,
        cache_folder=tmp_path / "cache",
    )
    score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path / "run",
        batch=16,
        cache_folder=tmp_path / "cache",
    )
    assert max(Counter(model.scored).values()) == 1
    other = Reader("another")
    score(
        other,
        world,
        benchmark=benchmark,
        needs=half,
        out=tmp_path / "half",
        batch=16,
        cache_folder=tmp_path / "cache",
    )
    assert len(other.scored) == half.pairs.shape[1]


def test_a_tolerance_for_float32_is_not_kept_in_bfloat16(
    world: World, benchmark: Benchmark, needs: Needs, tmp_path: Path
) -> None:
    tolerances = []
    for precision in ("float32", "bfloat16"):
        model = Reader()
        model.tie_tolerance = 2e-7
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
        tolerances.append(model.tie_tolerance)
    assert tolerances == [2e-7, TOLERANCE]


@pytest.mark.parametrize(("room", "contested"), [(3, False), (50, True)])
def test_batches_are_halved_when_memory_runs_out(
    world: World,
    benchmark: Benchmark,
    needs: Needs,
    tmp_path: Path,
    room: int,
    contested: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Between what is compared, where scores depend on the company."""
    plenty, cramped = Reader(), Reader(room=room)
    plenty.contested = cramped.contested = contested
    score(
        plenty,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path / "plenty",
        batch=64,
        cache_folder=tmp_path / "a",
    )
    score(
        cramped,
        world,
        benchmark=benchmark,
        needs=needs,
        out=tmp_path / "tight",
        batch=64,
        cache_folder=tmp_path / "b",
    )
    files = [(tmp_path / name / "scores.parquet").read_bytes() for name in ("plenty", "tight")]
    assert files[0] == files[1]
    assert max(len(pairs) for _, pairs, _ in cramped.calls) <= room
    assert max(Counter(cramped.scored).values()) == 1
    if contested:
        assert max(Counter(name for images, _, _ in cramped.calls for name in images).values()) == 1
    assert "Out of memory: continuing with batches of" in caplog.text


@pytest.mark.full
def test_any_channel_can_be_measured(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    first = _run(Reader(), drawn, folder, monkeypatch, protocols=())
    assert (first["channel"], find(first, "binary", "seen")["ties"]) == ("match", 0)
    second = measure(folder, channel="length")
    assert (second["channel"], find(second, "binary", "seen")["ties"]) == ("length", 24)
    assert find(second, "retrieval", "seen")["ties"] == 12
    assert measure(folder) == first
    assert (
        json.loads(score_command("measure", folder, "--channel", "length", "--json").stdout)
        == second
    )
    assert_one_sentence(
        score_command("measure", folder, "--channel", "lenth"),
        "no channel 'lenth': did you mean 'length'?",
    )
    second = _run(Reader(), drawn, tmp_path / "second", monkeypatch, protocols=(), channel="length")
    assert second == second
    with pytest.raises(
        UserError, match=r"The model has no channel 'cosine': expected one of: match, length\."
    ):
        _run(Reader(), drawn, tmp_path / "third", monkeypatch, channel="cosine")


@pytest.mark.full
def test_a_pool_that_costs_too_much_is_sampled_and_reported(
    drawn: Path,
    benchmark: Benchmark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole = collect_needs(benchmark, ["binary", "retrieval"])
    texts = pool_ids(whole, "grid")[1]
    assert 40 * 900 * Reader.passes > LIMIT > 40 * 900
    same = within_limit(whole, benchmark, passes=1)
    assert (contest_ids(same), all_pairs(same)) == (contest_ids(whole), all_pairs(whole))
    results = _run(Reader(), drawn, tmp_path / "run", monkeypatch, protocols=())
    assert "The pool 'grid' is sampled" in (log := caplog.text)
    assert "--full-pools" in log
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["sampled_pools"] == results["sampled_pools"] == {"grid": SAMPLE}
    assert not (tmp_path / "run" / "pools").exists()
    row = find(results, "retrieval", "seen", metric="R@1, sampled pool")
    assert row["chance"] == pytest.approx(2 / (2 + SAMPLE), abs=1e-6)

    sampled = within_limit(whole, benchmark, passes=Reader.passes)
    pairs = [
        (r["image_id"], r["text_id"])
        for r in pq.read_table(tmp_path / "run" / "scores.parquet").to_pylist()
    ]
    assert pairs == pair_ids(sampled) * 2
    true = true_texts(benchmark)
    for image in pool_ids(whole, "grid")[0]:
        drawn_texts = {
            texts[c]
            for c in sampled_columns(Pool("grid", [], texts), image, true=true[image], n=SAMPLE)
        }
        assert len(drawn_texts) == len(true[image]) + SAMPLE
        assert {(image, text) for text in drawn_texts} <= set(pairs)
    pair_count = sampled.count()
    assert (
        f"{pair_count:,} pairs of image and text to score, 3 forward passes each ({3 * pair_count:,} forward "
        f"passes" in log
    )

    full = _run(
        Reader(),
        drawn,
        tmp_path / "full",
        monkeypatch,
        protocols=("retrieval",),
        batch_size=2000,
        full_pools=True,
    )
    assert find(full, "retrieval", "seen", metric="R@1")["chance"] == pytest.approx(
        2 / 900, abs=1e-6
    )
    assert np.load(tmp_path / "full" / "pools" / "grid.npy").shape == (40, 900)


def test_scores_of_a_wrong_shape_are_one_sentence(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Flat(Reader):
        def score_pairs(self, images: Any, pairs: Any, contests: Any = None) -> np.ndarray:
            return super().score_pairs(images, pairs, contests)[:, 0]

    with pytest.raises(
        UserError,
        match=r"scores of the shape \(16,\), expected \(16, 2\): a row per pair, a column per channel",
    ):
        _run(Flat("flat"), drawn, tmp_path / "run", monkeypatch)


@pytest.mark.parametrize("contested", [False, True])
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")), min_size=1, max_size=4
        ),
        min_size=1,
        max_size=12,
    )
)
@settings(deadline=None)
def test_distinct_pairs_are_those_of_a_plain_loop(
    contested: bool, contests: list[list[tuple[str, str]]]
) -> None:
    """Images a and b, and texts u and v, have the same contents; the contests among any rows are
    found."""
    images, texts = (
        dict(zip("abcdef", "aacdef", strict=True)),
        dict(zip("uvwxyz", "uuwxyz", strict=True)),
    )
    needs = needs_of([], {"pool": (["f", "a"], ["z", "u", "v"])}, contests)

    class Named:
        def image_digest(self, image: str) -> str:
            return images[image]

    model = Reader()
    model.contested = contested
    text_names = [texts[text] for text in needs.texts.to_pylist()]
    benchmark: Any = SimpleNamespace(texts=pa.table({"text_id": needs.texts, "text": needs.texts}))
    world: Any = Named()
    pairs = _DistinctPairs(model, world, benchmark=benchmark, needs=needs, names=text_names)

    groups = [sorted(set(contest)) for contest in contests]
    groups += [[(image, text) for text in "zuv"] for image in "fa"]
    row_of_name: dict[str, int] = {}
    for group in sorted(groups, key=min):
        for image, text in group:
            row_of_name.setdefault(f"{images[image]}:{texts[text]}", len(row_of_name))
    assert pairs._content_names(np.arange(pairs.total)) == list(row_of_name)
    row_of_pair = {
        (image, text): row_of_name.get(f"{images[image]}:{texts[text]}", -1)
        for image in images
        for text in texts
    }
    expected_rows = [row_of_pair[pair] for pair in pair_ids(needs)]
    assert pairs.rows(*needs.pairs).tolist() == expected_rows
    expected = {tuple(sorted({row_of_pair[pair] for pair in group})) for group in groups}
    contests_of_rows = pairs._contests_among(np.arange(pairs.total))
    assert sorted({tuple(contest) for contest in contests_of_rows}) == sorted(
        rows for rows in expected if len(rows) > 1
    )
    if contested:
        # Pairs of one group are in one component, and each component has a digest of its own.
        digests_of_groups = [
            {name.rpartition(":")[2] for name in pairs.names(np.array(rows))} for rows in expected
        ]
        assert all(len(digests) == 1 for digests in digests_of_groups)
        assert len(set().union(*digests_of_groups)) == len(pairs._component_ends)
