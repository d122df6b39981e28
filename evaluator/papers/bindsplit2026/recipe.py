"""Recipe of Peng et al. 2026: binding on seen, partially unseen and unseen pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluator.experiments.lab import ROTATION, Experiment, Lab, Model
from evaluator.experiments.stages import Stage

_NETWORKS = {"dual": "", "ViT dual": "--architecture dual-vit"}
_ALLOWED = "--allow-contaminated"


@dataclass(frozen=True)
class Scale:
    """What a scale renders, trains and scores."""

    models: Sequence[str] | None = None
    """The pretrained models to use; None for all."""
    networks: Sequence[str] = tuple(_NETWORKS)
    """The networks to train from scratch, keys of _NETWORKS."""
    world: str = "--holdout 3x3 --holdout asymmetric --block-seed 0..2 --scenes grid"
    """Options of `gen plan` for the grid. The paper's world has no asymmetric groups. A world that
    keeps a fifth of them for evaluation has 3% fewer training images, and measures how much a
    preference for the familiar gains."""
    benchmark: str = "color-shape-3x3+asymmetric"
    """The name of the grid's benchmarks, without the block seed."""
    twins: str = "--scenes train=100,val=10,seen=600,partial=600,unseen=600"
    """Options of `gen plan` for the twins of each block."""
    rotation: str = "--holdout turns=4 --scenes train=4000,val=120,partial=240,unseen=480"
    """Options of `gen plan` for the rotation. A block leaves nine bindings out, so its intervals
    are wide; over the turns of a rotation every binding is unseen once (docs/splits.md)."""
    turns: Sequence[int] = (0, 1, 2, 3)
    """The turns of the rotation; none to leave it out."""
    small_world: str = "--scenes train=1000,val=10,seen=50,partial=50,unseen=50"
    """Options of `gen plan` for the small world that stand-ins are pretrained on."""
    resolution: str = "64x64"
    quality: str = "draft"
    blocks: Sequence[int] = (0, 1, 2)
    """Block seeds of the grid."""
    seeds: Sequence[int] = (0, 1)
    """Training seeds of every block and turn."""
    pretrain: str = ""
    labclip: str = ""
    finetune: str = ""
    scratch: str = ""
    """Options of the trainings of these names."""
    rates: Sequence[str] = ()
    """Learning rates of fine-tuning: each block takes the best one on `val`, and every turn the
    middle one, so that its turns differ in nothing else. If empty, the recipe's rate."""
    elsewhere: str = ""
    """Options of the runs that show what training changed on the small world."""


_FEW, _ONE = "train=100,val=4,seen=9,partial=9,unseen=9", "--epochs 1 --batch 16"
_STAND_IN = ("dual, small pretraining",)
SCALES = {
    "smoke": Scale(
        models=_STAND_IN,
        networks=("dual",),
        world=f"--holdout 3x3 --block-seed 0..1 --scenes {_FEW}",
        benchmark="color-shape-3x3",
        twins=f"--scenes {_FEW}",
        rotation="--holdout turns=4 --scenes train=200,val=12,partial=12,unseen=24",
        turns=(0, 1),
        small_world="--scenes train=40,val=4,seen=6,partial=6,unseen=6",
        resolution="32x32",
        blocks=(0,),
        seeds=(0,),
        pretrain=_ONE,
        labclip=_ONE,
        finetune=_ONE,
        elsewhere="--limit 10",
        scratch=_ONE,
    ),
    "tiny": Scale(
        models=_STAND_IN,
        networks=("dual",),
        pretrain="--epochs 12",
        finetune="--epochs 2",
        rates=("1e-5", "1e-4", "1e-3"),
        elsewhere="--limit 100",
        scratch="--epochs 12",
    ),
    "small": Scale(
        resolution="128x128", seeds=(0, 1, 2), pretrain="--size small", scratch="--size small"
    ),
    "paper": Scale(
        world="--preset bindsplit2026",
        benchmark="color-shape-3x3",
        rotation="--holdout turns=4 --scenes train=16000,val=400,partial=800,unseen=2000",
        resolution="320x240",
        quality="standard",
        seeds=(0, 1, 2),
        pretrain="--size small",
        scratch="--size small",
    ),
}
# A first sharp answer: without the paper's blocks, and with one training of each turn.
SCALES["rotation"] = replace(SCALES["tiny"], blocks=(), seeds=(0,))


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: all blocks share one world, and so do all turns of the rotation;
    twins have a world for each block."""
    world = lab.stage(f"gen verify {_render(lab, at, at.world)}")
    twins = {}
    for block in at.blocks:
        plan = f"--holdout 3x3 --block-seed {block} --exchange both {at.twins} --seed 1"
        twins[block] = lab.stage(f"gen verify {_render(lab, at, plan)}")
    rotation = lab.stage(f"gen verify {_render(lab, at, at.rotation)}") if at.turns else None
    small = _render(lab, at, f"{at.small_world} --seed 2")

    def run_on_block(block: int) -> str:
        return f"score run {world} --benchmark {at.benchmark}-b{block} {_ALLOWED}"

    def add_rows_of_block(label: str, model: Model, block: int) -> None:
        run_on_twins = f"score run {twins[block]} --protocol pairs {_ALLOWED}"
        for command in (run_on_block(block), run_on_twins):
            lab.row(label, f"{command} --model {model} {model.run}")

    def add_row_of_turn(label: str, model: Model, turn: int) -> None:
        command = f"score run {rotation} --benchmark turn{turn} {_ALLOWED}"
        lab.row(f"{label} / {ROTATION}", f"{command} --model {model} {model.run}")

    methods = {"labclip": ("labclip", at.labclip), "finetuned": ("finetune", at.finetune)}
    for name, model in lab.models(_pretrained(lab, at, small), at.models).items():
        if model.missing:
            for part in ("raw", *methods):
                lab.lacks(f"{name} / {part}", model.missing)
            continue
        for block in at.blocks:
            add_rows_of_block(f"{name} / raw", model, block)
        for turn in at.turns:
            add_row_of_turn(f"{name} / raw", model, turn)
        for part, (method, options) in methods.items():
            label = f"{name} / {part}"
            for block in at.blocks:
                train = (
                    f"score train {method} {world} --benchmark {at.benchmark}-b{block} "
                    f"--model {model}"
                )
                train_options = f"{options} {model.train}"
                if method == "finetune":
                    first_seed = f"{train} --seed {at.seeds[0]} {train_options}"
                    rate = lab.best_rate(at.rates, first_seed, run_on_block(block), model, ("val",))
                    train_options = f"{train_options} {rate}"
                for seed in at.seeds:
                    trained = lab.stage(f"{train} --seed {seed} {train_options}")
                    add_rows_of_block(label, model.after(trained), block)
                    run_elsewhere = (
                        f"score run {small} --benchmark color-shape-3x3-b0 {at.elsewhere} "
                        f"{_ALLOWED}"
                    )
                    lab.elsewhere(label, run_elsewhere, model, trained)
            for turn in at.turns:
                train = f"score train {method} {rotation} --benchmark turn{turn} --model {model}"
                train_options = f"{options} {model.train}"
                if method == "finetune" and at.rates and "--rate" not in train_options:
                    train_options = f"{train_options} --rate {at.rates[len(at.rates) // 2]}"
                for seed in at.seeds:
                    trained = lab.stage(f"{train} --seed {seed} {train_options}")
                    add_row_of_turn(label, model.after(trained), turn)
    for network, architecture in _NETWORKS.items():
        label = f"{network} / scratch"
        if network not in at.networks:
            lab.lacks(label)
            continue
        for seed in at.seeds:
            for block in at.blocks:
                benchmark = f"{world} --benchmark {at.benchmark}-b{block}"
                train = f"score train scratch {benchmark} --seed {seed} {architecture} {at.scratch}"
                trained = lab.stage(train)
                add_rows_of_block(label, Model(spec=f"jackalope:{trained}"), block)
            for turn in at.turns:
                benchmark = f"{rotation} --benchmark turn{turn}"
                train = f"score train scratch {benchmark} --seed {seed} {architecture} {at.scratch}"
                trained = lab.stage(train)
                add_row_of_turn(label, Model(spec=f"jackalope:{trained}"), turn)
    lab.lacks(
        "dual with negatives / scratch",
        "score train scratch has negatives already: see dual / scratch",
    )


def _render(lab: Lab, at: Scale, plan: str) -> Stage:
    return lab.render(plan, at.resolution, at.quality)


def _pretrained(lab: Lab, at: Scale, small: Stage) -> dict[str, Model]:
    """The stand-ins by name: each network pretrained on the small and on a large world, and the
    dual encoder then trained with hard negatives, as NegCLIP was."""
    worlds = {"small": small, "large": _render(lab, at, "--scenes grid --seed 3")}
    specs = {}
    for network, architecture in _NETWORKS.items():
        for size, pretraining in worlds.items():
            trained = lab.stage(f"score train pretrain {pretraining} {architecture} {at.pretrain}")
            specs[f"{network}, {size} pretraining"] = f"jackalope:{trained}"
    for size, pretraining in worlds.items():
        model = specs[f"dual, {size} pretraining"]
        trained = lab.stage(
            f"score train finetune {pretraining} --model {model} --preset bindsplit2026"
        )
        specs[f"dual with negatives, {size} pretraining"] = f"jackalope:{trained}"
    return {name: Model(spec=spec) for name, spec in specs.items()}


EXPERIMENT = Experiment(
    "Tables 2 to 4 and figures 2, 4 and 7 of Peng et al. 2026: binding on seen, partially unseen "
    "and unseen pairs, over three blocks, and the shortcut tax. All blocks share one world. "
    "Group, image and text accuracy are of twins, which have a world for each block. Rows with the "
    "part 'rotation' are over four turns, in which every binding is unseen once.",
    "bindsplit2026",
    SCALES,
    make,
)
