"""Hyperparameters of the papers: which of them are published, and which had to be chosen."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from typing_extensions import TypedDict

from evaluator.training.recipe import ANALOGY, SVLC, Recipe
from generator.base.errors import UserError, did_you_mean

_FROZEN: Mapping[str, Any] = MappingProxyType({"decay": 0.0, "warmup": 0.0, "flip": False, "shift": 0})
"""Adam at a constant rate, on images as they are."""


@dataclass(frozen=True)
class Preset:
    """A recipe of `method`. published: the fields that the source gives; the others are chosen here. source: where they are given.

    matching: for cross encoders, which are trained on image–text matching. lora: RANK/ALPHA, empty for the whole model.
    """

    name: str
    method: str
    recipe: Recipe
    published: tuple[str, ...]
    source: str
    matching: bool = False
    lora: str = ""

    def origin(self, recipe: Recipe, given: Collection[str]) -> "Origin":
        """Where the hyperparameters of a training by `recipe` come from, of which the user gave some by name."""
        rest = [name for name in self._fields(recipe) if name not in given]
        return Origin(
            preset=self.name,
            source=self.source,
            published=[name for name in rest if name in self.published],
            chosen=[name for name in rest if name not in self.published],
            given=sorted(given),
        )

    def _fields(self, recipe: Recipe) -> tuple[str, ...]:
        """The hyperparameters that matter to a training of this method by `recipe`."""
        if self.method == "dreambooth":
            return ("steps", "batch", "rate", "decay", "images_per_class", "text_encoder")
        negatives = ("negative_weight",) if self.matching else ("negative_loss", "negative_weight")
        positives = () if self.matching else ("positive_loss", "positive_weight")
        return (
            "epochs", "batch", "rate", "decay", "images_per_class",
            "negatives", *(negatives if recipe.negatives else ()),
            "positives", *(positives if recipe.positives else ()),
            *(("lora",) if self.lora else ()),
        )  # fmt: skip


class Origin(TypedDict):
    """Where the hyperparameters of a training come from: published by the source of a preset, chosen here, or given by the user."""

    preset: str
    source: str
    published: list[str]
    chosen: list[str]
    given: list[str]


def origin_said(origin: Origin) -> str:
    """A sentence for each group, for people."""
    groups = {
        f"Published ({origin['source']})": origin["published"],
        "Chosen here": origin["chosen"],
        "Given by you": origin["given"],
    }
    listed = [f"{group}: {', '.join(names).replace('_', ' ')}." for group, names in groups.items() if names]
    return " ".join([f"Preset {origin['preset']}.", *listed])


_ADAM = ("epochs", "batch", "rate", "decay", "negatives")
_LABCLIP = "Koishigarina et al. 2026"
_PEARSON = "Pearson et al. 2025, appendix A"
_ONE, _TWO, _BOTH, _RELATIONS = (
    f"{_PEARSON}, {task}" for task in ("single objects", "two objects", "single and two objects", "relations")
)
_CONTRASTIVE: Mapping[str, Any] = MappingProxyType({**_FROZEN, "negatives": ""})
_ALL = (
    Preset("labclip-pug", "labclip", Recipe(epochs=50, batch=512, rate=1e-2, **_CONTRASTIVE), _ADAM, _LABCLIP),
    Preset("labclip-clevr", "labclip", Recipe(epochs=50, batch=128, rate=1e-2, **_CONTRASTIVE), _ADAM, _LABCLIP),
    Preset("labclip-coco", "labclip", Recipe(epochs=10, batch=1024, rate=1e-3, **_CONTRASTIVE), _ADAM, _LABCLIP),
    Preset(
        "pearson2025", "finetune", Recipe(epochs=30, batch=16, rate=1e-6, images_per_class=40, **_CONTRASTIVE),
        (*_ADAM, "images_per_class"), _BOTH,
    ),
    Preset(
        "pearson2025-relational", "finetune", Recipe(epochs=50, batch=16, rate=1e-6, images_per_class=20, **_CONTRASTIVE),
        (*_ADAM, "images_per_class"), _RELATIONS,
    ),
    Preset(
        "pearson2025-vilt", "finetune", Recipe(epochs=30, batch=16, rate=1e-5, images_per_class=80, **_CONTRASTIVE),
        ("rate", "images_per_class", "lora"), _ONE, matching=True, lora="16/32",
    ),
    Preset(
        "pearson2025-vilt-two-object", "finetune", Recipe(epochs=30, batch=16, rate=1e-5, images_per_class=80, **_CONTRASTIVE),
        ("rate", "lora"), _TWO, matching=True, lora="16/32",
    ),
    Preset(
        "pearson2025-vilt-relational", "finetune", Recipe(epochs=50, batch=16, rate=1e-6, images_per_class=40, **_CONTRASTIVE),
        ("rate", "images_per_class", "lora"), _RELATIONS, matching=True, lora="8/16",
    ),
    Preset(
        "pearson2025-dreambooth", "dreambooth", Recipe(steps=4000, batch=1, rate=5e-6, images_per_class=30, **_CONTRASTIVE),
        ("steps", "batch", "rate", "images_per_class", "text_encoder"), _BOTH,
    ),
    Preset(
        "pearson2025-dreambooth-relational", "dreambooth", Recipe(steps=5000, batch=1, rate=5e-6, images_per_class=40, **_CONTRASTIVE),
        ("steps", "batch", "rate", "images_per_class", "text_encoder"), _RELATIONS,
    ),
    Preset(
        "hard-positives2024", "finetune",
        Recipe(epochs=5, batch=64, rate=1e-5, negatives="swap,replace", negative_loss=SVLC, positives="swap,replace",
               positive_loss=ANALOGY, **_FROZEN),
        ("epochs", "negatives", "negative_loss", "positives"), "Kamath et al. 2024, appendix D",
    ),
    Preset(
        "bindsplit2026", "finetune", Recipe(epochs=5, batch=64, rate=1e-5, negatives="swap", **_FROZEN), ("negatives", "negative_loss"),
        "Peng et al. 2026, section 3.4",
    ),
)  # fmt: skip
PRESETS = {preset.name: preset for preset in _ALL}


def find_preset(name: str, method: str, matching: bool = False) -> Preset:
    """The preset of a method, for cross encoders where `matching`. Raises UserError where there is none of that name."""
    of_method = [each for each, preset in PRESETS.items() if preset.method == method and preset.matching is matching]
    if name not in of_method:
        of = f"`score train {method}`{' for cross encoders' if matching else ''}"
        raise UserError(f"Unknown preset '{name}' of {of}; {did_you_mean(name, of_method)}")
    return PRESETS[name]
