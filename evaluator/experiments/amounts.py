"""How much work a stage is: images to render (known once they are planned), training steps and scores (known once it has ended)."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from evaluator.experiments.commands import Kind
from evaluator.experiments.stages import Stage
from evaluator.provenance.exposure import RECORD
from generator.base.files import read_json

IMAGES, STEPS = "images", "steps"
_UNITS = {"gen render": IMAGES, "score train": STEPS, "score run": "scores"}


def unit_of(kind: Kind) -> str:
    """What the work of a kind of stage is counted in; empty for kinds whose work is not counted."""
    return "" if kind.amends else _UNITS.get(" ".join(kind.words[:2]), "")


def amount_of(stage: Stage, root: Path) -> dict[str, Any]:
    """The `unit` and `amount` of a stage's work; empty for kinds without one, and where nothing tells it yet."""
    unit = unit_of(stage.kind)
    amount = _AMOUNTS[unit](stage, root) if unit else None
    return {"unit": unit, "amount": amount} if amount is not None else {}


def _images(stage: Stage, root: Path) -> int | None:
    return next(
        (n for read in stage.reads if (n := _rows(read.out(root) / "world" / "plan.parquet")) is not None), None
    )


def _steps(stage: Stage, root: Path) -> int | None:
    record = stage.out(root) / RECORD
    if not record.exists():
        return None
    found = read_json(record)
    recipe = found.get("recipe", {})
    if not {"epochs", "batch"} <= set(recipe) or "images" not in found:
        return None
    return int(recipe["epochs"]) * (int(found["images"]) // int(recipe["batch"]))


def _scores(stage: Stage, root: Path) -> int | None:
    return _rows(stage.out(root) / "scores.parquet")


def _rows(path: Path) -> int | None:
    return int(pq.read_metadata(path).num_rows) if path.exists() else None


_AMOUNTS = {IMAGES: _images, STEPS: _steps, "scores": _scores}
