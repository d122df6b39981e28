"""What tells runs apart: the model and how it was trained, the design of world and benchmark, the block."""

import hashlib
import json
from typing import Any

from evaluator.protocols.records import FactorsRecord
from evaluator.runs.folder import Run
from generator.dataset.reader import Benchmark, World

_DRAWN = ("block_seed", "bindings", "triples", "classes", "values", "objects", "absent_values", "absent_objects")
"""What a block seed draws; the rest of a holdout is its design."""
_OF_THE_DRAW = ("seed", "splits", "block_seed", "holdouts")
_OF_THE_MACHINE = ("blender", "device")
_DIGITS = 12


def factors_of(run: Run, channel: str, rules: dict[str, Any]) -> FactorsRecord:
    """The factors of a run, measured by one channel of its scores and by these rules."""
    record, holdout = run.record, run.benchmark.holdout or {}
    trained = record.get("info", {}).get("trained_on") or {}
    recipe = dict(trained.get("recipe") or {})
    seed = recipe.pop("seed", None)
    drawn = {name: holdout[name] for name in _DRAWN if name != "block_seed" and name in holdout}
    return FactorsRecord(
        model=_model(trained) if trained else record["model"],
        treatment={**recipe, "channel": channel, "training": (record.get("training") or {}).get("status", "unknown")},
        training_seed=seed,
        design={**_design(run.benchmark, run.world), **rules},
        block=_digest(drawn) if holdout else None,
        block_seed=holdout.get("block_seed"),
        benchmark=f"{record['benchmark']}/{record['world']}",
    )


def _model(trained: dict[str, Any]) -> str:
    """The method of a training, with the model that it started from: one of ours by its weights, since folders are
    moved."""
    name, base = f"jackalope:{trained['method']}", trained.get("base")
    if not base:
        return name
    ours = base["model"].startswith("jackalope:")
    return f"{name} of {'jackalope:' + base['weights_sha256'][:8] if ours else base['model']}"


def _design(benchmark: Benchmark, world: World | None) -> dict[str, Any]:
    """What world and benchmark were asked to be. Scores from elsewhere have the digest of their items alone."""
    if world is None:
        return {"items": benchmark.digest}
    holdout = {f"holdout {name}": value for name, value in (benchmark.holdout or {}).items() if name not in _DRAWN}
    texts = {f"texts {name}": value for name, value in benchmark.manifest.get("request", {}).items()}
    asked = dict(world.manifest["request"])
    if "scenes_asked" in asked:  # as `scenes` they are shared among class lists, which a block seed draws
        asked["scenes"] = asked.pop("scenes_asked")
    asked["vocabulary"] = _digest(asked.get("vocabulary"))
    found = {**holdout, **texts, **{f"world {name}": value for name, value in asked.items()}}
    return {name: value for name, value in found.items() if name.split()[-1] not in (*_OF_THE_DRAW, *_OF_THE_MACHINE)}


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:_DIGITS]
