"""What both command lines share: logs on stderr, results on stdout, mistakes in one sentence, exit codes."""

import errno
import io
import json
import logging
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from generator.dataset.commands import Bar, Commands, DatasetFolder, OutFolder, result, say
from generator.dataset.errors import UserError

logger = logging.getLogger("generator.render.run")


@click.group(cls=Commands)
def group() -> None:
    """A command line."""


@group.group(cls=Commands)
def inner() -> None:
    """A group in it."""


@inner.command()
@click.argument("end")
@click.option("--json", "as_json", is_flag=True)
def work(end: str, as_json: bool) -> None:
    """Log, then end as asked."""
    logger.debug("too much detail")
    logger.info("28 images")
    logging.getLogger("evaluator").warning("1 failed")
    say("Next: sleep")
    endings = {
        "mistake": UserError("Expected a, got b."), "disk": OSError(errno.ENOSPC, "full", "out"), "stop": KeyboardInterrupt(),
        "bug": ZeroDivisionError("a bug"), "other": OSError(errno.EIO, "broken"),
    }  # fmt: skip
    if end in endings:
        raise endings[end]
    result({"n": 28}, as_json, "28")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, ["inner", "work", *arguments])


def test_logs_go_to_stderr_plain_and_once_and_results_to_stdout() -> None:
    done = run("well")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "28\n", "28 images\n1 failed\nNext: sleep\n")
    assert json.loads(run("well", "--json").stdout) == {"n": 28}


def test_nothing_is_shown_outside_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    run("well")
    logger.info("28 images")
    assert capsys.readouterr() == ("", "")
    assert logging.getLogger("generator").handlers == []


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("mistake", 2, "Error: Expected a, got b."),
        ("disk", 2, "Error: Cannot write out: no space is left there. What is finished is kept:"),
        ("stop", 130, "Stopped. What is finished is kept: run the same command again to continue."),
    ],
)
def test_what_was_foreseen_is_one_sentence(end: str, code: int, said: str) -> None:
    done = run(end)
    assert (done.exit_code, done.stdout) == (code, "")
    assert done.stderr.splitlines()[-1].startswith(said)


@pytest.mark.parametrize("end", ["bug", "other"])
def test_a_bug_keeps_its_traceback(end: str) -> None:
    assert isinstance(run(end).exception, ZeroDivisionError | OSError)


def test_a_url_is_a_folder_that_stands_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = OutFolder().convert(f"file://{tmp_path}/world", None, None)
    assert folder.is_relative_to(tmp_path / "cache")
    assert DatasetFolder().convert(str(tmp_path), None, None) == tmp_path
    with pytest.raises(UserError, match="is no finished dataset"):
        DatasetFolder().convert(f"file://{tmp_path}/nothing", None, None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stderr", "shown"), [(Terminal, True), (io.StringIO, False)])
def test_a_bar_shows_where_stderr_is_a_terminal(
    stderr: type[io.StringIO], shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr())
    monkeypatch.setenv("TERM", "xterm")
    with Bar().track("rendering", 5, 2) as advance:
        advance()
        advance(2, "1 failed")
        advance(0)
    text = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert all((part in text) is shown for part in ("rendering", "5/5", "1 failed"))
    assert capsys.readouterr().out == ""
