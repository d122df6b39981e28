"""Fine-tune a dual encoder or a cross encoder on a benchmark's train split or a corpus, whole or by LoRA (protocols, section 9)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.models.registry import load_model
from evaluator.runs.tracking import Tracker
from evaluator.training.contrastive import Contrastive
from evaluator.training.data import TrainingData
from evaluator.training.fit import Learner
from evaluator.training.lora import Lora, with_lora
from evaluator.training.matching import Matching
from evaluator.training.presets import Origin
from evaluator.training.recipe import Recipe
from evaluator.training.session import Training, train_into
from evaluator.training.source import Source
from evaluator.training.towers import Towers, check_trainable
from generator.base.progress import SILENT, Progress


def finetune(
    spec: str,
    source: Source,
    recipe: Recipe,
    out: Path,
    device: str | None = None,
    lora: Lora | None = None,
    checkpointing: bool = False,
    progress: Progress = SILENT,
    trackers: Sequence[Tracker] = (),
    origin: Origin | None = None,
) -> dict[str, Any]:
    """Train the model that `spec` names further and write its folder `out`; returns the record of the training.

    lora: train low-rank changes of the linear layers instead of the weights; they are added to the weights at the end.
    checkpointing: compute activations again instead of keeping them, which takes less memory and more time.
    origin: where the recipe comes from, for the record. Raises UserError for a model that cannot be trained so, and as `train_into` does.
    """

    def make(data: TrainingData) -> Training:
        model: Any = load_model(spec, device)
        matches = hasattr(model, "match")
        if not matches:
            check_trainable(model)
        if checkpointing:
            _checkpoint_activations(model.network)
        merge = with_lora(model.network, lora, recipe.seed) if lora else lambda: None
        if matches:
            learner: Learner = Matching(model, data, recipe)
        else:
            learner = Contrastive(Towers(model, data, precision=recipe.precision), data, recipe)
        more = (("lora", lora and [lora.rank, lora.alpha]),)
        return Training("finetune", recipe, model, learner, (spec, model), merge, more=more, origin=origin)

    return train_into(out, source, recipe, make, progress, trackers)


def _checkpoint_activations(network: Any) -> None:
    if hasattr(network, "set_grad_checkpointing"):
        network.set_grad_checkpointing(True)
    else:
        network.gradient_checkpointing_enable({"use_reentrant": False})
