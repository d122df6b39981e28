"""Whatever a file of a submission holds, it is accepted or refused with a sentence: nothing else."""

import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from evaluator.submissions.checks import check_submission
from evaluator.submissions.commitments import read_challenges, read_commitment, read_opening
from evaluator.submissions.forms import open_datasets
from evaluator.submissions.read import read_submission
from evaluator.submissions.receipts import read_receipts
from generator.base.errors import UserError
from generator.base.files import write_json
from tests.evaluator.submissions.conftest import run_folders, sign
from tests.fuzz.mutations import of_kind

EXAMPLES = 12


def damage(name: str, path: Path, read: Callable[[], object]) -> None:
    """Read files of which one has other bytes, in a few ways."""
    whole = path.read_bytes()

    @seed(zlib.crc32(name.encode()))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(of_kind(path.name)(whole))
    def run(data: bytes) -> None:
        path.write_bytes(data)
        with suppress(UserError):
            read()
        path.write_bytes(whole)

    run()


@pytest.mark.parametrize(
    "name", ["submission.json", "run.json", "claims.json", "scores.parquet", "pools/grid.texts.npy"]
)
def test_damaged_submissions_are_read_or_refused(
    submitted: dict[str, Path], standard: Path, tmp_path: Path, name: str
) -> None:
    """The manifest is made again after the damage, as whoever sends a damaged file would."""
    folder = Path(shutil.copytree(submitted["ada"], tmp_path / "ada"))
    manifest = (folder / "submission.json").read_bytes()
    run = next(run_folders(folder))
    path = folder / name if name == "submission.json" else run / name
    datasets = open_datasets([standard])
    tables = tmp_path / "tables"

    def read() -> None:
        if path.name != "submission.json":
            (folder / "submission.json").write_bytes(manifest)
            sign(folder)
        tables.mkdir(exist_ok=True)
        check_submission(read_submission(folder), datasets, tables)

    damage(name, path, read)


def test_damaged_promises_and_receipts_are_read_or_refused(tmp_path: Path) -> None:
    digest = "ab" * 32
    files = {
        "commitment.json": {
            "format": "jackalope-commitment/1",
            "name": "a",
            "commitment": digest,
            "date": "2026-11-29",
        },
        "opening.json": {"format": "jackalope-opening/1", "salt": digest, "models": [digest]},
        "challenges/challenge-0001.json": {
            "format": "jackalope-challenge/1",
            "number": 1,
            "previous": "",
            "date": "",
            "suite": "toy",
            "version": "1",
            "part": "tiny",
            "seed": 7,
            "form": "fresh-7",
            "commitments": [{"name": "a", "commitment": digest}],
        },
        "receipts/a.json": {
            "format": "jackalope-receipt/1",
            "submission": digest,
            "name": "a",
            "date": "",
            "seed": 0,
            "tolerance": 0.05,
            "runs": [{"folder": "runs/a", "model": digest, "items": 1, "equal": 1, "of": 9}],
            "equal": True,
            "digest": digest,
        },
    }
    readers = {
        "commitment.json": lambda: read_commitment(tmp_path / "commitment.json"),
        "opening.json": lambda: read_opening(tmp_path / "opening.json"),
        "challenges/challenge-0001.json": lambda: read_challenges(tmp_path / "challenges"),
        "receipts/a.json": lambda: read_receipts(tmp_path / "receipts"),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_json(tmp_path / name, content)
    for name, read in readers.items():
        damage(name, tmp_path / name, read)
