"""Results of mteb's tasks: results/ORG__MODEL/REVISION/TASK.json, as mteb's collection of results
has them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.protocols.records import Results
from generator.base.errors import UserError
from generator.base.files import json_text, write_text
from generator.dataset.mteb_tasks import MTEB_TASKS, MtebTask, task_name

MTEB_VERSION = "2.26.24"
"""The version of mteb whose format this is."""
_SUBSET = "default"
_LANGUAGES = ("eng-Latn",)


def write_results(
    results: Results,
    out: Path,
    *,
    title: str,
    model_id: str,
    model_revision: str,
    dataset_revision: str,
) -> list[Path]:
    """Write the results of a run, a file for each task.

    Args:
        results: The results of the run.
        out: The folder that has or gets the folder `results`.
        title: The title with which `gen export mteb` made the tasks.
        model_id: ORG/NAME of the model on the Hub.
        model_revision: Its commit.
        dataset_revision: The commit of the dataset, as in the tasks.

    Returns:
        The files.

    Raises:
        UserError: The id of the model is malformed, or the results have no such task.
    """
    developer, slash, model = model_id.partition("/")
    if not (developer and slash and model) or "/" in model:
        raise UserError(f"Expected --model-id as ORG/NAME, got '{model_id}'.")
    files = []
    folder = out / "results" / f"{developer}__{model}" / model_revision
    for task in MTEB_TASKS:
        # A task of mteb has one main score over one set of questions, so each kind is a task.
        for kind, scores in _scores(results, task).items():
            name = task_name(title, task.protocol, kind)
            record = {
                "dataset_revision": dataset_revision,
                "task_name": name,
                "mteb_version": MTEB_VERSION,
                "scores": scores,
                # Of a run whose scores may come from a cache neither is known.
                "evaluation_time": None,
                "kg_co2_emissions": None,
            }
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / f"{name}.json", json_text(record))
            files.append(folder / f"{name}.json")
    if not files:
        protocols = ", ".join(task.protocol for task in MTEB_TASKS)
        raise UserError(
            f"The run has no results of {protocols}, which mteb's tasks ask; score one of them."
        )
    return files


def _scores(results: Results, task: MtebTask) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """By kind and split, mteb's scores of a task."""
    name_of_metric = dict(task.metrics)
    values: dict[str, dict[str, dict[str, float]]] = {}
    for row in results["rows"]:
        score = name_of_metric.get(row["metric"])
        if row["protocol"] == task.protocol and score is not None and _is_of_kind(row):
            of_split = values.setdefault(row["kind"], {}).setdefault(row["split"], {})
            of_split[score] = row["value"]
    scores: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for kind, splits in values.items():
        scores[kind] = {}
        for split, of_split in splits.items():
            # With one image, each text has the same closest image, so mteb's other scores are 0.
            complete = {"image_acc": 0.0, "text_acc": 0.0, "accuracy": 0.0, **of_split}
            entry = {
                **complete,
                "main_score": complete[task.main_score],
                "hf_subset": _SUBSET,
                "languages": list(_LANGUAGES),
            }
            scores[kind][split] = [entry]
    return scores


def _is_of_kind(row: Mapping[str, Any]) -> bool:
    """Whether a row is a share of one kind in one split."""
    has_kind = row["kind"] is not None and row["skill"] is None and row["level"] is None
    is_share = not row["is_gap"] and row["n"] is None and row["error"] is None
    return has_kind and is_share and row["value"] is not None
