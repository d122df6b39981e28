"""Recipe of Ma et al. 2023: systematicity and productivity of models trained on more and more
images."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.experiments.lab import Experiment, Lab
from evaluator.experiments.stages import Stage

_NETWORKS = {
    "ResNet": "",
    "ViT": "--architecture dual-vit",
    "ResNet, large": "--size small",
    "ViT, large": "--architecture dual-vit --size small",
}


@dataclass(frozen=True)
class Scale:
    """sizes: numbers of training images. asked: scenes of the world that all models are scored on.
    few: scenes of training worlds besides their training images. Other fields are options of
    commands, named by purpose.
    """

    networks: Sequence[str] = tuple(_NETWORKS)
    sizes: Sequence[int] = (500, 2000, 8000)
    asked: str = "train=100,val=10,seen=500,partial=1,unseen=500,unseen_atoms=300"
    few: str = "val=10,seen=10,partial=1,unseen=10,unseen_atoms=10"
    objects: str = "3..6"
    resolution: str = "96x96"
    quality: str = "draft"
    blocks: Sequence[int] = (0, 1, 2)
    seeds: Sequence[int] = (0, 1)
    scratch: str = "--texts plain,graded"


SCALES = {
    "smoke": Scale(
        networks=("ResNet",),
        sizes=(80, 160),
        asked="train=60,val=4,seen=12,partial=1,unseen=12,unseen_atoms=9",
        few="val=4,seen=4,partial=1,unseen=4,unseen_atoms=4",
        objects="3",
        resolution="64x64",
        blocks=(0,),
        seeds=(0,),
        scratch="--texts plain,graded --epochs 1 --batch 32",
    ),
    "tiny": Scale(
        networks=("ResNet",), sizes=(500, 2000), scratch="--texts plain,graded --epochs 12"
    ),
    "small": Scale(sizes=(500, 2000, 8000, 32000), resolution="128x128", seeds=(0, 1, 2)),
    "paper": Scale(
        sizes=(500, 2000, 8000, 32000, 128000),
        resolution="320x240",
        quality="standard",
        seeds=(0, 1, 2),
    ),
}


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: training worlds differ only in size, and all models are scored on one
    world per block."""

    def world(block: int, scenes: str, seed: int) -> Stage:
        asked = (
            f"--family clevr-many --objects {at.objects} --design systematicity --block-seed "
            f"{block}"
        )
        rendered = lab.render(
            f"{asked} --no-pairs --scenes {scenes} --seed {seed}", at.resolution, at.quality
        )
        described = lab.stage(
            f"gen describe {rendered} --preset crepe2023 --known-words --name crepe2023"
        )
        return lab.stage(f"gen verify {described}")

    for block in at.blocks:
        asked = world(block, at.asked, seed=0)
        for size in at.sizes:
            learnt = world(block, f"train={size},{at.few}", seed=1)
            for network, options in _NETWORKS.items():
                label = f"{size} images / {network}"
                if network not in at.networks:
                    lab.lacks(label)
                    continue
                for seed in at.seeds:
                    given = f"--benchmark crepe2023 --seed {seed} {options} {at.scratch}"
                    trained = lab.stage(f"score train scratch {learnt} {given}")
                    lab.row(
                        label,
                        f"score run {asked} --benchmark crepe2023 --model jackalope:{trained}",
                    )


EXPERIMENT = Experiment(
    "Tables 4, 5 and 7 to 13 and figures 4 and 5 of Ma et al. 2023: systematicity and productivity "
    "of small and large models trained from scratch on more and more images. Training worlds "
    "differ only in size, and all models are scored on the same world.",
    "crepe2023",
    SCALES,
    make,
)
