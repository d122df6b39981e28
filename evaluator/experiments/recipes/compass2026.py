"""Recipe of COMPASS (anonymous 2026): integration gap and skill load."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.experiments.lab import Experiment, Lab, Model

_TAUGHT = {"scratch, plain captions": "--texts plain", "scratch, graded captions": "--texts graded"}
_ALLOWED = "--allow-contaminated"


@dataclass(frozen=True)
class Scale:
    """taught: the captions that models learn from. Other fields are options of commands, named by
    purpose."""

    taught: Sequence[str] = tuple(_TAUGHT)
    world: str = "--scenes train=4000,val=100,seen=500,partial=500,unseen=500"
    elsewhere: str = "--scenes train=60,val=10,seen=100,partial=100,unseen=100"
    resolution: str = "96x96"
    quality: str = "draft"
    blocks: Sequence[int] = (0, 1, 2)
    seeds: Sequence[int] = (0, 1)
    scratch: str = ""


SCALES = {
    "smoke": Scale(
        taught=("scratch, graded captions",),
        world="--scenes train=64,val=4,seen=12,partial=12,unseen=12",
        resolution="64x64",
        blocks=(0,),
        seeds=(0,),
        scratch="--epochs 1 --batch 32",
    ),
    "tiny": Scale(
        world="--scenes train=1500,val=30,seen=300,partial=300,unseen=300", scratch="--epochs 12"
    ),
    "small": Scale(resolution="128x128", seeds=(0, 1, 2), scratch="--size small"),
    "paper": Scale(
        world="--scenes train=16000,val=100,seen=2000,partial=2000,unseen=2000",
        resolution="320x240",
        quality="standard",
        seeds=(0, 1, 2),
        scratch="--size small",
    ),
}


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: one world for each block, shared by all models.

    A block holds out 5 x 5 bindings. All objects of an unseen scene are of the block, and foils
    take values and categories of the block that the scene lacks (protocols.md, section 1: foils are
    as familiar as captions). Scenes of three or four objects use up a smaller block: with 3 x 3,
    `unseen` has no question about integration or objects, with 3 x 5 hardly any about attributes.
    """
    worlds = {}
    for block in at.blocks:
        asked = (
            f"--family clevr-relations --objects 3..4 --no-pairs --holdout 5x5 --block-seed "
            f"{block} {at.world}"
        )
        rendered = lab.render(asked, at.resolution, at.quality)
        described = lab.stage(f"gen describe {rendered} --preset compass2026 --name compass2026")
        more = lab.stage(f"gen describe {described} --protocol productivity --name productivity")
        worlds[block] = lab.stage(f"gen verify {more}")

    def row(label: str, block: int, model: Model) -> None:
        asked = f"--model {model} {model.run} {_ALLOWED}"
        lab.row(
            label,
            *(
                f"score run {worlds[block]} --benchmark {of} {asked}"
                for of in ("compass2026", "productivity")
            ),
        )

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
            row(name, block, model)
            for seed in at.seeds:
                given = f"--benchmark compass2026 --seed {seed} --texts plain,graded {model.train}"
                trained = lab.stage(f"score train finetune {world} --model {model} {given}")
                row(tuned, block, model.after(trained))
                asked = f"score run {other} --benchmark color-shape-3x3-b0 {_ALLOWED}"
                lab.elsewhere(tuned, asked, model, trained)
    for label, texts in _TAUGHT.items():
        if label not in at.taught:
            lab.lacks(label)
            continue
        for block, world in worlds.items():
            for seed in at.seeds:
                given = f"--benchmark compass2026 {texts} --seed {seed} {at.scratch}"
                trained = lab.stage(f"score train scratch {world} {given}")
                row(label, block, Model(spec=f"jackalope:{trained}"))
    for block, world in worlds.items():
        lab.row(f"texts of block {block}", f"score audit {world} --benchmark compass2026 --seed 0")


EXPERIMENT = Experiment(
    "Tables 1 to 8 and figures 3 and 5 to 7 of COMPASS (anonymous 2026): integration gap and skill "
    "load of dual encoders trained from scratch on plain captions, and on captions of growing "
    "complexity. The scale tiny takes some three hours of one core of an AMD EPYC.",
    "compass2026",
    SCALES,
    make,
)
