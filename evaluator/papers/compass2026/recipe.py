"""Recipe of COMPASS (anonymous 2026): integration gap and skill load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.experiments.lab import ROTATION, Experiment, Lab, Model
from evaluator.experiments.stages import Stage

_TAUGHT = {"scratch, plain captions": "--texts plain", "scratch, graded captions": "--texts graded"}
_ALLOWED = "--allow-contaminated"


@dataclass(frozen=True)
class Scale:
    """What a scale renders, trains and scores."""

    taught: Sequence[str] = tuple(_TAUGHT)
    """The captions that models learn from, keys of _TAUGHT."""
    world: str = "--scenes train=4000,val=100,seen=500,partial=500,unseen=500"
    """Options of `gen plan` for the world of each block."""
    rotation: str = "--scenes train=6000,val=100,partial=300,unseen=600"
    """Options of `gen plan` for the rotation."""
    turns: Sequence[int] = (0, 1)
    """The turns of the rotation; none to leave it out."""
    elsewhere: str = "--scenes train=60,val=10,seen=100,partial=100,unseen=100"
    """Options of `gen plan` for the world on which training changes a user's model elsewhere."""
    resolution: str = "96x96"
    quality: str = "draft"
    blocks: Sequence[int] = (0, 1, 2)
    """Block seeds."""
    seeds: Sequence[int] = (0, 1)
    """Training seeds of every block and turn."""
    scratch: str = ""
    """Options of the trainings."""


SCALES = {
    "smoke": Scale(
        taught=("scratch, graded captions",),
        world="--scenes train=64,val=4,seen=12,partial=12,unseen=12",
        rotation="--scenes train=80,val=6,partial=12,unseen=12",
        turns=(0,),
        resolution="64x64",
        blocks=(0,),
        seeds=(0,),
        scratch="--epochs 1 --batch 32",
    ),
    "tiny": Scale(
        world="--scenes train=1500,val=30,seen=300,partial=300,unseen=300",
        rotation="--scenes train=3000,val=40,partial=160,unseen=400",
        scratch="--epochs 12",
    ),
    "small": Scale(resolution="128x128", seeds=(0, 1, 2), scratch="--size small"),
    "paper": Scale(
        world="--scenes train=16000,val=100,seen=2000,partial=2000,unseen=2000",
        rotation="--scenes train=24000,val=200,partial=1000,unseen=3000",
        resolution="320x240",
        quality="standard",
        seeds=(0, 1, 2),
        scratch="--size small",
    ),
}
# A first sharp answer: without the paper's blocks, and with one training of each turn.
SCALES["rotation"] = replace(SCALES["tiny"], blocks=(), seeds=(0,))


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: one world for each block, and one for both turns of the rotation,
    shared by all models.

    A block holds out 5 x 5 bindings. All objects of an unseen scene are of the block, and foils
    take values and categories of the block that the scene lacks (protocols.md, section 1: foils are
    as familiar as captions). Scenes of three or four objects use up a smaller block: with 3 x 3,
    `unseen` has no question about integration or objects, with 3 x 5 hardly any about attributes.
    For the same reason the rotation has two turns, whose sub-blocks are 4 x 6.
    """
    described = {}
    for block in at.blocks:
        world = _render(lab, at, f"--holdout 5x5 --block-seed {block} {at.world}")
        described[block] = _describe(lab, world, {"compass2026": "", "productivity": ""})
    worlds = {block: lab.stage(f"gen verify {world}") for block, world in described.items()}

    def add_row_of_block(label: str, block: int, model: Model) -> None:
        options = f"--model {model} {model.run} {_ALLOWED}"
        for benchmark in ("compass2026", "productivity"):
            lab.row(label, f"score run {worlds[block]} --benchmark {benchmark} {options}")

    why = (
        "no weights of CLIP are at hand, and stand-ins read one or two objects; name some with "
        "--models"
    )
    for name, model in lab.models({"CLIP": Model(missing=why)}).items():
        tuned = f"{name}, finetuned"
        if model.missing:
            lab.lacks(name, model.missing)
            lab.lacks(tuned, model.missing)
            continue
        other = lab.render(f"{at.elsewhere} --no-pairs --seed 1", at.resolution, at.quality)
        for block, world in worlds.items():
            add_row_of_block(name, block, model)
            for seed in at.seeds:
                options = (
                    f"--benchmark compass2026 --seed {seed} --texts plain,graded {model.train}"
                )
                trained = lab.stage(f"score train finetune {world} --model {model} {options}")
                add_row_of_block(tuned, block, model.after(trained))
                run_elsewhere = f"score run {other} --benchmark color-shape-3x3-b0 {_ALLOWED}"
                lab.elsewhere(tuned, run_elsewhere, model, trained)
    for label, texts in _TAUGHT.items():
        if label not in at.taught:
            lab.lacks(label)
            continue
        for block, world in worlds.items():
            for seed in at.seeds:
                options = f"--benchmark compass2026 {texts} --seed {seed} {at.scratch}"
                trained = lab.stage(f"score train scratch {world} {options}")
                add_row_of_block(label, block, Model(spec=f"jackalope:{trained}"))
    if at.turns:
        _add_rotation(lab, at)
    for block, world in worlds.items():
        lab.row(f"texts of block {block}", f"score audit {world} --benchmark compass2026 --seed 0")


def _add_rotation(lab: Lab, at: Scale) -> None:
    """Declare the rows of the rotation: models from scratch, trained and scored on each turn."""
    world = _render(lab, at, f"--holdout turns=2 {at.rotation} --seed 2")
    for turn in at.turns:
        names = {f"compass-turn{turn}": f"turn{turn}", f"productivity-turn{turn}": f"turn{turn}"}
        world = _describe(lab, world, names)
    world = lab.stage(f"gen verify {world}")
    for label in at.taught:
        for turn in at.turns:
            for seed in at.seeds:
                train = f"score train scratch {world} --benchmark compass-turn{turn}"
                trained = lab.stage(f"{train} {_TAUGHT[label]} --seed {seed} {at.scratch}")
                for benchmark in ("compass", "productivity"):
                    lab.row(
                        f"{label} / {ROTATION}",
                        f"score run {world} --benchmark {benchmark}-turn{turn} "
                        f"--model jackalope:{trained} {_ALLOWED}",
                    )


def _render(lab: Lab, at: Scale, plan: str) -> Stage:
    family = "--family clevr-relations --objects 3..4 --no-pairs"
    return lab.render(f"{family} {plan}", at.resolution, at.quality)


def _describe(lab: Lab, world: Stage, benchmarks: Mapping[str, str]) -> Stage:
    """The world with the texts of the paper, and with graded captions for productivity.

    Args:
        lab: where the stages are declared.
        world: a rendered world.
        benchmarks: the benchmarks to write, in this order, by name; with the benchmark whose
            holdout each keeps, "" for the only one.
    """
    texts = ("--preset compass2026", "--protocol productivity")
    for (name, holdout), options in zip(benchmarks.items(), texts, strict=True):
        of_holdout = f"--benchmark {holdout}" if holdout else ""
        world = lab.stage(f"gen describe {world} {of_holdout} {options} --name {name}")
    return world


EXPERIMENT = Experiment(
    "Tables 1 to 8 and figures 3 and 5 to 7 of COMPASS (anonymous 2026): integration gap and skill "
    "load of dual encoders trained from scratch on plain captions, and on captions of growing "
    "complexity. Rows of the rotation are over two turns, in which every binding is unseen once.",
    "compass2026",
    SCALES,
    make,
)
