"""Planning scenes, and placing their objects."""

import resource

from bench.figures import Figure, repeated, seconds
from generator.holdout.membership import SplitPlan
from generator.placement.scenes import place_scene
from generator.plan.options import WorldOptions
from generator.plan.plan import plan_scenes
from generator.plan.prepare import Prepared, prepare
from generator.scene.relations import scene_graph

SCENES = {"train": 6000, "val": 400, "seen": 1200, "partial": 1200, "unseen": 1200}
PLACED = 1000
LARGER = 10  # times as many, planned once, to see what grows


def figures() -> list[Figure]:
    """Milliseconds per scene of two objects and of three to ten; how much more memory ten times as
    many scenes take."""
    return [
        *_figures("clevr", (2, 2), "2 objects"),
        *_figures("clevr-many", (3, 10), "3 to 10 objects"),
    ]


def _figures(family: str, objects: tuple[int, int], what: str) -> list[Figure]:
    prepared = prepare(
        WorldOptions(
            family=family, holdout="3x3", scenes=SCENES, resolution="320x240", objects=objects
        )
    )
    n = len(prepared.planned)
    return [
        repeated(
            f"plan, {n:,} scenes of {what}",
            "ms a scene",
            lambda: 1e3 / n * seconds(lambda: _plan(prepared)),
        ),
        repeated(
            f"place, {PLACED:,} scenes of {what}",
            "ms a scene",
            lambda: 1e3 / PLACED * seconds(lambda: _place(prepared)),
        ),
        repeated(
            f"graph, {PLACED:,} scenes of {what}",
            "ms a scene",
            lambda: 1e3 / PLACED * _graphs(prepared),
        ),
        *_larger(prepared, what),
    ]


def _larger(prepared: Prepared, what: str) -> list[Figure]:
    # The peak can only grow, so what is added to it is due to the larger plan.
    before, n = _peak(), LARGER * len(prepared.planned)
    spent = seconds(lambda: _plan(prepared, LARGER))
    return [
        Figure(f"plan, {n:,} scenes of {what}", "ms a scene", (1e3 * spent / n,)),
        Figure("more memory than a tenth of it took", "MB", (_peak() - before,)),
    ]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _plan(prepared: Prepared, times: int = 1) -> None:
    scenes = {split: times * n for split, n in SCENES.items()}
    plan_scenes(
        prepared.vocabulary,
        SplitPlan(prepared.vocabulary, prepared.holdout),
        scenes,
        prepared.options.seed,
        prepared.objects,
    )


def _place(prepared: Prepared) -> None:
    for planned in prepared.planned[:PLACED]:
        place_scene(planned, prepared.vocabulary, 0, 0, 320, 240)


def _graphs(prepared: Prepared) -> float:
    # Placed before the clock starts.
    scenes = [
        place_scene(planned, prepared.vocabulary, 0, 0, 320, 240)
        for planned in prepared.planned[:PLACED]
    ]
    return seconds(lambda: [scene_graph(scene, prepared.vocabulary) for scene in scenes])
