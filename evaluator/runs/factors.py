"""What distinguishes a run from others: the factors by which results are compared and pooled."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from evaluator.protocols.records import FactorsRecord
from evaluator.runs.folder import Run
from generator.dataset.reader import Benchmark, World

_BLOCK_ENTRIES = (
    "block_seed",
    "bindings",
    "triples",
    "classes",
    "values",
    "objects",
    "absent_values",
    "absent_objects",
    "turn",
    "value_groups",
    "object_groups",
    "doses",
)
"""The entries of a holdout that depend on the block seed or the turn; all others are its design."""
_BLOCK_REQUESTS = ("seed", "splits", "block_seed", "holdouts")
"""The entries of a request that depend on a seed."""
_MACHINE_REQUESTS = ("blender", "device")
"""The entries of a request that depend on the machine."""
_TREATMENT_RULES = ("tie_tolerance",)
"""The rules that belong to the model's scores. Two models are compared although they differ in
these."""
_DIGITS = 12
"""Hexadecimal digits of a digest."""


def factors_of(run: Run, channel: str, rules: Mapping[str, Any]) -> FactorsRecord:
    """The factors of a measured run.

    Args:
        run: A finished run.
        channel: The scores that are measured.
        rules: The `rules` of its results (evaluator.protocols.records.RulesRecord).

    Returns:
        The factors. Runs that differ only in `block` or `training_seed` are repetitions of one
        experiment.
    """
    record = run.record
    holdout = run.benchmark.holdout or {}
    trained_on = record.get("info", {}).get("trained_on") or {}
    recipe = dict(trained_on.get("recipe") or {})
    training_seed = recipe.pop("seed", None)

    status = (record.get("training") or {}).get("status", "unknown")
    of_scores = {name: value for name, value in rules.items() if name in _TREATMENT_RULES}
    treatment = {**recipe, **of_scores, "channel": channel, "training": status}

    design = {**_design(run.benchmark, run.world), **rules}
    for name in of_scores:
        design.pop(name)

    block = None
    if holdout:
        # Blocks of different seeds may be equal, so the seed itself is left out.
        names = [name for name in _BLOCK_ENTRIES if name != "block_seed" and name in holdout]
        block = _digest({name: holdout[name] for name in names})
    return FactorsRecord(
        model=_trained_model(trained_on) if trained_on else record["model"],
        treatment=treatment,
        training_seed=training_seed,
        design=design,
        block=block,
        block_seed=holdout.get("block_seed"),
        benchmark=f"{record['benchmark']}/{record['world']}",
    )


def _trained_model(trained_on: Mapping[str, Any]) -> str:
    """The name of a trained model: the training's method and base model."""
    name = f"jackalope:{trained_on['method']}"
    base = trained_on.get("base")
    if not base:
        return name
    if not base["model"].startswith("jackalope:"):
        return f"{name} of {base['model']}"
    # A base that was trained here is a folder, which may be moved; its weights are the same.
    return f"{name} of jackalope:{base['weights_sha256'][:8]}"


def _design(benchmark: Benchmark, world: World | None) -> dict[str, Any]:
    """The requests that world and benchmark were made from, without seeds and machine. Without a
    world, only the digest of the items."""
    if world is None:
        return {"items": benchmark.digest}
    world_request = dict(world.manifest["request"])
    if "scenes_asked" in world_request:
        # `scenes` depends on the class lists, which a block seed draws.
        world_request["scenes"] = world_request.pop("scenes_asked")
    world_request["vocabulary"] = _digest(world_request.get("vocabulary"))

    design: dict[str, Any] = {}
    for name, value in (benchmark.holdout or {}).items():
        if name not in _BLOCK_ENTRIES:
            design[f"holdout {name}"] = value
    for name, value in benchmark.manifest.get("request", {}).items():
        design[f"texts {name}"] = value
    for name, value in world_request.items():
        design[f"world {name}"] = value
    left_out = (*_BLOCK_REQUESTS, *_MACHINE_REQUESTS)
    return {name: value for name, value in design.items() if name.split()[-1] not in left_out}


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
