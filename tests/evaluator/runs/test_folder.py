"""Reading the folder of a run: what is missing or changed is refused with the way to mend it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.cli.results_table import print_results
from evaluator.report.files import latex_tables
from evaluator.runs.folder import open_run, read_results
from evaluator.runs.measure import measure
from evaluator.scoring.writing import pool_path
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.protocols.conftest import CAPTION_AND_FOIL, run_of
from tests.evaluator.synthetic import Builder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = Builder(0, 4)
    builder.add("binary", "swap", CAPTION_AND_FOIL)
    return run_of(builder, tmp_path)


def test_results_are_read_or_said_to_be_missing(folder: Path) -> None:
    with pytest.raises(UserError, match="has no results; write them with `score measure"):
        read_results(open_run(folder))
    assert {**measure(folder), "folder": str(folder)} == read_results(open_run(folder))


def test_lost_scores_are_refused(folder: Path) -> None:
    (folder / "scores.parquet").unlink()
    with pytest.raises(UserError, match=r"has lost its scores.parquet; run `score run` again"):
        measure(folder)


@pytest.mark.parametrize("command", ["measure", "report"])
def test_a_url_in_a_run_is_not_opened(folder: Path, tmp_path: Path, command: str) -> None:
    """A sender could make `score report` fetch and write what lies at any URL."""
    there = tmp_path / "there"
    (there / "world").mkdir(parents=True)
    (there / "dataset.json").write_text("{}")
    record = read_json(folder / "run.json")
    for url in (f"file://{there}", "memory://bucket/world", "simplecache::file:///x"):
        write_json(folder / "run.json", {**record, "dataset": url})
        assert_one_sentence(
            score_command(command, folder),
            f"names a dataset at a URL ({url})",
            "write its folder there",
        )
    assert not (tmp_path / "cache" / "jackalope").exists()


@pytest.mark.parametrize("place", ["tables", "pools", "results.json", "scores.parquet", "run.json"])
def test_a_run_with_a_link_is_not_read_or_written(folder: Path, tmp_path: Path, place: str) -> None:
    private = tmp_path / "private"
    private.mkdir()
    if (folder / place).is_file():
        (folder / place).unlink()
    (folder / place).symlink_to(private)
    with pytest.raises(UserError, match=f"{place} is a link, and links are not followed"):
        measure(folder)
    assert list(private.iterdir()) == []


@pytest.mark.parametrize("name", ["../../private", "a/b", "", "*", "a.b"])
def test_pools_and_channels_have_plain_names(name: str) -> None:
    for pool, channel in ((name, "itm"), ("grid", name)):
        with pytest.raises(UserError, match="letters, digits"):
            pool_path(Path("run"), pool, channel=channel, number=1)


def _shown(folder: Path) -> None:
    """What is made of a run's results: the table of a terminal and the tables for papers."""
    results = read_results(open_run(folder))
    print_results([results], full=True)
    latex_tables(results)


@pytest.mark.parametrize(("name", "use"), [("run.json", measure), ("results.json", _shown)])
def test_a_record_that_lacks_a_key_or_has_another_type_is_a_sentence(
    folder: Path, name: str, use: Callable[[Path], object]
) -> None:
    """Every key, as a file looks that was edited by hand or written by another version."""
    measure(folder)
    whole = read_json(folder / name)
    messages: list[tuple[str, str]] = []
    for key, value in whole.items():
        rest = {name: whole[name] for name in whole if name != key}
        for damaged in (rest, {**rest, key: 3 if isinstance(value, dict | list) else [value]}):
            write_json(folder / name, damaged)
            try:
                use(folder)
            except UserError as error:
                messages.append((key, error.message))
    assert len(messages) >= len(whole)
    assert all(
        message.startswith(f"{folder / name} is damaged") and key in message
        for key, message in messages
    )
    for key, value in whole.items():  # texts for numbers, and counts beyond 64 bits
        damaged_texts = {"level": "0.9", "tie_tolerance": "0.1"}.get(key)
        huge = [{**row, "items": 10**30} for row in value] if key == "rows" else None
        for damaged_value in (damaged_texts, huge):
            if damaged_value is not None:
                write_json(folder / name, {**whole, key: damaged_value})
                with pytest.raises(UserError, match=f"{name} is damaged .*{key}"):
                    use(folder)
    for text in ("", "[]", "{", "[" * 50_000):
        (folder / name).write_text(text)
        with pytest.raises(UserError, match=f"{name} is damaged"):
            use(folder)
