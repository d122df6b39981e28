"""Files that appear whole or not at all, and the sums that prove them whole."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from generator.dataset.errors import UserError

SUMS = "SHA256SUMS"


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a file aside and rename it, so that no reader ever finds half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write JSON with sorted keys, so that equal data are equal bytes."""
    write_text(path, json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False) + "\n")


def write_table(path: Path, rows: Iterable[Mapping[str, Any]] | pa.Table, schema: pa.Schema) -> None:
    """Write rows as Parquet of the given schema. Raises pyarrow.ArrowInvalid when a row does not fit it."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema=schema)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(table, draft, compression="zstd")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_sums(folder: Path, known: Mapping[str, str]) -> str:
    """Write SHA256SUMS of every file below `folder` (`sha256sum -c SHA256SUMS` checks it); returns its own digest.

    `known` gives digests by relative path that need not be computed again. Hidden files, manifest.json and
    verify.json are left out.
    """
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".") and path.name not in (SUMS, "manifest.json", "verify.json")
    )
    write_text(folder / SUMS, "".join(f"{known.get(name) or sha256(folder / name)}  {name}\n" for name in names))
    return sha256(folder / SUMS)


def read_sums(folder: Path) -> dict[str, str]:
    """Digest by relative path, as SHA256SUMS says."""
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises UserError when the file is damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged ({error}); make it again or restore it.") from None
    if not isinstance(data, dict):
        raise UserError(f"{path} is damaged: expected a JSON object; make it again or restore it.")
    return data
