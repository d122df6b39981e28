"""Several processes share a run, and a run that is killed goes on: the same bytes, nothing computed
twice."""

import json
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evaluator.api import evaluate
from evaluator.models.registry import FAMILIES, Family
from evaluator.scoring.batches import DEFAULT
from evaluator.scoring.store import Process, VectorCache, VectorStore, remove_parts
from generator.base.errors import UserError
from tests.evaluator.encoders import Sharp, Wrapped, captions_by_image
from tests.evaluator.scorers import Reader, hash_of
from tests.paths import CHECKOUT

BATCH, KILLS = 16, 5


class Slow(Wrapped):
    """A DualEncoder that takes its time and notes what it encoded in a file."""

    def __init__(self, inner: Sharp, log: Path, wait: float):
        super().__init__(inner)
        self._log, self._wait = log, wait

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Noted and passed on."""
        return self._noted([text.encode() for text in texts], super().encode_texts(texts))

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Noted and passed on."""
        return self._noted([image.tobytes() for image in images], super().encode_images(images))

    def _noted(self, inputs: list[bytes], vectors: np.ndarray) -> np.ndarray:
        time.sleep(self._wait)
        with self._log.open("a") as file:
            file.write("".join(f"{hash_of(data)}\n" for data in inputs))
        return vectors


Make = Callable[[Path], object]


@pytest.fixture(params=["dual", pytest.param("pairs", marks=pytest.mark.full)])
def make(request: pytest.FixtureRequest, drawn: Path) -> Make:
    """Makes a slow model of either kind, which notes what it computes in a file."""
    if request.param == "pairs":
        return lambda log: Reader(log=log, wait=0.02)
    sharp = Sharp(captions_by_image(drawn), key="sharp")
    return lambda log: Slow(sharp, log, 0.02)


def _start(
    make: Make, log: Path, dataset: Path, out: Path, cache: Path, ranks: int = 1
) -> list[multiprocessing.process.BaseProcess]:
    """Run in processes of their own that share a run."""

    def work(rank: int) -> None:
        os.environ.update(XDG_CACHE_HOME=str(cache), RANK=str(rank), WORLD_SIZE=str(ranks))
        FAMILIES["slow"] = Family("none", "none")
        import evaluator.runs.run

        evaluator.runs.run.load_model = lambda spec, device: make(log)
        evaluate("slow:x", dataset, out=out, batch_size=BATCH, device="cpu")

    context = multiprocessing.get_context("fork")
    started = [context.Process(target=work, args=(rank,)) for rank in range(ranks)]
    for process in started:
        process.start()
    return started


def _scores(folder: Path) -> dict[str, bytes]:
    files = [
        folder / "scores.parquet",
        folder / "results.json",
        *sorted((folder / "pools").glob("*.npy")),
    ]
    return {path.name: path.read_bytes() for path in files}


def _finish(processes: list[multiprocessing.process.BaseProcess]) -> None:
    for process in processes:
        process.join(120)
        assert process.exitcode == 0


@pytest.mark.full
def test_a_run_that_is_killed_again_and_again_gives_the_same_bytes(
    make: Make, drawn: Path, tmp_path: Path
) -> None:
    began = time.monotonic()
    _finish(_start(make, tmp_path / "whole.log", drawn, tmp_path / "whole", tmp_path / "a"))
    needed = time.monotonic() - began
    stream, kills = random.Random(0), 0
    for _ in range(KILLS):
        (process,) = _start(make, tmp_path / "log", drawn, tmp_path / "run", tmp_path / "b")
        process.join(stream.uniform(0.05, 0.5) * needed)
        if process.is_alive():
            os.kill(process.pid or 0, signal.SIGKILL)
            kills += 1
        process.join()
    _finish(_start(make, tmp_path / "log", drawn, tmp_path / "run", tmp_path / "b"))
    assert _scores(tmp_path / "run") == _scores(tmp_path / "whole")
    assert kills
    once, often = (
        Counter((tmp_path / name).read_text().splitlines()) for name in ("whole.log", "log")
    )
    assert set(once.values()) == {1}
    assert once.keys() == often.keys()
    assert sum(often.values()) - len(often) <= kills * DEFAULT
    assert not (tmp_path / "run" / ".begun.json").exists()


@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.full), 2])
def test_two_processes_give_the_bytes_of_one_and_others_go_on_with_what_they_left(
    make: Make, drawn: Path, tmp_path: Path, ranks: int
) -> None:
    _finish(_start(make, tmp_path / "one.log", drawn, tmp_path / "one", tmp_path / "a"))
    processes = _start(make, tmp_path / "log", drawn, tmp_path / "run", tmp_path / "b", 2)
    while (
        not (tmp_path / "log").exists()
        or len((tmp_path / "log").read_text().splitlines()) < 4 * BATCH
    ):
        time.sleep(0.01)
    for process in processes:
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
    assert not (tmp_path / "run" / "run.json").exists()
    _finish(_start(make, tmp_path / "log", drawn, tmp_path / "run", tmp_path / "b", ranks))
    assert _scores(tmp_path / "run") == _scores(tmp_path / "one")
    often = Counter((tmp_path / "log").read_text().splitlines())
    assert often.keys() == set((tmp_path / "one.log").read_text().splitlines())
    assert sum(often.values()) - len(often) <= 2 * DEFAULT
    assert json.loads((tmp_path / "run" / "run.json").read_text())["processes"] == ranks
    assert not (tmp_path / "run" / ".parts").exists()


@pytest.mark.full
def test_torchrun_is_understood(drawn: Path, tmp_path: Path) -> None:
    model = "python:tests.evaluator.scorers:TorchBag"
    root = CHECKOUT
    code = "import sys; sys.argv[0] = 'score'; from evaluator.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    arguments = [
        "run",
        str(drawn),
        "--model",
        model,
        "--protocol",
        "binary",
        "--device",
        "cpu",
        "--json",
    ]
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "--no-python",
    ]
    outputs = []
    for name, before in (("two", launcher), ("one", [])):
        done = subprocess.run(
            [*before, sys.executable, "-c", code, *arguments, "--out", str(tmp_path / name)],
            capture_output=True,
            text=True,
            env={**environment, "XDG_CACHE_HOME": str(tmp_path / f"cache-{name}")},
            cwd=root,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(json.loads(done.stdout))
        assert done.stderr.count("Scores and results are in") == 1
    assert outputs[0] == outputs[1]
    assert (tmp_path / "two" / "scores.parquet").read_bytes() == (
        tmp_path / "one" / "scores.parquet"
    ).read_bytes()


def test_ranks_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Process.from_environment() == Process(0, 1)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "3")
    assert Process.from_environment() == Process(3, 4)
    for number, size in (("4", "4"), ("x", "4"), ("0", "0"), ("-1", "2")):
        monkeypatch.setenv("RANK", number)
        monkeypatch.setenv("WORLD_SIZE", size)
        with pytest.raises(
            UserError, match="Expected RANK and WORLD_SIZE to be numbers, RANK the smaller"
        ):
            Process.from_environment()


def names(rows: np.ndarray) -> list[str]:
    return ["abcd"[row] for row in rows]


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., VectorStore]:
    """Makes the store of a process."""
    return lambda rank, count=2: VectorStore(
        VectorCache(tmp_path / "cache.sqlite"), tmp_path, kind="texts", process=Process(rank, count)
    )


def test_a_store_holds_what_any_process_computed(
    store: Callable[..., VectorStore], tmp_path: Path
) -> None:
    with store(0, 1) as alone:
        alone.put(["a"], np.ones((1, 2)))
    with sqlite3.connect(tmp_path / "cache.sqlite") as database:
        database.execute(
            "INSERT INTO rows VALUES ('b', x'00')"
        )  # what is damaged is computed again, and kept
    with store(0) as first, store(1) as second:
        first.put(["b"], np.full((1, 2), 2.0))
        second.put(["c"], np.full((1, 2), 3.0))
        assert (
            set(first.get(["a", "b", "c", "d"]))
            == set(second.get(["a", "b", "c"]))
            == {"a", "b", "c"}
        )
        rows = np.arange(4)
        assert (
            first.known(names, rows).tolist()
            == second.known(names, rows).tolist()
            == [True, True, True, False]
        )
        gathered = first.gather(names, 3)
    assert (gathered.dtype, gathered.tolist()) == (np.float32, [[1, 1], [2, 2], [3, 3]])
    remove_parts(tmp_path)
    with store(0, 1) as alone:
        assert set(alone.get(["a", "b", "c"])) == {"a", "b", "c"}


def test_a_late_process_with_nothing_to_do_leaves_nothing(tmp_path: Path) -> None:
    """The main process may have ended before it starts, as when all vectors are in the cache."""
    cache = VectorCache(tmp_path / "cache.sqlite")
    cache.put(["a"], np.ones((1, 2)))
    with VectorStore(cache, tmp_path / "run", kind="texts", process=Process(1, 2)) as late:
        remove_parts(tmp_path / "run")
        assert late.known(names, np.arange(1)).tolist() == [True]
    assert not (tmp_path / "run").exists()


def test_scores_that_another_process_writes_meanwhile_are_not_computed_again(
    store: Callable[..., VectorStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    with store(0) as first, store(1) as second:
        read = first.get

        def late(names: Sequence[str]) -> dict[str, np.ndarray]:
            vectors = read(names)
            second.put(["a"], np.ones((1, 2)))
            return vectors

        monkeypatch.setattr(first, "get", late)
        assert first.gather(names, 1).tolist() == [[1, 1]]


def test_processes_that_give_nothing_are_not_waited_for_forever(
    store: Callable[..., VectorStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.scoring.store._PATIENCE", 0.0)
    message = r"have not given 2 of the texts for .*; run the same command again to continue"
    with store(0) as main, pytest.raises(UserError, match=message):
        main.gather(names, 2)
