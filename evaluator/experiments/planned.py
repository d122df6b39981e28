"""How much work a stage will be, by the options of its command and the scenes that its plan has or asks for."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from evaluator.experiments.amounts import IMAGES, STEPS, unit_of
from evaluator.experiments.stages import Stage
from evaluator.training.presets import PRESETS
from evaluator.training.recipe import Recipe
from generator.dataset.records import PLAN_FILE

_PRESETS = {"labclip": "labclip-pug", "finetune": "bindsplit2026", "dreambooth": "pearson2025-dreambooth"}
"""The presets of methods where none is named; other methods have the recipe's own defaults."""


def planned_amount(stage: Stage, root: Path) -> int | None:
    """The images that a `gen render` will make, and about how many steps a `score train` will have; None where nothing tells it."""
    unit = unit_of(stage.kind)
    if unit == STEPS:
        return _steps(stage, root)
    return _images(stage, root, every=True) if unit == IMAGES else None


def _steps(stage: Stage, root: Path) -> int | None:
    """About how many steps a `score train` will have; None where its options and plan do not tell.

    Some planned scenes fail, so there may be a few less. Classes are not counted, so a number of images per class tells nothing.
    """
    method = stage.kind.words[2]
    preset = _option(stage.words, "--preset") or _PRESETS.get(method)
    if "--search" in stage.words or (preset and preset not in PRESETS):
        return None
    recipe = PRESETS[preset].recipe if preset else Recipe()
    if recipe.steps:
        return int(_option(stage.words, "--steps") or recipe.steps)
    if recipe.images_per_class or "--images-per-class" in stage.words:
        return None
    images = _images(stage, root, every=method == "pretrain")
    epochs, batch = (int(_option(stage.words, f"--{name}") or getattr(recipe, name)) for name in ("epochs", "batch"))
    return None if images is None else epochs * (images // batch)


def _option(words: Sequence[str], name: str) -> str | None:
    """The value of an option, as `--name value`; None where it is not given."""
    return words[words.index(name) + 1] if name in words[:-1] else None


def _images(stage: Stage, root: Path, every: bool) -> int | None:
    """The images of the train split, or of every split, of the datasets that a training reads."""
    planned = [_planned(plan, root, every) for read in stage.reads if (plan := _plan_of(read))]
    known = [images for images in planned if images is not None]
    return sum(known) if known and len(known) == len(planned) else None


def _plan_of(stage: Stage) -> Stage | None:
    """The `gen plan` from which a stage's dataset was made; None for a stage that is no dataset."""
    while stage.kind.words[0] == "gen" and stage.reads:
        stage = stage.reads[0]
    return stage if stage.kind.name == "gen plan" else None


def _planned(plan: Stage, root: Path, every: bool) -> int | None:
    """The images of a plan. Of a plan for several benchmarks, those of each; None where they differ."""
    path = plan.out(root) / "world" / PLAN_FILE
    if path.exists():
        table = pq.read_table(path, columns=["part", "split"]).to_pydict()
        if every:
            return len(table["split"])
        parts = Counter(part for part, split in zip(table["part"], table["split"], strict=True) if split == "train")
        return next(iter(parts.values())) if len(set(parts.values())) == 1 else None
    if "--pairs" in plan.words or re.search(r",|\.\.", _option(plan.words, "--block-seed") or ""):
        return None  # several scenes for each that it asks for
    counts = dict(re.findall(r"(\w+)=(\d+)", _option(plan.words, "--scenes") or ""))
    if every:
        return sum(map(int, counts.values())) or None
    return int(counts["train"]) if "train" in counts else None
