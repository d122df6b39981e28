"""What is put on disk is what is got: embeddings by model across processes, and the files of
scores."""

import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evaluator.models.contracts import Answer
from evaluator.protocols.items import NOT_A_NUMBER
from evaluator.scoring.store import EMBEDDINGS, VectorCache
from evaluator.scoring.words.files import AnswerStore
from evaluator.scoring.writing import pool_path, write_matrix, write_scores
from generator.base.errors import UserError

_NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=8, unique=True
)


@given(st.data(), _NAMES, st.integers(1, 5))
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_store_returns_vectors_bit_for_bit(
    tmp_path: Path, data: st.DataObject, names: list[str], size: int
) -> None:
    vectors = data.draw(hnp.arrays(np.float32, (len(names), size), elements=st.floats(width=32)))
    with VectorCache(tmp_path / "model.sqlite") as cache:
        cache.put(names, vectors)
        got = cache.get([*names, "of this nothing is known, surely"])
    assert set(got) == set(names)
    for name, vector in zip(names, vectors, strict=True):
        assert got[name].dtype == np.float32
        assert got[name].tobytes() == vector.tobytes()


def test_many_inputs_are_found_and_the_last_put_counts(tmp_path: Path) -> None:
    names = [f"text:{i}" for i in range(1203)]
    with VectorCache(tmp_path / "model.sqlite") as cache:
        cache.put(names, np.zeros((1203, 2)))
        cache.put(names, np.stack([np.arange(1203), -np.arange(1203)], axis=1))
    with VectorCache(tmp_path / "model.sqlite") as cache:
        got = cache.get(names)
    assert np.array_equal(
        np.stack([got[name] for name in names])[:, 0], np.arange(1203, dtype=np.float32)
    )


def test_the_cache_lies_where_the_user_says(tmp_path: Path) -> None:
    with VectorCache.of_model(EMBEDDINGS, "model", None) as cache:
        cache.put(["image:x"], np.ones((1, 3)))
    assert (tmp_path / "cache" / "jackalope" / "embeddings" / "model.sqlite").exists()


@pytest.mark.parametrize("damage", ["header", "middle"])
def test_a_damaged_cache_is_said_in_one_sentence(tmp_path: Path, damage: str) -> None:
    path, names = tmp_path / "model.sqlite", [f"text:{i}" for i in range(2000)]
    with VectorCache(tmp_path / "model.sqlite") as cache:
        cache.put(names, np.ones((2000, 64)))
    data = path.read_bytes()
    start = 0 if damage == "header" else 8192
    path.write_bytes(data[:start] + b"\xff" * (len(data) - start))

    def use() -> None:
        with VectorCache(tmp_path / "model.sqlite") as cache:
            cache.get(names)

    with pytest.raises(UserError, match=r"cache .*model\.sqlite cannot be used"):
        use()


@pytest.mark.parametrize(
    "change",
    [
        # as older versions kept it
        "UPDATE rows SET value = x'0000803f0000803f0000803f' WHERE name = 'b'",
        "UPDATE rows SET value = (SELECT value FROM rows WHERE name = 'a') WHERE name = 'b'",
        "UPDATE rows SET value = zeroblob(20) WHERE name = 'b'",
        "UPDATE rows SET value = x'' WHERE name = 'b'",
        "UPDATE rows SET value = substr(value, 5) WHERE name = 'b'",
        "UPDATE rows SET value = 'a text' WHERE name = 'b'",
        "UPDATE rows SET value = 7 WHERE name = 'b'",
    ],
)
def test_an_entry_that_was_changed_is_not_used(
    tmp_path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    with VectorCache(tmp_path / "model.sqlite") as cache:
        cache.put(["a", "b"], np.arange(6).reshape(2, 3))
    with sqlite3.connect(tmp_path / "model.sqlite") as database:
        database.execute(change)
    with VectorCache(tmp_path / "model.sqlite") as cache:
        assert set(cache.get(["a", "b"])) == {"a"}
        assert "1 entries of the cache" in caplog.text
        cache.put(["b"], np.ones((1, 3)))
        assert set(cache.get(["a", "b"])) == {"a", "b"}


def test_scores_are_a_row_for_each_channel_and_pair(tmp_path: Path) -> None:
    scores = np.array([[1.5, 2.5], [np.nan, -np.inf]], dtype=np.float32)
    write_scores(
        tmp_path, pa.array(["a", "b"]), pa.array(["s", "t"]), scores=scores, channels=("itm", "itc")
    )
    rows = [tuple(row.values()) for row in pq.read_table(tmp_path / "scores.parquet").to_pylist()]
    assert rows == [
        ("a", "s", "itm", 1.5, None),
        ("b", "t", "itm", None, NOT_A_NUMBER),
        ("a", "s", "itc", 2.5, None),
        ("b", "t", "itc", None, NOT_A_NUMBER),
    ]


def test_pools_are_files_by_channel(tmp_path: Path) -> None:
    write_matrix(pool_path(tmp_path, "grid", channel="itm", number=0), np.eye(2))
    write_matrix(pool_path(tmp_path, "grid", channel="itc", number=1), np.zeros((2, 2)))
    assert [path.name for path in sorted((tmp_path / "pools").iterdir())] == [
        "grid.itc.npy",
        "grid.npy",
    ]
    stored = np.load(pool_path(tmp_path, "grid", channel="itm", number=0))
    assert (stored.dtype, stored.tolist()) == (np.float32, np.eye(2).tolist())


@pytest.mark.parametrize("damaged_value", ["x'7b7d'", "'{}'", "7"])
def test_a_damaged_answer_is_asked_again(
    tmp_path: Path, damaged_value: str, caplog: pytest.LogCaptureFixture
) -> None:
    with AnswerStore("model", tmp_path) as answers:
        answers.put(["a", "b"], [Answer("A", "stop", 3, 1), Answer("B", "stop", 3, 1)])
    with sqlite3.connect(tmp_path / "model.sqlite") as database:
        database.execute(f"UPDATE rows SET value = {damaged_value} WHERE name = 'b'")
    with AnswerStore("model", tmp_path) as answers:
        assert answers.get(["a", "b"]) == {"a": Answer("A", "stop", 3, 1)}
        assert "1 entries of the cache" in caplog.text
