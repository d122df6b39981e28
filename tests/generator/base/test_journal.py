"""The journal of a rendering: the latest record of each scene, whatever a kill left."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.dataset.journal import Journal


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=30), st.integers(0, 30), st.binary(max_size=9)
)
@settings(max_examples=60, deadline=None)
def test_a_journal_gives_the_latest_record_of_each_scene_in_order(
    tmp_path_factory: pytest.TempPathFactory, noted: list[tuple[int, int]], stop: int, torn: bytes
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal"
    records = [{"scene_id": f"{scene:03d}", "value": value} for scene, value in noted]
    journal = Journal(path)
    for each in records[:stop]:
        journal.add(each)
    with path.open("ab") as file:
        file.write(torn.replace(b"\n", b""))  # what a kill left of a line
    again = Journal(path)
    again.resume(lambda each: each["value"] % 2 == 0)
    for each in records[stop:]:
        again.add(each)
    kept = [each for each in records[:stop] if each["value"] % 2 == 0] + records[stop:]
    latest = {each["scene_id"]: each for each in kept}
    assert list(again.records()) == [latest[scene_id] for scene_id in sorted(latest)]
    assert len(again) == len(latest)
    assert all(scene_id in again for scene_id in latest)


def test_a_journal_of_older_lines_is_one_json_object_a_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.add({"scene_id": "b", "words": "Füße\n"})
    journal.add({"scene_id": "a"})
    assert [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()] == [
        {"scene_id": "b", "words": "Füße\n"},
        {"scene_id": "a"},
    ]


@pytest.mark.parametrize(
    "damage",
    [
        b"\0" * 300,
        b"\0" * 300 + b"\n",
        b'{"scene_id": "c"',
        b'{"value": 1}\n',
        b"[1]\n",
        b"\xff\xfe\n",
        b'{"scene_id": 3}\n',
    ],
)
def test_a_damaged_end_is_dropped_with_a_warning_and_the_rest_is_kept(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A power cut leaves zeros; a later line may follow them in the same line of the file."""
    journal = Journal(tmp_path / "journal")
    journal.add({"scene_id": "a"})
    with (tmp_path / "journal").open("ab") as file:
        file.write(damage)
    journal = Journal(tmp_path / "journal")
    journal.resume(lambda record: True)
    assert "1 line of" in caplog.text
    assert "rendered again" in caplog.text
    journal.add({"scene_id": "b"})
    again = Journal(tmp_path / "journal")
    again.resume(lambda record: True)
    assert list(again.records()) == [{"scene_id": "a"}, {"scene_id": "b"}]


def test_lines_are_forced_to_disk_at_once_and_then_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda number: forced.append(os.fstat(number).st_size))
    journal = Journal(tmp_path / "journal")
    for scene in range(100):
        journal.add({"scene_id": f"{scene:03d}"})
    assert len(forced) < 100
    assert forced[0] == len('{"scene_id": "000"}\n')
    journal.close()
    assert forced[-1] == 100 * forced[0]
