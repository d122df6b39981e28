"""`train`: runs a whole training, from its data to the folder of the trained model."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import nn

from evaluator.models.captioner import Captioner, save_captioner
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.hf import HfEncoder
from evaluator.models.network import activations, training_precision, weights_digest
from evaluator.models.open_clip import CONFIG, OpenClipEncoder, check_plain_sizes
from evaluator.models.vilt import ViltScorer
from evaluator.provenance.exposure import RECORD, Exposure, is_of_stand_in, remember
from evaluator.runs.tracking import Tracker, log_steps
from evaluator.scoring.store import Process
from evaluator.training.data import TrainingData
from evaluator.training.fit import Checkpoint, fit, join, wait
from evaluator.training.methods import Method
from evaluator.training.recipe import Origin
from evaluator.training.source import Source
from generator.base.errors import UserError
from generator.base.files import draft_folder_of, locked, read_json, write_json
from generator.base.limits import MOST_LIST
from generator.base.progress import SILENT, Progress

logger = logging.getLogger(__name__)
WEIGHTS = "open_clip_model.safetensors"
_PREPROCESSING = ("mean", "std", "interpolation", "resize_mode", "fill_color")
"""The entries of open_clip's preprocessing that are kept with the weights."""


def train(
    method: Method,
    source: Source,
    out: Path,
    *,
    model: str = "",
    device: str | None = None,
    progress: Progress = SILENT,
    trackers: Sequence[Tracker] = (),
    origin: Origin | None = None,
) -> dict[str, Any]:
    """Train on a source and write the model's folder.

    The checkpoint is beside `out`: after a stop or a full disk, the same call resumes. A finished
    training is not repeated. Several processes (evaluator.training.fit) train one model; the main
    one writes it.

    Args:
        method: What to train, and how.
        source: The training data.
        out: The folder of the trained model.
        model: Spec of the model that the method starts from; "" for none.
        device: Name of the device; None for the first GPU, else the CPU.
        progress: Shows the steps.
        trackers: Where each step is logged (evaluator.runs.tracking.log_steps).
        origin: Where the hyperparameters come from, for the record.

    Returns:
        The record of the training, as in the folder.

    Raises:
        UserError: `out` holds anything except the result of this training, another process trains
            into it, or the method cannot train the model.
    """
    data = source.data.of_each_class(method.images_per_class, method.seed)
    is_main = Process.from_environment().is_main
    out.parent.mkdir(parents=True, exist_ok=True)
    lock = out.with_name(f".{out.name}.lock")
    only_training: AbstractContextManager[Any] = nullcontext()
    if is_main:
        in_use = f"Another command is training into {out}; choose another --out."
        only_training = locked(lock, in_use)
    with only_training:
        return _train_alone(
            method,
            source,
            out,
            data=data,
            model=model,
            device=device,
            progress=progress if is_main else SILENT,
            trackers=trackers if is_main else (),
            origin=origin,
        )


def _train_alone(
    method: Method,
    source: Source,
    out: Path,
    *,
    data: TrainingData,
    model: str,
    device: str | None,
    progress: Progress,
    trackers: Sequence[Tracker],
    origin: Origin | None,
) -> dict[str, Any]:
    """`train`, while no other command trains into the folder. data: what the method uses of the
    source."""
    is_main = Process.from_environment().is_main
    identity = {"method": method.name, **source.record}
    # A folder with other contents is refused before a model is loaded.
    finished(out, identity)
    training = method.begin(data, model, device, progress)
    learner = training.learner
    check_savable(training.model)
    precision = training_precision(method.precision, learner.device)
    about = {**identity, "recipe": {**asdict(method), "precision": precision}}
    if model:
        about["base"] = _base_record(model, training.model.info)
    checkpoint = Checkpoint(
        out.with_name(f".{out.name}.training"), {**about, "device": learner.device.type}
    )
    # Again, with the whole recipe, which only the loaded model completes.
    record = finished(out, about)
    if record is not None:
        logger.info(f"{out} is finished: it holds the result of this training.")
        if is_main:
            # It is left behind if the process was killed after the model was written.
            checkpoint.remove()
        return record

    join(learner.network, learner.device, method.batch)
    logger.info(
        f"Training {_count_trained(learner.network) / 1e6:,.2f} M parameters on "
        f"{len(data):,} images ({learner.device})."
    )
    log = partial(log_steps, trackers, out, about)
    losses = fit(learner, data, method, checkpoint, progress, log)
    training.finish()
    record = {
        **about,
        "losses": losses,
        "images": len(data),
        "exposure": _united_exposure(training.model, model, source.exposure(data)),
        "origin": origin,
    }
    if is_main:
        _write(training.model, record, out)
        remember(weights_digest(training.model.network), record)
        checkpoint.remove()
    wait()
    return record


def _base_record(model: str, info: Mapping[str, Any]) -> dict[str, Any]:
    """What the record says of the model that a training starts from.

    Args:
        model: Its spec.
        info: Its info, as loaded.
    """
    return {
        "model": model,
        "weights_sha256": info["weights_sha256"],
        "stand_in": is_of_stand_in(info.get("trained_on", {})),
    }


def _count_trained(network: nn.Module) -> int:
    """The number of parameters that a training changes."""
    return sum(p.numel() for p in network.parameters() if p.requires_grad)


def _united_exposure(trained: Any, base: str, data_show: Exposure | None) -> dict[str, Any] | None:
    """What the model has seen: in this training, and before it. None if the data are unknown.

    Args:
        trained: The model.
        base: Spec of the model that training started from; "" for a new one.
        data_show: What the used data show; None if unknown.
    """
    if data_show is None:
        return None
    # A new model has seen nothing before; what a downloaded one has seen is unknown.
    before = getattr(trained, "exposure", None) or Exposure(complete=not base)
    return (data_show | before).to_dict()


def finished(out: Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read the record of a finished training.

    Args:
        out: Its folder.
        about: The expected record without results.

    Returns:
        The record, or None if the folder is empty or missing.

    Raises:
        UserError: The folder holds anything else.
    """
    if not out.exists() or not any(out.iterdir()):
        return None
    record: dict[str, Any] = {}
    if (out / RECORD).exists():
        record = read_json(out / RECORD, most=MOST_LIST)
    if any(record.get(name) != value for name, value in about.items()):
        raise UserError(f"{out} is not empty; choose another --out.")
    return record


def _write(model: Any, record: dict[str, Any], out: Path) -> None:
    with draft_folder_of(out) as draft:
        save_model(model, draft)
        write_json(draft / RECORD, record)


def check_savable(model: Any) -> None:
    """Check that a model can be loaded as `jackalope:` after training.

    Raises:
        UserError: The model has parts of another library, which are not written.
    """
    if isinstance(model, OpenClipEncoder):
        try:
            check_plain_sizes(model.config, str(model.info["weights"]))
        except UserError:
            raise UserError(
                f"'{model.info['weights']}' takes a tower or a tokenizer of another library, which "
                f"`score train` does not write; give a pure open_clip architecture, such as "
                f"ViT-B-32, or the same model as hf:."
            ) from None


def save_model(model: Any, folder: Path) -> None:
    """Write weights, configuration and preprocessing in the format of the model's library. The
    network is left in evaluation mode.

    Args:
        model: A model of `score train`.
        folder: An existing folder.

    Raises:
        OSError: A file cannot be written.
    """
    network: Any = model.network.eval()
    if isinstance(model, OpenClipEncoder):
        # safetensors takes no views.
        tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        weights = save(tensors)
        (folder / WEIGHTS).write_bytes(weights)
        quick = {"quick_gelu": True} if "QuickGELU" in activations(network) else {}
        preprocess = {name: network.visual.preprocess_cfg[name] for name in _PREPROCESSING}
        write_json(
            folder / CONFIG, {"model_cfg": {**model.config, **quick}, "preprocess_cfg": preprocess}
        )
    elif isinstance(model, HfEncoder | ViltScorer):
        network.save_pretrained(folder)
        for processor in model.processors:
            processor.save_pretrained(folder)
    elif isinstance(model, Captioner):
        save_captioner(model, folder)
    elif isinstance(model, DiffusionClassifier):
        model.adapter.pipe.save_pretrained(folder, safe_serialization=True)
    else:
        raise TypeError(f"no format is known for {type(model).__name__}")
