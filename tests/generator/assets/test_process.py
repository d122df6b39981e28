"""The Blender process: it answers, refuses in a sentence, and its end is explained."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from generator.assets import importing as process
from generator.assets.importing import AssetWorker
from generator.base.errors import UserError
from tests.hostile_folder import make_hostile

POPEN = subprocess.Popen
REFUSES = 'import sys; [print(\'{"refused": "no."}\', flush=True) for line in sys.stdin]'
ECHOES = "import sys; [print(line, end='', flush=True) for line in sys.stdin]"


def started(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Have the next worker run this code in place of Blender."""
    monkeypatch.setattr(process.subprocess, "Popen", lambda _, **more: POPEN([sys.executable, "-c", code], **more))


def test_requests_are_answered_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    started(monkeypatch, ECHOES)
    with AssetWorker() as worker:
        assert worker.ask({"show": ["é"]}) == {"show": ["é"]}
        assert worker.ask({}) == {}
    started(monkeypatch, REFUSES)
    with AssetWorker() as worker, pytest.raises(UserError, match=r"no\."):
        worker.ask({})


def test_a_crash_and_a_hang_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    started(monkeypatch, "import sys; input(); sys.exit('out of cheese')")
    with AssetWorker() as worker, pytest.raises(UserError, match=r"ended over it \(out of cheese\)"):
        worker.ask({})
    monkeypatch.setattr(process, "_TIMEOUT", 0.05)
    started(monkeypatch, "import time; time.sleep(60)")
    with AssetWorker() as worker, pytest.raises(UserError, match="gave no answer in 0 s"):
        worker.ask({})


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = make_hostile(tmp_path)
    monkeypatch.chdir(tmp_path)
    with AssetWorker() as worker, suppress(UserError):
        worker.ask({"nonsense": True})
    assert not trace.exists()
