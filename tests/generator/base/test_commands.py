"""What both command lines share: logs on stderr, results on stdout, mistakes in one sentence, exit
codes."""

import errno
import io
import json
import logging
import os
import pwd
import sys
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner, Result
from platformdirs import user_cache_path

from generator.base import commands
from generator.base.commands import (
    Bar,
    Commands,
    DatasetFolder,
    LocalFolder,
    result,
    say,
    say_if_slow,
)
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.dataset.writer import WorldWriter

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
        "mistake": UserError("Expected a, got b."),
        "disk": OSError(errno.ENOSPC, "full", "out"),
        "stop": KeyboardInterrupt(),
        "folder": FileNotFoundError(errno.ENOENT, "no", "runs/a"),
        "odd": OSError(errno.EIO, "Input/output error", "x"),
        "memory": MemoryError(),
        "bug": ZeroDivisionError("a bug"),
        "other": OSError(errno.EIO, "broken"),
        "full": OSError(errno.ENOSPC, "No space left on device"),
    }
    if end == "home":
        user_cache_path("jackalope")
    if end == "encoding":
        os.fsdecode(b"d\xfcr").encode()
    if end in endings:
        raise endings[end]
    result({"n": 28}, as_json, "28")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, ["inner", "work", *arguments])


def test_logs_go_to_stderr_plain_and_once_and_results_to_stdout() -> None:
    done = run("well")
    assert (done.exit_code, done.stdout, done.stderr) == (
        0,
        "28\n",
        "28 images\n1 failed\nNext: sleep\n",
    )
    assert json.loads(run("well", "--json").stdout) == {"n": 28}


def test_root_logger_does_not_repeat_messages(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Pytest's own handler stands for the library's: it hears what reaches the root logger."""
    run("well")
    assert caplog.messages == []
    with caplog.at_level(logging.INFO):
        logger.info("after the command")
    assert caplog.messages == ["after the command"]


def test_nothing_is_shown_outside_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    run("well")
    logger.info("28 images")
    assert capsys.readouterr() == ("", "")
    assert logging.getLogger("generator").handlers == []


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ("mistake", 2, "Error: Expected a, got b."),
        ("folder", 2, "Error: Cannot use runs/a: no. Finished work is kept:"),
        ("odd", 2, "Error: Cannot use x: input/output error. Finished work is kept:"),
        ("memory", 2, "Error: There is not enough memory; end other programs"),
        ("disk", 2, "Error: Cannot write out: full. Finished work is kept:"),
        ("stop", 130, "Stopped. Finished work is kept: run the same command again to continue."),
    ],
)
def test_expected_errors_are_printed_as_one_sentence(end: str, code: int, words: str) -> None:
    done = run(end)
    assert (done.exit_code, done.stdout) == (code, "")
    assert done.stderr.splitlines()[-1].startswith(words)


@pytest.mark.parametrize("end", ["bug", "other"])
def test_a_bug_keeps_its_traceback(end: str) -> None:
    assert isinstance(run(end).exception, ZeroDivisionError | OSError)


def test_a_url_is_a_folder_that_stands_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = DatasetFolder(written=True).convert(f"file://{tmp_path}/world", None, None)
    assert folder.is_relative_to(tmp_path / "cache")
    assert DatasetFolder().convert(str(tmp_path), None, None) == tmp_path
    with pytest.raises(UserError, match="is not a finished dataset"):
        DatasetFolder().convert(f"file://{tmp_path}/nothing", None, None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stderr", "is_terminal"), [(Terminal, True), (io.StringIO, False)])
def test_a_bar_shows_where_stderr_is_a_terminal(
    stderr: type[io.StringIO],
    is_terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr())
    monkeypatch.setenv("TERM", "xterm")
    with Bar().track("rendering", 5, 2) as advance:
        advance()
        advance(2, "1 failed")
        advance(0)
    text = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert all((part in text) is is_terminal for part in ("rendering", "5/5", "1 failed"))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["exp:1", "s3:/bucket/world", "S3:bucket", "file:/tmp/world"])
def test_a_name_that_begins_like_a_url_is_refused_before_anything_is_made(name: str) -> None:
    """Once everything was rendered into such a folder, and then its tables could not be written."""
    scheme, _, rest = name.partition(":")
    with pytest.raises(UserError) as caught:
        DatasetFolder(written=True).convert(name, None, None)
    assert caught.value.message == (
        f"Expected a folder or a URL such as s3://bucket/name, got '{name}', which begins like a "
        f"URL; write '{scheme}://{rest.lstrip('/')}' for a URL, or './{name}' for a folder."
    )


def test_a_folder_with_a_colon_is_one_that_tables_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = DatasetFolder(written=True).convert("./exp:1", None, None)
    with WorldWriter(root, {"width": 8, "height": 8}) as writer:
        writer.finish("")
    assert Dataset.open(DatasetFolder().convert("exp:1", None, None)).world.scenes.num_rows == 0
    assert LocalFolder().convert("runs/a", None, None) == Path("runs/a")


def test_names_do_not_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "evil\x1b]0;title\x07\u202etxt"

    @click.command()
    @click.option("--end", type=click.Choice(["mistake", "usage", "well"]))
    def tell(end: str) -> None:
        logger.warning(name)
        if end == "mistake":
            raise UserError(f"{name} is damaged.")
        if end == "usage":
            raise click.BadParameter(f"there is no {name}")
        result({}, False, name)

    named = Commands("named", {"tell": tell})
    for end in ("mistake", "usage", "well"):
        done = CliRunner().invoke(named, ["tell", "--end", end])
        assert done.output.count("evil\\x1b]0;title\\x07\\u202etxt") == 2, done.output
        assert not {"\x1b", "\x07", "\u202e"} & {*done.output}


def test_names_that_are_not_utf8_are_refused_wherever_they_come_from() -> None:
    for word in (os.fsdecode(b"d\xfcr"), "encoding"):
        done = run(word)
        assert done.exit_code == 2
        assert (
            "Expected names in UTF-8, got 'd\\udcfcr'; rename the file or the folder."
            in done.stderr
        )
    assert run("für").exit_code == 0


def test_missing_home_folder_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", raise_unknown)
    done = run("home")
    assert done.exit_code == 2
    assert "set HOME or XDG_CACHE_HOME to a folder" in done.stderr


def test_a_full_disk_without_a_name_may_be_any_that_is_written_to() -> None:
    done = run("full")
    assert done.exit_code == 2
    assert (
        f"the cache {user_cache_path('jackalope')} or {tempfile.gettempdir()}: no space left on "
        f"device" in done.stderr
    )


def test_say_if_slow_speaks_on_terminals_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages: list[str] = []
    slow = threading.Event()

    def tell(message: str) -> None:
        messages.append(message)
        slow.set()

    monkeypatch.setattr(commands, "say", tell)
    monkeypatch.setattr(commands, "_PATIENCE", 0.01)
    for is_terminal, expected in ((False, []), (True, ["Loading."])):
        monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda value=is_terminal: value))
        with say_if_slow("Loading."):
            slow.wait(60 if is_terminal else 0.1)
        assert messages == expected
    monkeypatch.setattr(commands, "_PATIENCE", 60)
    with say_if_slow("Never."):
        pass
    assert messages == ["Loading."]
