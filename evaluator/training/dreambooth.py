"""Fine-tune a diffusion model on class prompts, as DreamBooth does without prior preservation (Ruiz et al. 2023; Pearson et al. 2025)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.models.diffusion.loading import place_and_preset
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.registry import load_model
from evaluator.runs.tracking import Tracker
from evaluator.training.data import TrainingData
from evaluator.training.denoising import Denoising
from evaluator.training.presets import Origin
from evaluator.training.recipe import Recipe
from evaluator.training.session import Training, train_into
from evaluator.training.source import Source
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress


def preset_of(spec: str) -> str:
    """How the diffusion model that `spec` names is scored, as `@PRESET`, the default where it names none."""
    _, preset = place_and_preset(spec.partition(":")[2])
    return f"@{','.join((preset.name, *preset.changed))}"


def dreambooth(
    spec: str,
    source: Source,
    recipe: Recipe,
    out: Path,
    device: str | None = None,
    text_encoder: bool = True,
    progress: Progress = SILENT,
    trackers: Sequence[Tracker] = (),
    origin: Origin | None = None,
) -> dict[str, Any]:
    """Train the diffusion model that `spec` names on its images' captions and write its folder `out`; returns the record.

    text_encoder: train the text encoders too, not the U-Net alone. origin: where the recipe comes from, for the record. Raises UserError for a model that cannot be trained so, and as
    `train_into` does.
    """

    def make(data: TrainingData) -> Training:
        model = load_model(spec, device)
        if not isinstance(model, DiffusionClassifier):
            raise UserError(f"'{spec}' is no diffusion model; give one of diffusion:, or a jackalope: one.")
        learner = Denoising(model, data, recipe, text_encoder)
        more = (("text_encoder", text_encoder),)
        return Training("dreambooth", recipe, model, learner, (spec, model), more=more, origin=origin)

    return train_into(out, source, recipe, make, progress, trackers)
