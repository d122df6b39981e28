"""`search`: trains a model for each combination of hyperparameters and keeps the one that is best on the validation splits.

As Pearson et al. 2025 select theirs (appendix A): by the mean of ID-val and OOD-val.
"""

import logging
import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.api import evaluate
from evaluator.models.device import best_device
from evaluator.protocols.registry import protocol_names
from evaluator.provenance.exposure import RECORD
from evaluator.runs.dataset import Dataset
from evaluator.runs.folder import folder_name, open_run
from evaluator.runs.limit import in_splits, limited
from evaluator.runs.measure import measure_protocols
from evaluator.scoring.distributed import Process
from evaluator.training.fit import DivergedError
from evaluator.training.lora import parse_lora
from evaluator.training.processes import meet, wait
from evaluator.training.session import claimed, finished
from generator.base.csv_tables import write_csv
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json, write_json
from generator.base.limits import MOST_LIST
from generator.base.progress import SILENT, Progress

logger = logging.getLogger(__name__)
_OF_CLASS_LISTS, _OF_OTHERS = ("id_val", "ood_val"), ("val",)
_IDENTITY, _TABLE = "search.json", "candidates.csv"

Candidate = dict[str, Any]
"""A value for each name that is searched: rate, epochs, steps, images_per_class, lora ("RANK/ALPHA", or "none")."""


def parse_search(given: Sequence[str], names: Sequence[str]) -> list[Candidate]:
    """All combinations of NAME=VALUE,VALUE...; each of `names` may be given once. None where nothing is given.

    Raises UserError for another name, and for what is no such value.

    >>> parse_search(["rate=1e-6,1e-5", "epochs=3"], ["rate", "epochs"])
    [{'rate': 1e-06, 'epochs': 3}, {'rate': 1e-05, 'epochs': 3}]
    """
    values: dict[str, list[Any]] = {}
    for each in given:
        name, _, listed = each.partition("=")
        if name not in names:
            raise UserError(f"Unknown name '{name}' in --search {each}; {did_you_mean(name, list(names))}")
        key = name.replace("-", "_")
        if key in values:
            raise UserError(f"Expected one --search of {name}, got two; give all values in one, such as {name}=A,B.")
        values[key] = list(dict.fromkeys(_value(key, text.strip()) for text in listed.split(",")))
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())] if values else []


def validation_splits(dataset: Dataset) -> tuple[str, ...]:
    """The splits that select: id_val and ood_val, or val (of seen combinations) in benchmarks without class lists.

    Raises UserError where a benchmark lacks items of them.
    """
    there = set(dataset.benchmark.items["split"].to_pylist())
    wanted = _OF_CLASS_LISTS if there & {"id_val", "id_test", "ood_val", "ood_test"} else _OF_OTHERS
    if lacking := [split for split in wanted if split not in there]:
        raise UserError(
            f"The benchmark {dataset.benchmark.name} has no items of the split {lacking[0]}, by which --search selects; render scenes for it "
            f"(`gen render --scenes {lacking[0]}=100,...`), or leave --search out."
        )
    return wanted


def search(
    candidates: Sequence[Candidate],
    train: Callable[[Candidate, Path], dict[str, Any]],
    out: Path,
    dataset: Dataset,
    identity: Mapping[str, Any],
    device: str | None = None,
    preset: str = "",
    progress: Progress = SILENT,
    limit: int | None = None,
) -> dict[str, Any]:
    """Train every candidate into a folder of OUT.search, score it on the validation splits alone, and copy the best to `out`.

    train: trains a candidate into a folder; returns the record. identity: what all candidates share, JSON-ready. preset: "@PRESET" of a
    diffusion model. dataset: its protocols score, or all that it has. limit: at most so many items of each (evaluator.runs.limit).
    A candidate's score is its mean over the splits; that of a split is the mean of its protocols' first metrics.
    Returns the record of the best, the first one among equals, with `search`: splits, protocols, limit, and all candidates with their
    scores, which are in OUT.search/candidates.csv too. One that diverged has none. The same call continues a search that was stopped, and does nothing
    after its end.

    Raises UserError when `out` holds anything but the result of this search, when OUT.search holds another search, when protocols or
    limit leave a split without items, and when all candidates diverged.
    """
    meet(best_device(device))
    is_main = Process.from_environment().is_main
    splits = validation_splits(dataset)
    protocols = _protocols(dataset, splits, limit)
    chosen_by = {"splits": list(splits), "protocols": protocols, "limit": limit}
    work = out.with_name(f"{out.name}.search")
    folders = [work / _name(candidate) for candidate in candidates]

    def score(folder: Path) -> dict[str, float]:
        return _scored(folder, dataset, splits, protocols, limit, device, preset, progress)

    with claimed(out) if is_main else nullcontext():
        searched = {**chosen_by, "asked": {**identity, "candidates": list(candidates)}}
        if (record := finished(out, {"search": searched})) is not None:
            logger.info(f"{out} is finished: it holds the best of this search.")
            return record
        if is_main:
            _check_same(work, {**identity, **chosen_by})
        rows = [_tried(*each, train, score, splits) for each in zip(candidates, folders, strict=True)]
        _check_bases(work, [folder for folder, row in zip(folders, rows, strict=True) if row["mean"] is not None])
        if is_main:
            write_csv(work / _TABLE, pa.Table.from_pylist(rows))
        best = _best(rows)
        logger.info(f"Best of {len(rows)} by {' and '.join(splits)}: {folders[best].name}.")
        record = _record(folders[best]) | {"search": {**searched, "best": best, "candidates": rows}}
        if is_main:
            _copy(folders[best], record, out)
        wait()
    return record


def _protocols(dataset: Dataset, splits: Sequence[str], limit: int | None) -> list[str]:
    """The protocols that score. Raises UserError where they, or so few items, leave a split without any."""
    benchmark = in_splits(dataset.benchmark, splits)
    there = [name for name in protocol_names() if benchmark.items_of(name).num_rows]
    for name in dataset.protocols:
        if name not in there:
            raise UserError(
                f"The protocol '{name}' has no items of {' and '.join(splits)}, by which --search selects; {did_you_mean(name, there)}"
            )
    chosen = [name for name in there if name in (dataset.protocols or there)]
    few = limited(benchmark, limit)
    found = {split for name in chosen for split in few.items_of(name)["split"].to_pylist()}
    if empty := [split for split in splits if split not in found]:
        raise UserError(
            f"The limit of {limit} items leaves none of {empty[0]}, by which --search selects; take a larger --limit."
        )
    return chosen


def _value(name: str, text: str) -> Any:
    if name == "lora":
        if text == "none":
            return text
        lora = parse_lora(text)
        return f"{lora.rank}/{lora.alpha:g}"
    try:
        number = float(text) if name == "rate" else int(text)
    except ValueError:
        number = 0
    if not (number > 0 and math.isfinite(number)):
        kind = "numbers above 0" if name == "rate" else "whole numbers from 1"
        raise UserError(f"Expected --search {name.replace('_', '-')} to be {kind}, joined by commas, got '{text}'.")
    return number


def _name(candidate: Candidate) -> str:
    """The name of a candidate's folder."""
    return folder_name("-".join(f"{name}-{value}" for name, value in candidate.items()))


def _check_same(work: Path, identity: Mapping[str, Any]) -> None:
    path = work / _IDENTITY
    work.mkdir(exist_ok=True)
    if not path.exists():
        write_json(path, dict(identity))
    elif read_json(path, most=MOST_LIST) != identity:
        raise UserError(
            f"{work} holds another search (its model, data, recipe, --protocol or --limit differ); run that one again to continue it, remove the "
            "folder, or choose another --out."
        )


def _check_bases(work: Path, folders: Sequence[Path]) -> None:
    """Raise UserError where the model's weights changed between candidates."""
    if len({_record(folder).get("base", {}).get("weights_sha256") for folder in folders}) > 1:
        raise UserError(f"The weights of the model changed while {work} was trained; remove the folder to train anew.")


def _record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(folder / RECORD, most=MOST_LIST)
    return found


def _tried(
    candidate: Candidate,
    folder: Path,
    train: Callable[[Candidate, Path], dict[str, Any]],
    score: Callable[[Path], dict[str, float]],
    splits: Sequence[str],
) -> dict[str, Any]:
    """A candidate with its scores, None where it diverged."""
    try:
        if not (folder / RECORD).exists():
            train(candidate, folder)
    except DivergedError as error:
        logger.info(f"{folder.name}: {error}")
        return {**candidate, **dict.fromkeys((*splits, "mean")), "diverged": f"step {error.step}"}
    scores = score(folder)
    said = ", ".join(f"{name} {100 * value:.1f}%" for name, value in scores.items())
    logger.info(f"{folder.name}: {said}.")
    return {**candidate, **scores, "diverged": ""}


def _scored(
    folder: Path,
    dataset: Dataset,
    splits: Sequence[str],
    protocols: Sequence[str],
    limit: int | None,
    device: str | None,
    preset: str,
    progress: Progress,
) -> dict[str, float]:
    """The score of each split, and their mean, 0..1."""
    run = folder.with_name(f"{folder.name}.run")
    if not (run / "run.json").exists():
        evaluate(
            f"jackalope:{folder}{preset}", dataset, protocols=protocols, limit=limit, within=splits, out=run, device=device,
            allow_contaminated=True, progress=progress,
        )  # fmt: skip
    wait()
    measured = measure_protocols(open_run(run)).values()
    found = {}
    for split in splits:
        shares = [each.outcomes[0].value[(each.items.split == split) & each.items.scored] for each in measured]
        found[split] = float(np.mean([share.mean() for share in shares if len(share)]))
    return {**found, "mean": float(np.mean(list(found.values())))}


def _best(rows: Sequence[Mapping[str, Any]]) -> int:
    means = [-1.0 if row["mean"] is None else row["mean"] for row in rows]
    if max(means) < 0:
        raise UserError(f"All {len(rows)} candidates diverged; search lower rates, into another --out.")
    return means.index(max(means))


def _copy(folder: Path, record: Mapping[str, Any], out: Path) -> None:
    """Copy a model's folder with another record, whole or not at all."""
    draft = out.with_name(f".{out.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)  # what a kill left
    try:
        shutil.copytree(folder, draft)
        write_json(draft / RECORD, dict(record))
        os.replace(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
