"""Zero-shot against generalised zero-shot classification over three draws of the class lists."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluator.experiments.lab import Experiment, Lab
from evaluator.experiments.models import trained_model
from evaluator.experiments.stages import Options


@dataclass(frozen=True)
class Scale:
    """The scenes of each world, how models are trained, and over which tasks, blocks and seeds the
    loops go."""

    scenes: int = 4000
    scratch: Options = field(default_factory=lambda: {"epochs": 20})
    tasks: Sequence[str] = ("two-object",)
    blocks: Sequence[int] = (0, 1, 2)
    seeds: Sequence[int] = (0, 1)


SCALES = {
    "tiny": Scale(),
    "smoke": Scale(300, {"epochs": 1, "batch": 4}, ("two-object", "relational"), (0,), (0,)),
}


def make(lab: Lab, at: Scale) -> None:
    """A world and its class lists for each block; a model for each seed."""
    for block in at.blocks:
        plan = lab.stage(
            "gen plan", design="gzsl", block_seed=block, scenes=at.scenes, resolution="64x64"
        )
        rendered = lab.stage("gen render", plan, quality="draft")
        world = lab.stage("gen verify", rendered)
        for task in at.tasks:
            benchmark = f"gzsl-{task}-b{block}"
            for seed in at.seeds:
                trained = lab.stage(
                    "score train scratch", world, benchmark=benchmark, seed=seed, **at.scratch
                )
                run = lab.score(trained_model(trained), world, benchmark=benchmark)
                lab.row("CLIP / scratch", run)


EXPERIMENT = Experiment(
    "Tables 3, 4, 6 and 7 of Pearson et al. 2025, of a dual encoder from scratch. The scale tiny "
    "takes some 35 minutes of one core of an AMD EPYC.",
    "pearson2025",
    SCALES,
    make,
)
