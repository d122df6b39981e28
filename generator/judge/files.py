"""Whether a component's files are whole: sums, images, tables."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from PIL import Image

from generator.dataset.commands import progress
from generator.dataset.errors import UserError
from generator.dataset.files import SUMS, read_sums, sha256

Finding = dict[str, str]
Row = dict[str, Any]


def finding(fault: str, what: str) -> Finding:
    """What is wrong: the kind of fault, and which rows or files show it."""
    return {"fault": fault, "what": what}


def file_faults(folder: Path, digest: str | None, images: bool) -> Iterator[Finding]:
    """Files that are missing, changed, unlisted, or images that do not decode."""
    if not (folder / SUMS).exists() or sha256(folder / SUMS) != digest:
        yield finding("damaged file", f"{folder.name}/{SUMS} is not the one that the manifest names")
    sums = read_sums(folder) if (folder / SUMS).exists() else {}
    with progress() as bar:
        task = bar.add_task(f"files of {folder.name}", total=len(sums), note="")
        for name, expected in sums.items():
            path = folder / name
            if not path.exists():
                yield finding("damaged file", f"{folder.name}/{name} is missing")
            elif sha256(path) != expected:
                yield finding("damaged file", f"{folder.name}/{name} has other bytes than when it was made")
            if path.exists() and images and path.suffix == ".png" and (fault := _image_fault(path)):
                yield finding("damaged image", f"{folder.name}/{name} {fault}")
            bar.update(task, advance=1)
    listed = {folder / name for name in sums}
    for path in folder.rglob("*"):
        if path.is_file() and path not in listed and path.name not in (SUMS, "manifest.json", "verify.json"):
            yield finding("unlisted file", f"{folder.name}/{path.relative_to(folder)} is not in {SUMS}")


def _image_fault(path: Path) -> str | None:
    try:
        with Image.open(path) as image:
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"does not decode: {error}"
    return None


def readable_table(path: Path, findings: list[Finding]) -> list[Row] | None:
    """The rows of a table; None, and a finding more, where it cannot be read."""
    try:
        return list(pq.read_table(path).to_pylist())
    except (OSError, ValueError) as error:
        findings.append(finding("damaged file", f"{path.name} cannot be read: {error}"))
        return None


def readable_toml(path: Path) -> str:
    """The text of a TOML file. Raises UserError where it cannot be read, since nothing can be judged then."""
    try:
        text = path.read_text(encoding="utf-8")
        tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read ({error}), so nothing can be judged; restore it or render again."
        ) from None
    return text
