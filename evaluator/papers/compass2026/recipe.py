"""Recipe of COMPASS (anonymous 2026): integration gap and skill load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evaluator.experiments.lab import ROTATION, Experiment, Lab
from evaluator.experiments.models import Model, trained_model
from evaluator.experiments.stages import Option, Options, Stage

_TEXTS_OF = {"scratch, plain captions": "plain", "scratch, graded captions": "graded"}
"""By label, the kind of captions that a model from scratch learns from."""
_TEXTS: Sequence[Options] = ({"preset": "compass2026"}, {"protocol": "productivity"})
"""Options of `gen describe` for the texts of the paper, and for graded captions of productivity."""


@dataclass(frozen=True)
class Scale:
    """What a scale renders, trains and scores."""

    captions: Sequence[str] = tuple(_TEXTS_OF)
    """The captions that models learn from, keys of _TEXTS_OF."""
    world: str = "train=4000,val=100,seen=500,partial=500,unseen=500"
    """Scenes of the world of each block."""
    rotation: str = "train=6000,val=100,partial=300,unseen=600"
    """Scenes of the rotation."""
    turns: Sequence[int] = (0, 1)
    """The turns of the rotation; none to leave it out."""
    other_world: str = "train=60,val=10,seen=100,partial=100,unseen=100"
    """Scenes of the world on which training changes a user's model elsewhere."""
    resolution: str = "96x96"
    """Width and height of the images in pixels."""
    quality: str = "draft"
    """The `--quality` of `gen render`."""
    blocks: Sequence[int] = (0, 1, 2)
    """Block seeds."""
    seeds: Sequence[int] = (0, 1)
    """Training seeds of every block and turn."""
    scratch: Options = field(default_factory=dict)
    """Options of `score train scratch`."""


SCALES = {
    "smoke": Scale(
        captions=("scratch, graded captions",),
        world="train=64,val=4,seen=12,partial=12,unseen=12",
        rotation="train=80,val=6,partial=12,unseen=12",
        turns=(0,),
        resolution="64x64",
        blocks=(0,),
        seeds=(0,),
        scratch={"epochs": 1, "batch": 32},
    ),
    "tiny": Scale(
        world="train=1500,val=30,seen=300,partial=300,unseen=300",
        rotation="train=3000,val=40,partial=160,unseen=400",
        scratch={"epochs": 12},
    ),
    "small": Scale(resolution="128x128", seeds=(0, 1, 2), scratch={"size": "small"}),
    "paper": Scale(
        world="train=16000,val=100,seen=2000,partial=2000,unseen=2000",
        rotation="train=24000,val=200,partial=1000,unseen=3000",
        resolution="320x240",
        quality="standard",
        seeds=(0, 1, 2),
        scratch={"size": "small"},
    ),
}
# A first sharp answer: without the paper's blocks, and with one training of each turn.
# Two trainings of each turn tell bindings from trainings, which narrows intervals by a third
# (docs/statistics.md).
SCALES["rotation"] = replace(SCALES["tiny"], blocks=(), seeds=(0, 1))


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: one world for each block, and one for both turns of the rotation,
    shared by all models.

    A block holds out 5 x 5 bindings. All objects of an unseen scene are of the block, and foils
    take values and categories of the block that the scene lacks (protocols.md, section 1: foils are
    as familiar as captions). Scenes of three or four objects use up a smaller block: with 3 x 3,
    `unseen` has no question about integration or objects, with 3 x 5 hardly any about attributes.
    For the same reason the rotation has two turns, whose sub-blocks are 4 x 6.
    """
    worlds = {}
    for block in at.blocks:
        world = _render(lab, at, holdout="5x5", block_seed=block, scenes=at.world)
        world = _describe(lab, world, names=("compass2026", "productivity"))
        worlds[block] = lab.stage("gen verify", world)

    reason = (
        "no weights of CLIP are at hand, and stand-ins read one or two objects; name some with "
        "--models"
    )
    for name, model in lab.models({"CLIP": Model(missing=reason)}).items():
        if model.missing:
            lab.lacks(name, model.missing)
            lab.lacks(f"{name}, finetuned", model.missing)
        else:
            _add_pretrained(lab, at, worlds=worlds, name=name, model=model)
    for label, texts in _TEXTS_OF.items():
        if label not in at.captions:
            lab.lacks(label)
            continue
        for world in worlds.values():
            for seed in at.seeds:
                trained = _train(
                    lab, at, world=world, benchmark="compass2026", texts=texts, seed=seed
                )
                _add_row(
                    lab,
                    label,
                    world=world,
                    benchmarks=("compass2026", "productivity"),
                    model=trained_model(trained),
                )
    if at.turns:
        _add_rotation(lab, at)
    for block, world in worlds.items():
        audit = lab.stage("score audit", world, benchmark="compass2026", seed=0)
        lab.row(f"texts of block {block}", audit)


def _add_pretrained(
    lab: Lab, at: Scale, *, worlds: Mapping[int, Stage], name: str, model: Model
) -> None:
    """Declare the rows of a user's model, as it is and fine-tuned on each block."""
    plan: Options = {"scenes": at.other_world, "no_pairs": True, "seed": 1}
    other = lab.render(plan, resolution=at.resolution, quality=at.quality)
    tuned = f"{name}, finetuned"
    benchmarks = ("compass2026", "productivity")
    for world in worlds.values():
        _add_row(lab, name, world=world, benchmarks=benchmarks, model=model)
        for seed in at.seeds:
            trained = lab.train(
                "finetune", model, world, benchmark="compass2026", seed=seed, texts="plain,graded"
            )
            _add_row(lab, tuned, world=world, benchmarks=benchmarks, model=model.after(trained))
            lab.elsewhere(
                tuned,
                model,
                trained,
                other,
                benchmark="color-shape-3x3-b0",
                allow_contaminated=True,
            )


def _add_rotation(lab: Lab, at: Scale) -> None:
    """Declare the rows of the rotation: models from scratch, trained and scored on each turn."""
    world = _render(lab, at, holdout="turns=2", scenes=at.rotation, seed=2)
    for turn in at.turns:
        names = (f"compass-turn{turn}", f"productivity-turn{turn}")
        world = _describe(lab, world, names=names, benchmark=f"turn{turn}")
    world = lab.stage("gen verify", world)
    for label in at.captions:
        for turn in at.turns:
            benchmarks = (f"compass-turn{turn}", f"productivity-turn{turn}")
            for seed in at.seeds:
                trained = _train(
                    lab, at, world=world, benchmark=benchmarks[0], texts=_TEXTS_OF[label], seed=seed
                )
                model = trained_model(trained)
                _add_row(
                    lab, f"{label} / {ROTATION}", world=world, benchmarks=benchmarks, model=model
                )


def _train(lab: Lab, at: Scale, *, world: Stage, benchmark: str, texts: str, seed: int) -> Stage:
    """The training of a model from scratch on captions of one kind."""
    return lab.stage(
        "score train scratch", world, benchmark=benchmark, texts=texts, seed=seed, **at.scratch
    )


def _add_row(
    lab: Lab, label: str, *, world: Stage, benchmarks: Sequence[str], model: Model
) -> None:
    """Score a model on the benchmarks of a world, as one row."""
    for benchmark in benchmarks:
        lab.row(label, lab.score(model, world, benchmark=benchmark, allow_contaminated=True))


def _render(lab: Lab, at: Scale, **plan: Option) -> Stage:
    """A rendered world of these options of `gen plan`."""
    family: Options = {"family": "clevr-relations", "objects": "3..4", "no_pairs": True}
    return lab.render({**family, **plan}, resolution=at.resolution, quality=at.quality)


def _describe(
    lab: Lab, world: Stage, *, names: Sequence[str], benchmark: str | None = None
) -> Stage:
    """The world with the texts of the paper, and with graded captions for productivity.

    Args:
        lab: Where the stages are declared.
        world: A rendered world.
        names: The names of the two benchmarks.
        benchmark: The benchmark whose holdout they keep; None for the only one.
    """
    for name, texts in zip(names, _TEXTS, strict=True):
        world = lab.stage("gen describe", world, benchmark=benchmark, **texts, name=name)
    return world


EXPERIMENT = Experiment(
    "Tables 1 to 8 and figures 3 and 5 to 7 of COMPASS (anonymous 2026): integration gap and skill "
    "load of dual encoders trained from scratch on plain captions, and on captions of growing "
    "complexity. Rows of the rotation are over two turns, in which every binding is unseen once.",
    "compass2026",
    SCALES,
    make,
)
