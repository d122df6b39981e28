"""Deciding what 10,000 scenes hold, and where it stands."""

from bench.figures import Figure, repeated, seconds
from generator.render import Job, Prepared, prepare
from generator.sampling import place_scene, plan_scenes
from generator.splits import SplitPlan

SCENES = {"train": 6000, "val": 400, "seen": 1200, "partial": 1200, "unseen": 1200}
PLACED = 2000


def figures() -> list[Figure]:
    """Milliseconds a scene."""
    prepared = prepare(Job("clevr", "3x3", SCENES, 320, 240, "standard", 0, 0))
    n = len(prepared.planned)
    return [
        repeated(f"plan, {n:,} scenes", "ms a scene", lambda: 1e3 / n * seconds(lambda: _plan(prepared))),
        repeated(f"place, {PLACED:,} of them", "ms a scene", lambda: 1e3 / PLACED * seconds(lambda: _place(prepared))),
    ]


def _plan(prepared: Prepared) -> None:
    plan_scenes(prepared.vocabulary, SplitPlan(prepared.vocabulary, prepared.holdout), SCENES, 0)


def _place(prepared: Prepared) -> None:
    for planned in prepared.planned[:PLACED]:
        place_scene(planned, prepared.vocabulary, 0, 0, 320, 240)
