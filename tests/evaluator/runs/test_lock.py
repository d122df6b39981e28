"""Two commands on the folder of one run: the second says who holds it, and no run's numbers get
another's name."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.protocols.results import ProtocolResults
from evaluator.runs import measure as measuring
from evaluator.runs.folder import Run
from evaluator.runs.lock import locked_run
from evaluator.runs.rules import Rules
from tests.conftest import refuse, succeed

TABLE = "item,protocol,slot,image,text,truth,split,score\n" + "".join(
    f"{item},binary,{slot},{item},{text},{truth},seen,{score}\n"
    for item in range(4)
    for slot, text, truth, score in (("c", "a red cube", 1, 0.9), ("n", "a blue cube", 0, 0.1))
)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(TABLE)
    return path


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that writes the run in `run`, until it is killed."""
    code = (
        "import sys, time; from pathlib import Path; from evaluator.runs.lock import locked_run\n"
        "with locked_run(Path(sys.argv[1])): print(flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()


def test_every_command_that_writes_a_run_says_who_holds_it(
    holder: subprocess.Popen[str], items: Path, tmp_path: Path
) -> None:
    message = f"run is being written by process {holder.pid} (-c "
    refuse(message, "score measure --items", items, "--out", tmp_path / "run")
    refuse(message, "score run example --model blind:length --out", tmp_path / "run")
    refuse(message, "score ask example --model api:http://localhost:1/v1@m --out", tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [".lock", ".lock.holder"]


def test_a_finished_run_that_is_held_is_not_measured(items: Path, tmp_path: Path) -> None:
    succeed("score measure --items", items, "--out", tmp_path / "run")
    before = (tmp_path / "run/results.json").read_bytes()
    with locked_run(tmp_path / "run"):
        refuse("is being written by process", "score measure", tmp_path / "run")
    assert (tmp_path / "run/results.json").read_bytes() == before
    succeed("score measure", tmp_path / "run")
    assert not list((tmp_path / "run").glob(".lock*"))


def test_a_killed_command_holds_nothing(
    holder: subprocess.Popen[str], items: Path, tmp_path: Path
) -> None:
    holder.kill()
    holder.wait()
    (tmp_path / "run" / ".lock.holder").write_text("process 1")
    succeed("score measure --items", items, "--out", tmp_path / "run")
    assert not list((tmp_path / "run").glob(".lock*"))


def test_a_refused_command_leaves_no_folder(tmp_path: Path) -> None:
    refuse(
        "Unknown protocol",
        "score run example --model blind:length --protocol wrong --out",
        tmp_path / "a" / "b",
    )
    assert not (tmp_path / "a").exists()


def test_a_lock_that_is_a_link_is_not_written_through(items: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "run").mkdir()
    for name in (".lock", ".lock.holder"):
        (tmp_path / "run" / name).symlink_to(tmp_path / "mine")
    refuse("is a link", "score measure --items", items, "--out", tmp_path / "run")
    assert (tmp_path / "mine").read_text() == "mine"


MODEL = """
from pathlib import Path
import json
class Model:
    key = "own"
    def score(self, image, text):
        begun = Path({folder!r}) / ".begun.json"
        data = json.loads(begun.read_text())
        begun.write_text(json.dumps({{**data, "model": "another"}}))  # as a command on a disk without locks
        return float(len(text))
"""


def test_a_folder_that_another_run_took_is_not_finished(tmp_path: Path) -> None:
    (tmp_path / "lockless.py").write_text(MODEL.format(folder=str(tmp_path / "run")))
    model = f"python:{tmp_path / 'lockless.py'}:Model"
    refuse(
        "holds a run of another model (another)",
        *(
            "score run example --protocol binary --limit 2 --out",
            tmp_path / "run",
            "--model",
            model,
        ),
    )
    assert not (tmp_path / "run" / "run.json").exists()


def test_scores_that_change_while_they_are_measured_are_not_published(
    items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a command on another machine whose disk has no locks."""
    succeed("score measure --items", items, "--out", tmp_path / "run")
    record, before = tmp_path / "run/run.json", (tmp_path / "run/results.json").read_bytes()
    measure_protocols = measuring.measure_protocols

    def measure_while_another_writes(
        run: Run, rules: Rules | None = None
    ) -> dict[str, ProtocolResults]:
        record.write_text(json.dumps({**json.loads(record.read_text()), "model": "another"}))
        return measure_protocols(run, rules)

    monkeypatch.setattr(measuring, "measure_protocols", measure_while_another_writes)
    refuse("was written again while it was measured", "score measure", tmp_path / "run")
    assert (tmp_path / "run/results.json").read_bytes() == before
