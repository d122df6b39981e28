"""Recipe of Kamath et al. 2024: how hard negatives and hard positives in training change
brittleness."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluator.experiments.lab import ROTATION, Experiment, Lab, Model
from evaluator.experiments.stages import Stage

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
    """What a scale renders, trains and scores."""

    recipes: Sequence[str] = tuple(_RECIPES)
    """The trainings to run, keys of _RECIPES."""
    world: str = "--scenes train=4000,val=100,seen=500,partial=500,unseen=500"
    """Options of `gen plan` for the world of each block."""
    rotation: str = "--scenes train=6000,val=100,partial=300,unseen=600"
    """Options of `gen plan` for the rotation."""
    turns: Sequence[int] = (0, 1, 2, 3)
    """The turns of the rotation; none to leave it out."""
    other_world: str = "--scenes train=4000,val=100,seen=300,partial=300,unseen=300"
    """Options of `gen plan` for the world on which the stand-in is pretrained."""
    resolution: str = "64x64"
    quality: str = "draft"
    blocks: Sequence[int] = (0, 1, 2)
    """Block seeds."""
    seeds: Sequence[int] = (0, 1)
    """Training seeds of every block and turn."""
    pretrain: str = ""
    finetune: str = ""
    """Options of the trainings of these names."""
    elsewhere: str = ""
    """Options of the runs that show what training changed on the other world."""


SCALES = {
    "smoke": Scale(
        recipes=("HN", "HP+HN at 1"),
        world="--scenes train=64,val=4,seen=9,partial=9,unseen=9",
        rotation="--scenes train=200,val=8,partial=8,unseen=24",
        turns=(0,),
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
        rotation="--scenes train=2600,val=40,partial=160,unseen=400",
        pretrain="--epochs 12",
        finetune="--rate 3e-4 --epochs 10",
    ),
    "small": Scale(resolution="128x128", seeds=(0, 1, 2), pretrain="--size small"),
    "paper": Scale(
        resolution="320x240", quality="standard", seeds=(0, 1, 2), pretrain="--size small"
    ),
}
# A first sharp answer: without the paper's blocks, and with one training of each turn.
SCALES["rotation"] = replace(SCALES["tiny"], blocks=(), seeds=(0,))


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: one world per block, one for all turns of the rotation, and another
    world on which the stand-in is pretrained. All models are also scored on converse relations,
    which no training has as positives."""
    of_paper = "--benchmark hard-positives2024"
    other = _describe(lab, _render(lab, at, f"{at.other_world} --seed 1"), "hard-positives2024", "")
    stand_in = lab.stage(f"score train pretrain {other} {of_paper} {at.pretrain}")
    (model,) = lab.models({"base": Model(spec=f"jackalope:{stand_in}")}).values()
    if model.missing:
        for label in ("base", *_RECIPES):
            lab.lacks(label, model.missing)
        return
    for label in _RECIPES:
        if label not in at.recipes:
            lab.lacks(label)
    for block in at.blocks:
        plan = f"--holdout 3x3 --block-seed {block} {at.world}"
        described = _describe(lab, _render(lab, at, plan), "hard-positives2024", "")
        described = _describe_converse(lab, described, "converse", "hard-positives2024")
        world = lab.stage(f"gen verify {described}")
        benchmarks = ("hard-positives2024", "converse")
        _add_row(lab, "base", world, benchmarks, model)
        for label, trained in _trainings(lab, at, world, "hard-positives2024", model):
            _add_row(lab, label, world, benchmarks, model.after(trained))
            run_elsewhere = (
                f"score run {other} --benchmark color-shape-3x3-b0 {at.elsewhere} {_ALLOWED}"
            )
            lab.elsewhere(label, run_elsewhere, model, trained)
    if at.turns:
        _add_rotation(lab, at, model)


def _add_rotation(lab: Lab, at: Scale, model: Model) -> None:
    """Declare the rows of the rotation."""
    world = _render(lab, at, f"--holdout turns=4 {at.rotation} --seed 2")
    for turn in at.turns:
        world = _describe(lab, world, f"positives-turn{turn}", f"turn{turn}")
        world = _describe_converse(lab, world, f"converse-turn{turn}", f"turn{turn}")
    world = lab.stage(f"gen verify {world}")
    for turn in at.turns:
        benchmarks = (f"positives-turn{turn}", f"converse-turn{turn}")
        _add_row(lab, f"base / {ROTATION}", world, benchmarks, model)
        for label, trained in _trainings(lab, at, world, benchmarks[0], model):
            _add_row(lab, f"{label} / {ROTATION}", world, benchmarks, model.after(trained))


def _trainings(
    lab: Lab, at: Scale, world: Stage, benchmark: str, model: Model
) -> Iterator[tuple[str, Stage]]:
    """Yields the trainings on a benchmark: the label of the recipe and the stage, for each seed."""
    for label in at.recipes:
        for seed in at.seeds:
            texts = "--preset hard-positives2024 --texts plain,relations"
            options = f"{texts} {_RECIPES[label]} --seed {seed} {at.finetune} {model.train}"
            yield (
                label,
                lab.stage(
                    f"score train finetune {world} --model {model} --benchmark {benchmark} "
                    f"{options}"
                ),
            )


def _add_row(lab: Lab, label: str, world: Stage, benchmarks: Sequence[str], model: Model) -> None:
    """Score a model on the benchmarks of a world, as one row."""
    for benchmark in benchmarks:
        options = f"--benchmark {benchmark} --model {model} {model.run} {_ALLOWED}"
        lab.row(label, f"score run {world} {options}")


def _render(lab: Lab, at: Scale, plan: str) -> Stage:
    return lab.render(f"--family clevr-relations --no-pairs {plan}", at.resolution, at.quality)


def _describe(lab: Lab, world: Stage, name: str, holdout: str) -> Stage:
    """The world with the texts of the paper. holdout: the benchmark whose holdout they keep, "" for
    the only one."""
    of_holdout = f"--benchmark {holdout}" if holdout else ""
    return lab.stage(f"gen describe {world} {of_holdout} --preset hard-positives2024 --name {name}")


def _describe_converse(lab: Lab, world: Stage, name: str, holdout: str) -> Stage:
    """The world with hard positives that say a relation from the other object."""
    preset = shlex.quote(str(_CONVERSE))
    return lab.stage(f"gen describe {world} --benchmark {holdout} --preset {preset} --name {name}")


EXPERIMENT = Experiment(
    "Tables 1, 2, 3, 7, 9 and 10 of Kamath et al. 2024: how hard negatives and hard positives in "
    "training change brittleness. The caption c is plain; the positive p has the synonym or the "
    "other order. Each model is also scored on another world, before and after training (table "
    "10). Rows with the part 'rotation' are over four turns, in which every binding is unseen "
    "once.",
    "hard-positives2024",
    SCALES,
    make,
)
