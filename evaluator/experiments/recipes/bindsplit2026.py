"""Recipe of Peng et al. 2026: binding on seen, partially unseen and unseen pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.experiments.lab import Experiment, Lab, Model
from evaluator.experiments.stages import Stage

_NETWORKS = {"dual": "", "ViT dual": "--architecture dual-vit"}
_ALLOWED = "--allow-contaminated"


@dataclass(frozen=True)
class Scale:
    """models, networks: the ones to use, None for all. rates: learning rates of fine-tuning; each
    block takes the best one on `val`; if empty, the recipe's rate. benchmark: its name without the
    block seed. Other fields are options of commands, named by purpose. The paper's world has no
    asymmetric groups. A world that keeps a fifth of them for evaluation has 3% fewer training
    images and measures how much a preference for the familiar gains.
    """

    models: Sequence[str] | None = None
    networks: Sequence[str] = tuple(_NETWORKS)
    world: str = "--holdout 3x3 --holdout asymmetric --block-seed 0..2 --scenes grid"
    benchmark: str = "color-shape-3x3+asymmetric"
    twins: str = "--scenes train=100,val=10,seen=600,partial=600,unseen=600"
    small_world: str = "--scenes train=1000,val=10,seen=50,partial=50,unseen=50"
    resolution: str = "64x64"
    quality: str = "draft"
    blocks: Sequence[int] = (0, 1, 2)
    seeds: Sequence[int] = (0, 1)
    pretrain: str = ""
    labclip: str = ""
    finetune: str = ""
    rates: Sequence[str] = ()
    elsewhere: str = ""
    scratch: str = ""


_FEW, _ONE = "train=100,val=4,seen=9,partial=9,unseen=9", "--epochs 1 --batch 16"
_STAND_IN = ("dual, small pretraining",)
SCALES = {
    "smoke": Scale(
        models=_STAND_IN,
        networks=("dual",),
        world=f"--holdout 3x3 --block-seed 0..1 --scenes {_FEW}",
        benchmark="color-shape-3x3",
        twins=f"--scenes {_FEW}",
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
        resolution="320x240",
        quality="standard",
        seeds=(0, 1, 2),
        pretrain="--size small",
        scratch="--size small",
    ),
}


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: all blocks share one world; twins have a world for each block."""

    def render(plan: str) -> Stage:
        return lab.render(plan, at.resolution, at.quality)

    world = lab.stage(f"gen verify {render(at.world)}")
    twins = {}
    for block in at.blocks:
        plan = f"--holdout 3x3 --block-seed {block} --exchange both {at.twins} --seed 1"
        twins[block] = lab.stage(f"gen verify {render(plan)}")

    def asked(block: int) -> str:
        return f"score run {world} --benchmark {at.benchmark}-b{block} {_ALLOWED}"

    def row(label: str, model: Model, block: int) -> None:
        of_twins = f"score run {twins[block]} --protocol pairs {_ALLOWED}"
        lab.row(
            label, *(f"{each} --model {model} {model.run}" for each in (asked(block), of_twins))
        )

    small, large = render(f"{at.small_world} --seed 2"), render("--scenes grid --seed 3")
    pretrained = {
        (
            network,
            size,
        ): f"jackalope:{lab.stage(f'score train pretrain {of} {options} {at.pretrain}')}"
        for network, options in _NETWORKS.items()
        for size, of in (("small", small), ("large", large))
    }
    for size, of in (("small", small), ("large", large)):
        trained = lab.stage(
            f"score train finetune {of} --model {pretrained['dual', size]} --preset bindsplit2026"
        )
        pretrained["dual with negatives", size] = f"jackalope:{trained}"
    known = {
        f"{name}, {size} pretraining": Model(spec=spec) for (name, size), spec in pretrained.items()
    }
    methods = {"labclip": ("labclip", at.labclip), "finetuned": ("finetune", at.finetune)}
    for name, model in lab.models(known, at.models).items():
        if model.missing:
            for part in ("raw", *methods):
                lab.lacks(f"{name} / {part}", model.missing)
            continue
        for block in at.blocks:
            row(f"{name} / raw", model, block)
        for part, (method, options) in methods.items():
            label = f"{name} / {part}"
            for block in at.blocks:
                of_block = (
                    f"score train {method} {world} --benchmark {at.benchmark}-b{block} --model "
                    f"{model}"
                )
                given = f"{options} {model.train}"
                if method == "finetune":
                    first = f"{of_block} --seed {at.seeds[0]} {given}"
                    given = (
                        f"{given} {lab.best_rate(at.rates, first, asked(block), model, ('val',))}"
                    )
                for seed in at.seeds:
                    trained = lab.stage(f"{of_block} --seed {seed} {given}")
                    row(label, model.after(trained), block)
                    known_world = (
                        f"score run {small} --benchmark color-shape-3x3-b0 {at.elsewhere} "
                        f"{_ALLOWED}"
                    )
                    lab.elsewhere(label, known_world, model, trained)
    for network, architecture in _NETWORKS.items():
        if network not in at.networks:
            lab.lacks(f"{network} / scratch")
            continue
        for block in at.blocks:
            for seed in at.seeds:
                of_block = f"{world} --benchmark {at.benchmark}-b{block} --seed {seed}"
                alone = lab.stage(f"score train scratch {of_block} {architecture} {at.scratch}")
                row(f"{network} / scratch", Model(spec=f"jackalope:{alone}"), block)
    lab.lacks(
        "dual with negatives / scratch",
        "score train scratch has negatives already: see dual / scratch",
    )


EXPERIMENT = Experiment(
    "Tables 2 to 4 and figures 2, 4 and 7 of Peng et al. 2026: binding on seen, partially unseen "
    "and unseen pairs, over three blocks, and the shortcut tax. All blocks share one world. "
    "Group, image and text accuracy are of twins, which have a world for each block. The scale "
    "tiny takes some 90 minutes of one core of an AMD EPYC.",
    "bindsplit2026",
    SCALES,
    make,
)
