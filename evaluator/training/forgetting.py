"""Forgetting: what a training changed on benchmarks that it was not trained for. The model that it started from is scored beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.api import evaluate
from evaluator.dataset import Dataset
from evaluator.exposure import RECORD
from evaluator.training.saving import FORGETTING
from generator.dataset.errors import UserError
from generator.dataset.files import read_json, write_json
from generator.dataset.limits import MOST_LIST
from generator.dataset.progress import SILENT, Progress

_LABELS = ("protocol", "metric", "kind", "skill", "level", "n", "split", "error", "average")


def measure_forgetting(
    folder: Path, dataset: Dataset, protocols: Sequence[str] = (), limit: int | None = None, device: str | None = None,
    progress: Progress = SILENT,
) -> list[dict[str, Any]]:  # fmt: skip
    """Score the model in `folder` and the one that it started from; add the shares to the folder's forgetting.json and return them.

    A row has the labels of a result, `items`, and the shares `before` and `after` (0..1, None where nothing was scored). Rows of a
    benchmark that was measured before are replaced. Raises UserError where the model started from none, or from one that has other
    weights now.
    """
    record = read_json(folder / RECORD, most=MOST_LIST) if (folder / RECORD).exists() else {}
    base = record.get("base")
    if not base:
        raise UserError(
            f"{folder} holds no model that `score train labclip` or `finetune` made of another, so there is nothing to forget; "
            "`score run` measures it."
        )
    before, after = (
        evaluate(
            spec, dataset, protocols=protocols, limit=limit, device=device, allow_contaminated=True, progress=progress
        ).results
        for spec in (_same(base, device), f"jackalope:{folder}")
    )
    shares = {_key(row): row["value"] for row in after["rows"] if row["unit"] == "share"}
    found = [
        {
            "benchmark": dataset.benchmark.name, "digest": dataset.benchmark.digest, **{name: row[name] for name in _LABELS},
            "items": row["items"], "before": row["value"], "after": shares.get(_key(row)),
        }
        for row in before["rows"] if row["unit"] == "share"
    ]  # fmt: skip
    path = folder / FORGETTING
    known = read_json(path, most=MOST_LIST)["rows"] if path.exists() else []
    kept = [row for row in known if row["digest"] != dataset.benchmark.digest]
    write_json(path, {"base": base, "rows": [*kept, *found]})
    return found


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _LABELS)


def _same(base: dict[str, str], device: str | None) -> str:
    """The spec of the base. Raises UserError where it names other weights than those that were trained further."""
    from evaluator.models.registry import load_model

    model: Any = load_model(base["model"], device)
    if model.info["weights_sha256"] != base["weights_sha256"]:
        raise UserError(
            f"{base['model']} has other weights now than when it was trained further; restore it, or train again."
        )
    return base["model"]
