"""A training from its source to its folder: what all recipes share."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.models.device import training_precision
from evaluator.provenance.exposure import RECORD
from evaluator.runs.tracking import Tracker, log_steps
from evaluator.scoring.distributed import Process
from evaluator.training.checkpoint import Checkpoint
from evaluator.training.data import TrainingData
from evaluator.training.fit import DivergedError, Learner, fit
from evaluator.training.presets import Origin
from evaluator.training.processes import join, wait
from evaluator.training.recipe import Recipe
from evaluator.training.saving import check_savable, save_model
from evaluator.training.source import Source, known
from generator.base.errors import UserError
from generator.base.files import locked, read_json, write_json
from generator.base.limits import MOST_LIST
from generator.base.progress import SILENT, Progress

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Training:
    """A recipe of its `method` over a model.

    model: what is saved, with its `network` and `info`. base: name and model that it starts from; None for a new one. learner: what is trained, made of the data. finish: called after the
    last step, brings what was trained into `model`. more: further hyperparameters, JSON-ready. origin: where the hyperparameters come
    from, None where there is no preset.
    """

    method: str
    recipe: Recipe
    model: Any
    learner: Learner
    base: tuple[str, Any] | None = None
    finish: Callable[[], object] = lambda: None
    more: tuple[tuple[str, Any], ...] = ()
    origin: Origin | None = None


def train_into(
    out: Path, source: Source, recipe: Recipe, make: Callable[[TrainingData], Training], progress: Progress = SILENT,
    trackers: Sequence[Tracker] = (),
) -> dict[str, Any]:  # fmt: skip
    """Train on the source and write the model's folder `out`; returns the record of the training.

    trackers: where each step is logged (evaluator.runs.tracking.log_steps).
    The state is kept beside `out`, so that a training that was stopped, or that a full disk ended, is continued by the same call. After
    the end the same call trains nothing.
    Several processes (evaluator.training.processes) train one model, which the main one writes.
    Raises UserError when `out` holds anything but the result of this training, when there is no room for model and state, or when
    another process trains into `out`.
    """
    data = source.data.of_each_class(recipe.images_per_class, recipe.seed)
    if not Process.from_environment().is_main:
        return _train(make(data), data, source, out, SILENT, ())
    with claimed(out):
        asked = asdict(recipe)
        del asked["precision"]  # the device decides it
        finished(out, {**source.record, "recipe": asked})  # refuses another training before a model is loaded
        return _train(make(data), data, source, out, progress, trackers)


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """While this lasts, no other command writes `out`. Raises UserError when another one does."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with locked(out.with_name(f".{out.name}.lock"), f"Another command is training into {out}; choose another --out."):
        yield


def finished(out: Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record of the training whose result `out` holds, None where it is empty.

    about: some of what the record of the training that is asked for has, JSON-ready. Raises UserError where `out` holds anything else.
    """
    if not out.exists() or not any(out.iterdir()):
        return None
    record: dict[str, Any] = read_json(out / RECORD, most=MOST_LIST) if (out / RECORD).exists() else {}
    if not _has(record, about):
        raise UserError(f"{out} is not empty; choose another --out.")
    return record


def _has(record: Any, about: Any) -> bool:
    if isinstance(record, Mapping) and isinstance(about, Mapping):
        return all(name in record and _has(record[name], value) for name, value in about.items())
    return bool(record == about)


def _train(
    training: Training, data: TrainingData, source: Source, out: Path, progress: Progress, trackers: Sequence[Tracker]
) -> dict[str, Any]:
    check_savable(training.model)
    base = training.base and {"model": training.base[0], "weights_sha256": training.base[1].info["weights_sha256"]}
    device = training.learner.device
    recipe = replace(training.recipe, precision=training_precision(training.recipe.precision, device))
    about = {
        "method": training.method, "recipe": {**asdict(recipe), **dict(training.more)}, **source.record,
        **({"base": base} if base else {}),
    }  # fmt: skip
    checkpoint = Checkpoint(out.with_name(f".{out.name}.training"), {**about, "device": device.type})
    is_main = Process.from_environment().is_main
    if (record := finished(out, about)) is not None:
        logger.info(f"{out} is finished: it holds the result of this training.")
        if is_main:
            checkpoint.remove()  # a kill after the model was written left it
        return record
    if is_main:
        checkpoint.check_space(training.model.network)
    join(training.learner.network, device, recipe.batch)
    trained = sum(p.numel() for p in training.learner.network.parameters() if p.requires_grad)
    logger.info(f"Training {trained / 1e6:,.2f} M parameters on {len(data):,} images ({device}).")
    found = known(source.exposure(data), training.base and training.base[1])
    log = partial(log_steps, trackers, out, about)
    more = {"images": len(data), "exposure": found and found.to_dict(), "origin": training.origin}
    try:
        losses = fit(training.learner, data, training.recipe, checkpoint, progress, log)
    except DivergedError as error:
        said = "No good step was kept before; choose a lower --rate."
        if error.kept:
            training.finish()
            said = _keep_stopped(training.model, about, {"losses": error.losses, **more}, out, error.kept)
        raise DivergedError(f"{error.message} {said}", error.step, error.kept, error.losses) from None
    training.finish()
    record = {**about, "losses": losses, **more}
    if is_main:
        _write(training.model, record, out)
        checkpoint.remove()
    wait()
    return record


def _keep_stopped(model: Any, about: dict[str, Any], more: dict[str, Any], out: Path, step: int) -> str:
    """Write the model of a training that stopped after a step, beside `out`, and say so. Its recipe says where it stopped."""
    folder = out.with_name(f"{out.name}.step-{step}")
    stopped = {**about, "recipe": {**about["recipe"], "stopped": step}}
    if Process.from_environment().is_main and finished(folder, stopped) is None:
        _write(model, {**stopped, **more}, folder)
    return f"The model after step {step:,} is in {folder}; choose a lower --rate and another --out."


def _write(model: Any, record: dict[str, Any], out: Path) -> None:
    draft = out.with_name(f".{out.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)  # what a kill left
    draft.mkdir(parents=True)
    try:
        save_model(model, draft)
        write_json(draft / RECORD, record)
        os.replace(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
