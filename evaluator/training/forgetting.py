"""Measures forgetting: scores a trained model, and the one that its training started from, on what it was not trained for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.api import evaluate
from evaluator.provenance.exposure import RECORD
from evaluator.provenance.forgetting import add_forgetting
from evaluator.provenance.records import MeasuredRecord, ResultsRecord
from evaluator.runs.dataset import Dataset
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.limits import MOST_LIST
from generator.base.progress import SILENT, Progress


def measure_forgetting(
    folder: Path, dataset: Dataset, protocols: Sequence[str] = (), limit: int | None = None, device: str | None = None,
    progress: Progress = SILENT,
) -> MeasuredRecord:  # fmt: skip
    """Score the model in `folder` and the one that it started from; add the results to the folder's forgetting.json and return them.

    They replace those of an earlier measurement on the same benchmark. Raises UserError where the model started from none, or from
    one that has other weights now.
    """
    record = read_json(folder / RECORD, most=MOST_LIST) if (folder / RECORD).exists() else {}
    base = record.get("base")
    if not base:
        raise UserError(
            f"{folder} holds no model that `score train labclip`, `finetune` or `dreambooth` made of another, so there is nothing to "
            "forget; `score run` measures it."
        )

    def results_of(spec: str) -> ResultsRecord:
        found = evaluate(
            spec, dataset, protocols=protocols, limit=limit, device=device, allow_contaminated=True, progress=progress
        ).results
        kept: Any = {**found, "fits": [], "cells": [], "forgetting": []}
        results: ResultsRecord = kept
        return results

    preset = _preset(base, device)
    measured = MeasuredRecord(before=results_of(base["model"]), after=results_of(f"jackalope:{folder}{preset}"))
    add_forgetting(folder, base, measured)
    return measured


def _preset(base: dict[str, str], device: str | None) -> str:
    """What follows the folder in the spec of the trained model, so that it is scored as its base: `@PRESET` of a diffusion model.

    Raises UserError where the base has other weights than those that were trained further.
    """
    from evaluator.models.registry import load_model

    info: dict[str, Any] = load_model(base["model"], device).info
    if info["weights_sha256"] != base["weights_sha256"]:
        raise UserError(
            f"{base['model']} has other weights now than when it was trained further; restore it, or train again."
        )
    return f"@{info['preset']}" if "preset" in info else ""
