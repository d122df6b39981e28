"""Hyperparameters of the papers: which of them are published, and which had to be chosen."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from evaluator.training.recipe import ANALOGY, SVLC, Recipe
from generator.dataset.errors import UserError, did_you_mean

_FROZEN: Mapping[str, Any] = MappingProxyType({"decay": 0.0, "warmup": 0.0, "flip": False, "shift": 0})
"""Adam at a constant rate, on images as they are."""


@dataclass(frozen=True)
class Preset:
    """A recipe of `method`. published: the fields that the source gives; the others are chosen here. source: where they are given.

    matching: for cross encoders, which are trained on image–text matching. lora: RANK/ALPHA, empty for the whole model.
    """

    method: str
    recipe: Recipe
    published: tuple[str, ...]
    source: str
    matching: bool = False
    lora: str = ""

    @property
    def chosen(self) -> tuple[str, ...]:
        """Fields of the recipe that matter to this method and that the source does not give."""
        weighed = ("negative_weight",) if self.matching else ("negative_loss", "negative_weight")
        negatives = weighed if self.recipe.negatives else ()
        positives = ("positive_loss", "positive_weight") if self.recipe.positives else ()
        if self.method == "dreambooth":
            return tuple(
                name for name in ("steps", "batch", "rate", "decay", "images_per_class") if name not in self.published
            )
        fields = (
            "epochs",
            "batch",
            "rate",
            "decay",
            "images_per_class",
            "negatives",
            *negatives,
            "positives",
            *positives,
            *(("lora",) if self.lora else ()),
        )
        return tuple(name for name in fields if name not in self.published)

    @property
    def said(self) -> str:
        """One sentence for people."""
        published = ", ".join(self.published).replace("_", " ") or "nothing"
        return f"Published ({self.source}): {published}. Chosen here: {', '.join(self.chosen).replace('_', ' ')}."


_ADAM = ("epochs", "batch", "rate", "decay", "negatives")
_LABCLIP = "Koishigarina et al. 2026"
_PEARSON = "Pearson et al. 2025, appendix A"
_CONTRASTIVE: Mapping[str, Any] = MappingProxyType({**_FROZEN, "negatives": ""})
PRESETS = {
    "labclip-pug": Preset("labclip", Recipe(epochs=50, batch=512, rate=1e-2, **_CONTRASTIVE), _ADAM, _LABCLIP),
    "labclip-clevr": Preset("labclip", Recipe(epochs=50, batch=128, rate=1e-2, **_CONTRASTIVE), _ADAM, _LABCLIP),
    "labclip-coco": Preset("labclip", Recipe(epochs=10, batch=1024, rate=1e-3, **_CONTRASTIVE), _ADAM, _LABCLIP),
    "pearson2025": Preset(
        "finetune", Recipe(epochs=30, batch=16, rate=1e-6, images_per_class=40, **_CONTRASTIVE),
        (*_ADAM, "images_per_class"), _PEARSON,
    ),
    "pearson2025-relational": Preset(
        "finetune", Recipe(epochs=50, batch=16, rate=1e-6, images_per_class=20, **_CONTRASTIVE),
        (*_ADAM, "images_per_class"), _PEARSON,
    ),
    "pearson2025-vilt": Preset(
        "finetune", Recipe(epochs=30, batch=16, rate=1e-5, images_per_class=80, **_CONTRASTIVE),
        ("rate", "images_per_class", "lora"), _PEARSON, matching=True, lora="16/32",
    ),
    "pearson2025-vilt-relational": Preset(
        "finetune", Recipe(epochs=50, batch=16, rate=1e-6, images_per_class=40, **_CONTRASTIVE),
        ("rate", "images_per_class", "lora"), _PEARSON, matching=True, lora="8/16",
    ),
    "pearson2025-dreambooth": Preset(
        "dreambooth", Recipe(steps=4000, batch=1, rate=5e-6, images_per_class=30, **_CONTRASTIVE),
        ("steps", "batch", "rate", "images_per_class"), _PEARSON,
    ),
    "pearson2025-dreambooth-relational": Preset(
        "dreambooth", Recipe(steps=5000, batch=1, rate=5e-6, images_per_class=40, **_CONTRASTIVE),
        ("steps", "batch", "rate", "images_per_class"), _PEARSON,
    ),
    "hard-positives2024": Preset(
        "finetune",
        Recipe(epochs=5, batch=64, rate=1e-5, negatives="swap,replace", negative_loss=SVLC, positives="swap,replace",
               positive_loss=ANALOGY, **_FROZEN),
        ("epochs", "negatives", "negative_loss", "positives"), "Kamath et al. 2024, appendix D",
    ),
    "bindsplit2026": Preset(
        "finetune", Recipe(epochs=5, batch=64, rate=1e-5, negatives="swap", **_FROZEN), ("negatives", "negative_loss"),
        "Peng et al. 2026, section 3.4",
    ),
}  # fmt: skip


def find_preset(name: str, method: str, matching: bool = False) -> Preset:
    """The preset of a method, for cross encoders where `matching`. Raises UserError where there is none of that name."""
    of_method = [each for each, preset in PRESETS.items() if preset.method == method and preset.matching is matching]
    if name not in of_method:
        of = f"`score train {method}`{' for cross encoders' if matching else ''}"
        raise UserError(f"Unknown preset '{name}' of {of}; {did_you_mean(name, of_method)}")
    return PRESETS[name]
