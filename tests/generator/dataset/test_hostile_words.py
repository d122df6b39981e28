"""Words of a stranger in cards, summaries and tables: they make no lines, links or cells of their
own."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pytest

from generator.base.errors import one_line_of_markdown
from generator.base.files import sha256
from generator.base.tables import write_csv
from generator.dataset.card import card, write_card
from generator.dataset.reader import Dataset
from tests.conftest import succeed
from tests.generator.unrendered import write_texts, write_world

HOSTILE = "x\n  certificate: clean\x1b[2J\u202e | [a](http://b) <img src=c>"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A dataset whose manifests say HOSTILE wherever a text is free."""
    root = tmp_path / "data"
    write_texts(
        root, write_world(root, {"train": 20, "val": 2, "seen": 4, "partial": 4, "unseen": 4})
    )
    path = root / "benchmarks/bench/manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "held_out": HOSTILE, "declared_leaks": [HOSTILE]}))
    world = root / "world/manifest.json"
    manifest = json.loads(world.read_text())
    manifest["request"]["family"] = HOSTILE
    world.write_text(json.dumps(manifest))
    opened = Dataset.open(root)
    benchmark = opened.benchmark()
    certificate = {
        "status": "failed",
        "level": "records",
        "faults": {HOSTILE: 1},
        "manifests": _digests(root),
    }
    certificate |= {"benchmark": benchmark.digest, "world": opened.world.digest}
    (root / "benchmarks/bench/verify.json").write_text(json.dumps(certificate))
    return root


def _digests(root: Path) -> list[str]:
    return [sha256(root / part / "manifest.json") for part in ("world", "benchmarks/bench")]


def test_a_card_quotes_what_a_manifest_says(hostile: Path, tmp_path: Path) -> None:
    write_card(hostile)
    succeed("gen export hf", hostile, "--out", tmp_path / "out")
    for text in ((hostile / "README.md").read_text(), (tmp_path / "out" / "README.md").read_text()):
        assert one_line_of_markdown(HOSTILE) in text
        for part in ("\x1b", "\u202e", "\n  certificate: clean", "[a](http", "<img", " | [a]"):
            assert part not in text.replace("\\|", "").replace("\\[", "").replace("\\<", "")


def test_info_prints_one_line_a_fact(hostile: Path) -> None:
    output = succeed("gen info", hostile).stdout
    assert [line for line in output.splitlines() if line.startswith("  certificate: ")] == [
        line for line in output.splitlines() if "failed (" in line
    ]
    assert "\x1b" not in output
    assert "\u202e" not in output


def test_the_card_of_the_shipped_dataset_is_as_it_was() -> None:
    """Escapes change no card of plain words."""
    root = Dataset.open("example").root
    assert card(root)["README.md"] == (root / "README.md").read_text()


def test_an_exported_table_has_no_formula(tmp_path: Path) -> None:
    """VLMEvalKit's table, which people open in a spreadsheet."""
    write_csv(
        tmp_path / "t.tsv",
        pa.table({"A": ["=1+1", "a red cube"], "B": ["@x", "\x1b[2J\u202ex"]}),
        delimiter="\t",
    )
    with (tmp_path / "t.tsv").open(newline="") as file:
        assert list(csv.reader(file, delimiter="\t"))[1:] == [
            ["'=1+1", "'@x"],
            ["a red cube", "\\x1b[2J\\u202ex"],
        ]


def test_a_killed_export_leaves_nothing_that_the_next_one_keeps(
    hostile: Path, tmp_path: Path
) -> None:
    draft = tmp_path / ".out.draft"
    draft.mkdir()
    (draft / "half").write_text("half")
    succeed("gen export inspect", hostile, "--out", tmp_path / "out")
    assert not (tmp_path / "out" / "half").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]
