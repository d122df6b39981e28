"""Recipe of Peng et al. 2026: binding on seen, partially unseen and unseen pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from evaluator.experiments.lab import ROTATION, Experiment, Lab
from evaluator.experiments.models import Model, trained_model
from evaluator.experiments.stages import Option, Options, Stage

_NETWORKS: Mapping[str, Options] = {"dual": {}, "ViT dual": {"architecture": "dual-vit"}}
"""By label, the options that choose the network."""


@dataclass(frozen=True)
class Scale:
    """What a scale renders, trains and scores."""

    models: Sequence[str] | None = None
    """The pretrained models to use; None for all."""
    networks: Sequence[str] = tuple(_NETWORKS)
    """The networks to train from scratch, keys of _NETWORKS."""
    world: Options = field(
        default_factory=lambda: {
            "holdout": ["3x3", "asymmetric"],
            "block_seed": "0..2",
            "scenes": "grid",
        }
    )
    """Options of `gen plan` for the grid. The paper's world has no asymmetric groups. A world that
    keeps a fifth of them for evaluation has 3% fewer training images, and measures how much a
    preference for the familiar gains."""
    benchmark: str = "color-shape-3x3+asymmetric"
    """The name of the grid's benchmarks, without the block seed."""
    twins: str = "train=100,val=10,seen=600,partial=600,unseen=600"
    """Scenes of the twins of each block."""
    rotation: str = "train=4000,val=120,partial=240,unseen=480"
    """Scenes of the rotation. A block leaves nine bindings out, so its intervals are wide; over the
    turns of a rotation every binding is unseen once (docs/splits.md)."""
    turns: Sequence[int] = (0, 1, 2, 3)
    """The turns of the rotation; none to leave it out."""
    small_world: str = "train=1000,val=10,seen=50,partial=50,unseen=50"
    """Scenes of the small world that stand-ins are pretrained on."""
    resolution: str = "64x64"
    """Width and height of the images in pixels."""
    quality: str = "draft"
    """The `--quality` of `gen render`."""
    blocks: Sequence[int] = (0, 1, 2)
    """Block seeds of the grid."""
    seeds: Sequence[int] = (0, 1)
    """Training seeds of every block and turn."""
    pretrain: Options = field(default_factory=dict)
    """Options of `score train pretrain`."""
    labclip: Options = field(default_factory=dict)
    """Options of `score train labclip`."""
    finetune: Options = field(default_factory=dict)
    """Options of `score train finetune`."""
    scratch: Options = field(default_factory=dict)
    """Options of `score train scratch`."""
    rates: Sequence[str] = ()
    """Learning rates of fine-tuning: each block takes the best one on `val`, and every turn the
    middle one, so that its turns differ in nothing else. If empty, the preset's rate."""
    elsewhere: Options = field(default_factory=dict)
    """Options of the runs that show what training changed on the small world."""


_FEW_SCENES = "train=100,val=4,seen=9,partial=9,unseen=9"
_ONE_EPOCH: Options = {"epochs": 1, "batch": 16}
_STAND_IN = ("dual, small pretraining",)
SCALES = {
    "smoke": Scale(
        models=_STAND_IN,
        networks=("dual",),
        world={"holdout": "3x3", "block_seed": "0..1", "scenes": _FEW_SCENES},
        benchmark="color-shape-3x3",
        twins=_FEW_SCENES,
        rotation="train=200,val=12,partial=12,unseen=24",
        turns=(0, 1),
        small_world="train=40,val=4,seen=6,partial=6,unseen=6",
        resolution="32x32",
        blocks=(0,),
        seeds=(0,),
        pretrain=_ONE_EPOCH,
        labclip=_ONE_EPOCH,
        finetune=_ONE_EPOCH,
        scratch=_ONE_EPOCH,
        elsewhere={"limit": 10},
    ),
    "tiny": Scale(
        models=_STAND_IN,
        networks=("dual",),
        pretrain={"epochs": 12},
        finetune={"epochs": 2},
        scratch={"epochs": 12},
        rates=("1e-5", "1e-4", "1e-3"),
        elsewhere={"limit": 100},
    ),
    "small": Scale(
        resolution="128x128",
        seeds=(0, 1, 2),
        pretrain={"size": "small"},
        scratch={"size": "small"},
    ),
    "paper": Scale(
        world={"preset": "bindsplit2026"},
        benchmark="color-shape-3x3",
        rotation="train=16000,val=400,partial=800,unseen=2000",
        resolution="320x240",
        quality="standard",
        seeds=(0, 1, 2),
        pretrain={"size": "small"},
        scratch={"size": "small"},
    ),
}
# A first sharp answer: without the paper's blocks, and with one training of each turn.
SCALES["rotation"] = replace(SCALES["tiny"], blocks=(), seeds=(0,))


@dataclass(frozen=True)
class _Worlds:
    """The worlds of the experiment, and the rows of a model on them."""

    lab: Lab
    """Where the stages and rows are declared."""
    at: Scale
    """The settings of the scale."""
    grid: Stage
    """The world of all blocks."""
    twins: Mapping[int, Stage]
    """The world of twins of each block."""
    rotation: Stage
    """The world of all turns."""
    small: Stage
    """The world that stand-ins are pretrained on."""

    def benchmark(self, block: int) -> str:
        """The name of a block's benchmark in the grid."""
        return f"{self.at.benchmark}-b{block}"

    def add_rows_of_block(self, label: str, model: Model, block: int) -> None:
        """Score a model on a block of the grid and on its twins."""
        on_grid = self.lab.score(
            model, self.grid, benchmark=self.benchmark(block), allow_contaminated=True
        )
        on_twins = self.lab.score(
            model, self.twins[block], protocol="pairs", allow_contaminated=True
        )
        self.lab.row(label, on_grid, on_twins)

    def add_row_of_turn(self, label: str, model: Model, turn: int) -> None:
        """Score a model on a turn of the rotation."""
        run = self.lab.score(model, self.rotation, benchmark=f"turn{turn}", allow_contaminated=True)
        self.lab.row(f"{label} / {ROTATION}", run)


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: all blocks share one world, and so do all turns of the rotation;
    twins have a world for each block."""
    grid = lab.stage("gen verify", _render(lab, at, **at.world))
    twins = {}
    for block in at.blocks:
        rendered = _render(
            lab, at, holdout="3x3", block_seed=block, exchange="both", scenes=at.twins, seed=1
        )
        twins[block] = lab.stage("gen verify", rendered)
    rotation = lab.stage("gen verify", _render(lab, at, holdout="turns=4", scenes=at.rotation))
    # Other seeds than the grid's: stand-ins must not have seen the images that they are scored on.
    small = _render(lab, at, scenes=at.small_world, seed=2)
    worlds = _Worlds(lab, at, grid, twins, rotation, small)

    for name, model in lab.models(_stand_ins(lab, at, small), at.models).items():
        if model.missing:
            for part in ("raw", "labclip", "finetuned"):
                lab.lacks(f"{name} / {part}", model.missing)
            continue
        for block in at.blocks:
            worlds.add_rows_of_block(f"{name} / raw", model, block)
        for turn in at.turns:
            worlds.add_row_of_turn(f"{name} / raw", model, turn)
        _add_trained(worlds, f"{name} / labclip", method="labclip", model=model, options=at.labclip)
        _add_trained(
            worlds, f"{name} / finetuned", method="finetune", model=model, options=at.finetune
        )
    for network, architecture in _NETWORKS.items():
        if network in at.networks:
            _add_scratch(worlds, f"{network} / scratch", architecture)
        else:
            lab.lacks(f"{network} / scratch")
    lab.lacks(
        "dual with negatives / scratch",
        "score train scratch has negatives already: see dual / scratch",
    )


def _add_trained(
    worlds: _Worlds, label: str, *, method: str, model: Model, options: Options
) -> None:
    """Declare the rows of a model that is trained on each block and each turn.

    Args:
        worlds: The worlds to train and to score on.
        label: The label of the rows.
        method: The METHOD of `score train`.
        model: The model that the training starts from.
        options: Options of the training.
    """
    lab, at = worlds.lab, worlds.at
    for block in at.blocks:
        benchmark = worlds.benchmark(block)
        train = partial(lab.train, method, model, worlds.grid, benchmark=benchmark, **options)
        rate: Options = {}
        if method == "finetune":
            rate = lab.best_rate(
                at.rates,
                train=partial(train, seed=at.seeds[0]),
                score=partial(
                    lab.score, dataset=worlds.grid, benchmark=benchmark, allow_contaminated=True
                ),
                model=model,
                splits=("val",),
            )
        for seed in at.seeds:
            trained = train(seed=seed, **rate)
            worlds.add_rows_of_block(label, model.after(trained), block)
            lab.elsewhere(
                label,
                model,
                trained,
                worlds.small,
                benchmark="color-shape-3x3-b0",
                **at.elsewhere,
                allow_contaminated=True,
            )
    rate = {}
    if method == "finetune" and at.rates and "rate" not in options:
        rate = {"rate": at.rates[len(at.rates) // 2]}
    for turn in at.turns:
        for seed in at.seeds:
            trained = lab.train(
                method,
                model,
                worlds.rotation,
                benchmark=f"turn{turn}",
                seed=seed,
                **options,
                **rate,
            )
            worlds.add_row_of_turn(label, model.after(trained), turn)


def _add_scratch(worlds: _Worlds, label: str, architecture: Options) -> None:
    """Declare the rows of a network that is trained from scratch on each block and each turn."""
    lab, at = worlds.lab, worlds.at
    train = partial(lab.stage, "score train scratch")
    for seed in at.seeds:
        options = {"seed": seed, **architecture, **at.scratch}
        for block in at.blocks:
            trained = train(worlds.grid, benchmark=worlds.benchmark(block), **options)
            worlds.add_rows_of_block(label, trained_model(trained), block)
        for turn in at.turns:
            trained = train(worlds.rotation, benchmark=f"turn{turn}", **options)
            worlds.add_row_of_turn(label, trained_model(trained), turn)


def _stand_ins(lab: Lab, at: Scale, small: Stage) -> dict[str, Model]:
    """The stand-ins by name: each network pretrained on the small and on a large world, and the
    dual encoder then trained with hard negatives, as NegCLIP was."""
    worlds = {"small": small, "large": _render(lab, at, scenes="grid", seed=3)}
    models = {}
    for network, architecture in _NETWORKS.items():
        for size, world in worlds.items():
            options = {**architecture, **at.pretrain}
            pretrained = lab.stage("score train pretrain", world, **options)
            models[f"{network}, {size} pretraining"] = trained_model(pretrained)
    for size, world in worlds.items():
        model = models[f"dual, {size} pretraining"]
        trained = lab.train("finetune", model, world, preset="bindsplit2026")
        models[f"dual with negatives, {size} pretraining"] = trained_model(trained)
    return models


def _render(lab: Lab, at: Scale, **plan: Option) -> Stage:
    """A rendered world of these options of `gen plan`."""
    return lab.render(plan, resolution=at.resolution, quality=at.quality)


EXPERIMENT = Experiment(
    "Tables 2 to 4 and figures 2, 4 and 7 of Peng et al. 2026: binding on seen, partially unseen "
    "and unseen pairs, over three blocks, and the shortcut tax. All blocks share one world. "
    "Group, image and text accuracy are of twins, which have a world for each block. Rows with the "
    "part 'rotation' are over four turns, in which every binding is unseen once.",
    "bindsplit2026",
    SCALES,
    make,
)
