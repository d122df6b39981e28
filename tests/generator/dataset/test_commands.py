"""What the command lines share: failures end in one sentence, logs go to stderr, results to stdout."""

import errno
import json
import logging
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from generator.dataset.commands import Bar, Commands, DatasetFolder, OutFolder, result
from generator.dataset.errors import UserError


def run(error: BaseException | None) -> Result:
    """A command that logs, gives a result, and fails with an error."""

    @click.group(cls=Commands)
    def gen() -> None:
        pass

    @gen.command()
    @click.option("--json", "as_json", is_flag=True)
    def work(as_json: bool) -> None:
        logging.getLogger("generator.anything").info("10 scenes")
        if error is not None:
            raise error
        result({"scenes": 10}, as_json, "Made 10 scenes.")

    return CliRunner().invoke(gen, ["work", "--json"])


def test_results_go_to_stdout_and_logs_to_stderr() -> None:
    done = run(None)
    assert (done.exit_code, json.loads(done.stdout), done.stderr) == (0, {"scenes": 10}, "10 scenes\n")
    assert not logging.getLogger("generator").handlers


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (UserError("Expected 3x3, got 3by3."), 2, "Error: Expected 3x3, got 3by3.\n"),
        (OSError(errno.ENOSPC, "full", "/out/a.png"), 2, "Cannot write /out/a.png: no space is left there."),
        (KeyboardInterrupt(), 130, "run the same command again to continue"),
    ],
)
def test_foreseeable_failures_end_in_one_sentence(error: BaseException, code: int, sentence: str) -> None:
    done = run(error)
    assert done.exit_code == code
    assert sentence in done.stderr
    assert "Traceback" not in done.output


def test_other_errors_are_bugs_and_keep_their_traceback() -> None:
    assert isinstance(run(ZeroDivisionError()).exception, ZeroDivisionError)
    assert isinstance(run(OSError(errno.EIO, "broken disk")).exception, OSError)


def test_a_url_is_a_folder_that_stands_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = OutFolder().convert(f"file://{tmp_path}/world", None, None)
    assert folder.is_relative_to(tmp_path / "cache")
    assert DatasetFolder().convert(str(tmp_path), None, None) == tmp_path
    with pytest.raises(UserError, match="is no finished dataset"):
        DatasetFolder().convert(f"file://{tmp_path}/nothing", None, None)


def test_a_bar_shows_nothing_where_stderr_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Bar().each(range(5), "rendering", 5, every=2)) == [0, 1, 2, 3, 4]
    assert capsys.readouterr().err == ""
