"""The file of a world's plan: its rows are planned scenes, its metadata say what the plan was asked for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.errors import UserError
from generator.base.files import parse_json
from generator.base.parquet import read_schema
from generator.dataset.records import RequestRecord, check_shape
from generator.dataset.schema import FORMAT, PLAN

PLAN_FILE = "plan.parquet"


def plan_schema(request: Mapping[str, Any]) -> pa.Schema:
    """schema.PLAN with the request and the format in its metadata."""
    return PLAN.with_metadata({"format": FORMAT, "request": json.dumps(request, sort_keys=True)})


def plan_request(folder: Path) -> dict[str, Any] | None:
    """What the plan in the folder of a world was asked for; None where the folder has no plan.

    Raises UserError when the file is damaged or of another format.
    """
    path = folder / PLAN_FILE
    if not path.exists():
        return None
    try:
        found = read_schema(path)
        metadata = {key.decode(): value.decode() for key, value in (found.metadata or {}).items()}
        request = parse_json(metadata["request"], path)
        whole = isinstance(request, dict) and found.equals(PLAN)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise UserError(f"{path} is damaged ({error}); plan it again into another folder.") from None
    if not whole or metadata.get("format") != FORMAT:
        raise UserError(f"{path} is not a plan of this version ('{FORMAT}'); plan it again into another folder.")
    check_shape(request, RequestRecord, path)
    return dict(request)
