"""Hyperparameters of the papers: which of them are published, and which had to be chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from evaluator.training.methods import METHODS, Method
from generator.base.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Preset:
    """Values of a method's hyperparameters. published: those that the source gives; chosen: those that it leaves open.

    matching: for cross encoders, which are trained on image–text matching.
    """

    method: str
    source: str
    published: Mapping[str, Any]
    chosen: Mapping[str, Any] = field(default_factory=dict)
    matching: bool = False


class Origin(TypedDict):
    """Where the hyperparameters of a training come from, by name: its preset's source, choices made here, or the
    user."""

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


def _adam(epochs: int, batch: int, rate: float) -> dict[str, Any]:
    """Adam at a constant rate, and no negatives."""
    return {"epochs": epochs, "batch": batch, "rate": rate, "decay": 0.0, "negatives": "none"}


def _steps(steps: int, images: int) -> dict[str, Any]:
    return {"steps": steps, "batch": 1, "rate": 5e-6, "images_per_class": images, "text_encoder": True}


_LABCLIP, _PEARSON = "Koishigarina et al. 2026", "Pearson et al. 2025, appendix A"
_ONE, _TWO, _BOTH, _RELATIONS = (
    f"{_PEARSON}, {task}" for task in ("single objects", "two objects", "single and two objects", "relations")
)
_FIVE = {"epochs": 5, "batch": 64, "rate": 1e-5, "decay": 0.0, "images_per_class": None, "negative_weight": 1.0}
_MATCHING = {"batch": 16, "decay": 0.0, "negatives": "none", "positives": "none", "positive_loss": "caption"}
PRESETS = {
    "bindsplit2026": Preset(
        "finetune",
        "Peng et al. 2026, section 3.4",
        {"negatives": "swap", "negative_loss": "negclip"},
        {**_FIVE, "positives": "none"},
    ),
    "hard-positives2024": Preset(
        "finetune",
        "Kamath et al. 2024, appendix D",
        {"epochs": 5, "negatives": "swap,replace", "negative_loss": "svlc", "positives": "swap,replace"},
        {**_FIVE, "positive_loss": "analogy", "positive_weight": 1.0},
    ),
    "labclip-pug": Preset("labclip", _LABCLIP, _adam(50, 512, 1e-2)),
    "labclip-clevr": Preset("labclip", _LABCLIP, _adam(50, 128, 1e-2)),
    "labclip-coco": Preset("labclip", _LABCLIP, _adam(10, 1024, 1e-3)),
    "pearson2025": Preset("finetune", _BOTH, {**_adam(30, 16, 1e-6), "images_per_class": 40}),
    "pearson2025-relational": Preset("finetune", _RELATIONS, {**_adam(50, 16, 1e-6), "images_per_class": 20}),
    "pearson2025-vilt": Preset(
        "finetune",
        _ONE,
        {"rate": 1e-5, "lora": "16/32", "images_per_class": 80},
        {"epochs": 30, **_MATCHING},
        matching=True,
    ),
    "pearson2025-vilt-two-object": Preset(
        "finetune",
        _TWO,
        {"rate": 1e-5, "lora": "16/32"},
        {"epochs": 30, "images_per_class": 80, **_MATCHING},
        matching=True,
    ),
    "pearson2025-vilt-relational": Preset(
        "finetune",
        _RELATIONS,
        {"rate": 1e-6, "lora": "8/16", "images_per_class": 40},
        {"epochs": 50, **_MATCHING},
        matching=True,
    ),
    "pearson2025-dreambooth": Preset("dreambooth", _BOTH, _steps(4000, 30), {"decay": 0.0}),
    "pearson2025-dreambooth-relational": Preset("dreambooth", _RELATIONS, _steps(5000, 40), {"decay": 0.0}),
}


def from_preset(
    method: str, given: Mapping[str, Any], preset: str | None = None, matching: bool = False
) -> tuple[Method, Origin]:
    """The recipe of a preset of a method, by default its first, with the values that are given in place of its own.

    matching: for cross encoders. Raises UserError where there is no preset of that name.
    """
    of_method = [name for name, each in PRESETS.items() if (each.method, each.matching) == (method, matching)]
    name = preset or of_method[0]
    if name not in of_method:
        of = f"`score train {method}`{' for cross encoders' if matching else ''}"
        raise UserError(f"Unknown preset '{name}' of {of}; {did_you_mean(name, of_method)}")
    found = PRESETS[name]
    origin = Origin(
        preset=name,
        source=found.source,
        published=[each for each in found.published if each not in given],
        chosen=[each for each in found.chosen if each not in {**found.published, **given}],
        given=sorted(given),
    )
    return METHODS[method](**{**found.chosen, **found.published, **given}), origin
