"""Results in the schema of Every Eval Ever 0.3.0 (https://evalevalai.com): a JSON file with every
share and every gap, with its interval, and a JSON Lines file with every question.

data/COLLECTION/DEVELOPER/MODEL/UUID.json           aggregate results
data/COLLECTION/DEVELOPER/MODEL/UUID_samples.jsonl  the questions
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from evaluator.protocols.hard_positives import BRITTLENESS
from evaluator.protocols.records import LABELS, Results, Row
from evaluator.runs.folder import NamedRun, Run
from evaluator.runs.measure import measure_protocols
from evaluator.runs.tables import item_rows
from generator.base.errors import UserError
from generator.base.files import json_text, write_text
from generator.dataset.records import VERSION

SCHEMA_VERSION = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
"""What the evaluator may be to the model's developer."""
_METHOD = (
    "Student's t over crossed random effects of values, objects and clusters (docs/statistics.md)"
)
_INSIDE = re.compile(r"[^A-Za-z0-9_.-]+")
"""Characters that `_slug` replaces."""
_DETAILS = (
    "chance",
    "ceiling",
    "low_fixed",
    "high_fixed",
    "low_wider",
    "high_wider",
    "p",
    "clusters",
    "ties",
    "unscored",
    "population",
)
"""Columns of a row that the schema has no field for."""


@dataclass(frozen=True)
class Submission:
    """What whoever submits results states about them."""

    model_id: str
    """ORG/NAME of the model, as on the Hugging Face Hub."""
    organization: str
    """Who ran the evaluation."""
    relationship: str
    """One of RELATIONSHIPS."""
    timestamp: int
    """When the record is made, seconds since 1970."""
    hub_dataset: str | None = None
    """OWNER/NAME of the dataset on the Hub; None if it is not there."""


def write_record(named: NamedRun, submission: Submission, out: Path) -> tuple[Path, Path]:
    """Write the two files of a run.

    Args:
        named: The run and its results.
        submission: What is stated about them.
        out: The folder that has or gets the folder `data`.

    Returns:
        The paths of the aggregate and of the questions. The same run and submission have the same
        names.

    Raises:
        UserError: The id of the model is malformed, or a file of the run is damaged.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", submission.model_id):
        raise UserError(f"Expected --model-id as ORG/NAME, got '{submission.model_id}'.")
    run, results = named.run, named.results
    developer, _, model = submission.model_id.partition("/")
    collection = _slug(f"jackalope-{results['benchmark']}")
    name = _name_of_files(results, submission)
    folder = Path("data") / collection / developer / model
    evaluation_id = f"{collection}/{submission.model_id}/{submission.timestamp}"

    # The questions first: the aggregate names the digest and the number of their lines.
    samples = []
    for sample in _samples(run, results, submission=submission, evaluation_id=evaluation_id):
        samples.append(json.dumps(sample, ensure_ascii=False, allow_nan=False))
    text = "".join(f"{line}\n" for line in samples)
    samples_path = folder / f"{name}_samples.jsonl"
    record = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "retrieved_timestamp": str(submission.timestamp),
        "source_metadata": {
            "source_name": "Jackalope",
            "source_type": "evaluation_run",
            "source_organization_name": submission.organization,
            "evaluator_relationship": submission.relationship,
        },
        "eval_library": {
            "name": "jackalope",
            "version": VERSION,
            "additional_details": _texts(run.record.get("versions", {})),
        },
        "model_info": _model_info(run, results, submission),
        "evaluation_results": _aggregates(run, results, submission),
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": samples_path.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text.encode()).hexdigest(),
            "total_rows": len(samples),
        },
    }
    (out / folder).mkdir(parents=True, exist_ok=True)
    write_text(out / samples_path, text)
    write_text(out / folder / f"{name}.json", json_text(record))
    return out / folder / f"{name}.json", out / samples_path


def _name_of_files(results: Results, submission: Submission) -> str:
    """The name of the files of a record: a UUID, equal for the same run and submission."""
    identity = json.dumps([results["factors"], submission.model_id, submission.timestamp])
    digest = hashlib.sha256(identity.encode()).digest()
    # The schema asks for a UUID of version 4; this one is not drawn, so that a run keeps its name.
    return str(UUID(bytes=digest[:16], version=4))


def _model_info(run: Run, results: Results, submission: Submission) -> dict[str, Any]:
    """What is known of the model."""
    spec = str(run.record["model"])
    is_remote = spec.startswith("api:")
    training = results.get("training") or {}
    details = {
        "deployment_type": "externally_managed" if is_remote else "self_deployed",
        # A spec does not tell whether anybody can get the weights.
        "model_availability": "unknown",
        "jackalope_spec": spec,
        "training_status": training.get("status", "unknown"),
        **run.record.get("info", {}),
    }
    return {
        "name": results["model"],
        "id": submission.model_id,
        "developer": submission.model_id.partition("/")[0],
        "additional_details": _texts(details),
    }


def _aggregates(run: Run, results: Results, submission: Submission) -> list[dict[str, Any]]:
    """A result for each row that is a share or a gap and has a value."""
    aggregates = []
    source = _source(run, results, submission)
    for row in results["rows"]:
        if row["value"] is None or row["error"] is not None or row["unit"] == "score":
            continue
        aggregates.append(
            {
                "evaluation_result_id": _result_id(row),
                "evaluation_name": _evaluation_name(results, row),
                "source_data": source,
                "metric_config": _metric_config(row),
                "score_details": _score_details(row, results["rules"].get("level")),
            }
        )
    return aggregates


def _source(run: Run, results: Results, submission: Submission) -> dict[str, Any]:
    """The dataset of the results, with the digests of its contents."""
    details = {
        "benchmark_sha256": run.record["benchmark"],
        "world_sha256": run.record.get("world"),
        "certificate": results["certificate"],
        "held_out": results["held_out"],
    }
    source = {"dataset_name": results["benchmark"], "additional_details": _texts(details)}
    if submission.hub_dataset is None:
        return {**source, "source_type": "other"}
    return {**source, "source_type": "hf_dataset", "hf_repo": submission.hub_dataset}


def _metric_config(row: Mapping[str, Any]) -> dict[str, Any]:
    """The metric of a row: a share in 0..1, or a difference of shares in -1..1."""
    is_gap = row["unit"] == "difference"
    metric = row["metric"]
    return {
        "metric_id": f"jackalope.{_slug(metric)}" + ("_fall" if is_gap else ""),
        "metric_name": f"{metric}, {row['split']} - {row['minus']}" if row["minus"] else metric,
        "metric_kind": "accuracy",
        "metric_unit": "proportion",
        # A fall from seen to unseen combinations is better if it is small.
        "lower_is_better": row["is_gap"] or metric == BRITTLENESS,
        "score_type": "continuous",
        "min_score": -1.0 if is_gap else 0.0,
        "max_score": 1.0,
        "additional_details": _texts({name: row[name] for name in LABELS}),
    }


def _score_details(row: Mapping[str, Any], level: float | None) -> dict[str, Any]:
    """The value of a row with its interval and what else is known of it."""
    uncertainty: dict[str, Any] = {"num_samples": row["items"]}
    # In the schema an interval has both ends and a level, or is left out.
    if row["low"] is not None and row["high"] is not None and level is not None:
        uncertainty["confidence_interval"] = {
            "lower": row["low"],
            "upper": row["high"],
            "confidence_level": level,
            "method": _METHOD,
        }
    details = {name: row.get(name) for name in _DETAILS}
    return {"score": row["value"], "uncertainty": uncertainty, "details": _texts(details)}


def _samples(
    run: Run, results: Results, *, submission: Submission, evaluation_id: str
) -> Iterator[dict[str, Any]]:
    """The questions of a run, each with the result of its kind and split by the main metric of
    items."""
    row_of: dict[tuple[str | None, ...], Row] = {}
    for row in results["rows"]:
        if row["value"] is not None and not row["is_gap"] and row["error"] is None:
            key = (row["protocol"], row["metric"], row["kind"], row["split"])
            # Rows by skill or level come after the row of all of a kind.
            row_of.setdefault(key, row)
    for item in item_rows(run, measure_protocols(run)):
        row = row_of.get((item["protocol"], item["metric"], item["kind"], item["split"]))
        if item["value"] is None or row is None:
            continue
        yield {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": evaluation_id,
            "model_id": submission.model_id,
            "evaluation_name": _evaluation_name(results, row),
            "evaluation_result_id": _result_id(row),
            **_interaction(run, item),
        }


def _interaction(run: Run, item: Mapping[str, Any]) -> dict[str, Any]:
    """A question, the texts that it compares, their scores, and whether it is right."""
    images = list(dict.fromkeys(item["images"]))
    digests = {}
    # Images of a published benchmark are files of others, which no world records.
    if run.world is not None:
        digests = {f"sha256 of {scene}": _image_digest(run, scene) for scene in images}
    raw = f"Which text is true of the image? Images: {', '.join(images)}."
    reference = _true_texts(item)
    sample = json.dumps([raw, reference], ensure_ascii=False)
    chosen = _best_text(item)
    scores = [None if score is None else round(score, 6) for score in item["scores"]]
    return {
        "sample_id": item["item_id"],
        "sample_hash": hashlib.sha256(sample.encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {
            "raw": raw,
            "reference": reference,
            "choices": list(dict.fromkeys(text or "" for text in item["texts"])),
        },
        "output": {"raw": [json.dumps(scores)]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": chosen,
                "extraction_method": "the text with the largest score; a tie is wrong",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": item["value"], "is_correct": item["value"] == 1.0},
        "metadata": _texts(
            {
                "kind": item["kind"],
                "split": item["split"],
                "cluster": item["cluster"],
                "tie": item["tie"],
                **digests,
            }
        ),
    }


def _image_digest(run: Run, scene: str) -> str:
    assert run.world is not None
    return run.world.digest_of(f"images/{scene}.png")


def _true_texts(item: Mapping[str, Any]) -> list[str]:
    texts = []
    for text, truth in zip(item["texts"], item["truth"], strict=True):
        if truth:
            texts.append(text or "")
    return texts


def _best_text(item: Mapping[str, Any]) -> str:
    """The text with the largest score; the first of equal ones."""
    scores = [-float("inf") if score is None else score for score in item["scores"]]
    return str(item["texts"][scores.index(max(scores))]) if scores else ""


def _result_id(row: Mapping[str, Any]) -> str:
    """An id of a row, the same for every model."""
    parts = []
    for name in (*LABELS, "n", "split", "minus", "average"):
        value = row[name]
        parts.append("" if value is None else str(value))
    return _slug("/".join(parts), keep="/")


def _evaluation_name(results: Results, row: Mapping[str, Any]) -> str:
    parts = (results["benchmark"], row["protocol"], row["kind"], row["skill"], row["split"])
    return " ".join(str(part) for part in parts if part)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Details as the schema takes them: text only, without those that are not known."""
    texts = {}
    for name, value in values.items():
        if value is not None:
            texts[name] = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return texts


def _slug(text: str, keep: str = "") -> str:
    """A text with - in place of everything but letters, digits, `_`, `.` and `keep`."""
    parts: Sequence[str] = text.split(keep) if keep else [text]
    return keep.join(_INSIDE.sub("-", part).strip("-") for part in parts)
