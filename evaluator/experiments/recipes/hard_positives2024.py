"""Recipe of Kamath et al. 2024: how hard negatives and hard positives in training change
brittleness."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.experiments.lab import Experiment, Lab, Model

_RECIPES = {
    "control": "--negatives none --positives none",
    "HN": "--positives none",
    "HN, swap": "--negatives swap --positives none",
    "HN, replace": "--negatives replace --positives none",
    "HN, paraphrases": "--positives none --texts plain,relations,synonyms",
    **{f"HP+HN at {weight}": f"--negative-weight {weight}" for weight in (0, 0.25, 0.5, 0.75, 1)},
    "swap only": "--negatives swap --positives swap",
    "replace only": "--negatives replace --positives replace",
}
_ALLOWED = "--allow-contaminated"
_CONVERSE = Path(__file__).with_name("converse.toml")


@dataclass(frozen=True)
class Scale:
    """recipes: the trainings to run. Other fields are options of commands, named by purpose."""

    recipes: Sequence[str] = tuple(_RECIPES)
    world: str = "--scenes train=4000,val=100,seen=500,partial=500,unseen=500"
    other_world: str = "--scenes train=4000,val=100,seen=300,partial=300,unseen=300"
    resolution: str = "64x64"
    quality: str = "draft"
    blocks: Sequence[int] = (0, 1, 2)
    seeds: Sequence[int] = (0, 1)
    pretrain: str = ""
    finetune: str = ""
    elsewhere: str = ""


SCALES = {
    "smoke": Scale(
        recipes=("HN", "HP+HN at 1"),
        world="--scenes train=64,val=4,seen=9,partial=9,unseen=9",
        other_world="--scenes train=120,val=4,seen=6,partial=6,unseen=6",
        resolution="48x48",
        blocks=(0,),
        seeds=(0,),
        pretrain="--epochs 1 --batch 16",
        finetune="--epochs 1 --batch 16",
        elsewhere="--limit 10",
    ),
    "tiny": Scale(
        recipes=("control", "HN", "HP+HN at 1"),
        world="--scenes train=1500,val=30,seen=300,partial=300,unseen=300",
        pretrain="--epochs 12",
        finetune="--rate 3e-4 --epochs 10",
    ),
    "small": Scale(resolution="128x128", seeds=(0, 1, 2), pretrain="--size small"),
    "paper": Scale(
        resolution="320x240", quality="standard", seeds=(0, 1, 2), pretrain="--size small"
    ),
}


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: one world per block, and another world on which the stand-in is
    pretrained. All models are also scored on converse relations, which no training has as
    positives."""

    def described(plan: str) -> object:
        rendered = lab.render(
            f"--family clevr-relations --no-pairs {plan}", at.resolution, at.quality
        )
        return lab.stage(
            f"gen describe {rendered} --preset hard-positives2024 --name hard-positives2024"
        )

    of_paper = "--benchmark hard-positives2024"

    def row(label: str, world: object, model: Model) -> None:
        asked = f"--model {model} {model.run} {_ALLOWED}"
        lab.row(
            label,
            *(f"score run {world} {name} {asked}" for name in (of_paper, "--benchmark converse")),
        )

    other = described(f"{at.other_world} --seed 1")
    stand_in = lab.stage(f"score train pretrain {other} {of_paper} {at.pretrain}")
    (model,) = lab.models({"base": Model(spec=f"jackalope:{stand_in}")}).values()
    if model.missing:
        for label in ("base", *_RECIPES):
            lab.lacks(label, model.missing)
        return
    for block in at.blocks:
        told = described(f"--holdout 3x3 --block-seed {block} {at.world}")
        more = lab.stage(
            f"gen describe {told} {of_paper} --preset {shlex.quote(str(_CONVERSE))} --name converse"
        )
        world = lab.stage(f"gen verify {more}")
        row("base", world, model)
        for label, options in _RECIPES.items():
            if label not in at.recipes:
                lab.lacks(label)
                continue
            for seed in at.seeds:
                preset = f"{of_paper} --preset hard-positives2024 --texts plain,relations"
                given = f"{preset} {options} --seed {seed} {at.finetune} {model.train}"
                trained = lab.stage(f"score train finetune {world} --model {model} {given}")
                row(label, world, model.after(trained))
                asked = (
                    f"score run {other} --benchmark color-shape-3x3-b0 {at.elsewhere} {_ALLOWED}"
                )
                lab.elsewhere(label, asked, model, trained)


EXPERIMENT = Experiment(
    "Tables 1, 2, 3, 7, 9 and 10 of Kamath et al. 2024: how hard negatives and hard positives in "
    "training change brittleness. The caption c is plain; the positive p has the synonym or the "
    "other order. Each model is also scored on another world, before and after training (table "
    "10). The scale tiny takes some 70 minutes of one core of an AMD EPYC.",
    "hard-positives2024",
    SCALES,
    make,
)
