"""Certificates: status, sentence, counts, and what makes a dataset unjudgeable."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from generator.judge.verify import verify_dataset
from tests.generator.judge.datasets import BENCHMARK, CROWDS, SPLITS, judged, make, seal


def test_a_clean_dataset_is_clean(copied: Path) -> None:
    certificate = judged(copied)
    assert certificate["status"] == "clean"
    assert certificate["findings"] == []
    assert "have no leak; every positive is true, every negative false" in certificate["sentence"]
    assert certificate["counts"]["scenes"] == 174


def test_a_benchmark_without_its_block_is_not_clean(copied: Path, benchmark: Path) -> None:
    (benchmark / "holdout.json").unlink()
    seal(benchmark)
    certificate = judged(copied)
    assert certificate["status"] == "failed"
    assert set(certificate["faults"]) == {"missing holdout"}


def test_a_folder_that_cannot_be_written_gets_a_verdict() -> None:
    """A process without the right to write; root gives up its own first, when all is imported."""
    code = """
import json, logging, os, sys
from pathlib import Path
from generator.judge.verify import verify_dataset
root, certificate = Path(sys.argv[1]), Path(sys.argv[2])
verify_dataset(root, None)
certificate.unlink()
for path in (*root.rglob("*"), root):
    path.chmod(0o555 if path.is_dir() else 0o444)
if os.geteuid() == 0:
    os.seteuid(65534)
logging.basicConfig()
print(json.dumps(verify_dataset(root, None)))
"""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = make(Path(folder) / "dataset", CROWDS, SPLITS)
        path = root / "benchmarks" / BENCHMARK / "verify.json"
        command = [sys.executable, "-c", code, str(root), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for each in (root, *root.rglob("*")):
            each.chmod(0o755)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)[BENCHMARK]["status"] == "clean"
        assert "The certificate is not written to" in done.stderr
        assert not path.exists()


def test_a_certificate_that_cannot_be_replaced_is_returned(tmp_path: Path) -> None:
    root = make(tmp_path / "a", CROWDS, SPLITS)
    (root / "benchmarks" / BENCHMARK / "verify.json").mkdir()
    assert verify_dataset(root, None)[BENCHMARK]["status"] == "clean"
