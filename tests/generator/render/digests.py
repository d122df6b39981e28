"""Digests of the files of a dataset, for tests that compare datasets."""

import hashlib
from pathlib import Path


def files(root: Path) -> dict[str, str]:
    """Digest of every file of a dataset, by relative path."""
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths
    }
