"""Recipe of Kamath et al. 2024: how hard negatives and hard positives in training change
brittleness."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluator.experiments.lab import ROTATION, Experiment, Lab
from evaluator.experiments.models import Model, trained_model
from evaluator.experiments.stages import Option, Options, Stage

_RECIPES: Mapping[str, Options] = {
    "control": {"negatives": "none", "positives": "none"},
    "HN": {"positives": "none"},
    "HN, swap": {"negatives": "swap", "positives": "none"},
    "HN, replace": {"negatives": "replace", "positives": "none"},
    "HN, paraphrases": {"positives": "none", "texts": "plain,relations,synonyms"},
    "HP+HN at 0": {"negative_weight": 0},
    "HP+HN at 0.25": {"negative_weight": 0.25},
    "HP+HN at 0.5": {"negative_weight": 0.5},
    "HP+HN at 0.75": {"negative_weight": 0.75},
    "HP+HN at 1": {"negative_weight": 1},
    "swap only": {"negatives": "swap", "positives": "swap"},
    "replace only": {"negatives": "replace", "positives": "replace"},
}
"""By label, the options that tell the paper's trainings apart."""
_CONVERSE = Path(__file__).with_name("converse.toml")
"""A preset of `gen describe` with hard positives that say a relation from the other object."""


@dataclass(frozen=True)
class Scale:
    """What a scale renders, trains and scores."""

    recipes: Sequence[str] = tuple(_RECIPES)
    """The trainings to run, keys of _RECIPES."""
    world: str = "train=4000,val=100,seen=500,partial=500,unseen=500"
    """Scenes of the world of each block."""
    rotation: str = "train=6000,val=100,partial=300,unseen=600"
    """Scenes of the rotation."""
    turns: Sequence[int] = (0, 1, 2, 3)
    """The turns of the rotation; none to leave it out."""
    other_world: str = "train=4000,val=100,seen=300,partial=300,unseen=300"
    """Scenes of the world on which the stand-in is pretrained."""
    resolution: str = "64x64"
    """Width and height of the images in pixels."""
    quality: str = "draft"
    """The `--quality` of `gen render`."""
    blocks: Sequence[int] = (0, 1, 2)
    """Block seeds."""
    seeds: Sequence[int] = (0, 1)
    """Training seeds of every block and turn."""
    pretrain: Options = field(default_factory=dict)
    """Options of `score train pretrain`."""
    finetune: Options = field(default_factory=dict)
    """Options of `score train finetune`."""
    elsewhere: Options = field(default_factory=dict)
    """Options of the runs that show what training changed on the other world."""


SCALES = {
    "smoke": Scale(
        recipes=("HN", "HP+HN at 1"),
        world="train=64,val=4,seen=9,partial=9,unseen=9",
        rotation="train=200,val=8,partial=8,unseen=24",
        turns=(0,),
        other_world="train=120,val=4,seen=6,partial=6,unseen=6",
        resolution="48x48",
        blocks=(0,),
        seeds=(0,),
        pretrain={"epochs": 1, "batch": 16},
        finetune={"epochs": 1, "batch": 16},
        elsewhere={"limit": 10},
    ),
    "tiny": Scale(
        recipes=("control", "HN", "HP+HN at 1"),
        world="train=1500,val=30,seen=300,partial=300,unseen=300",
        rotation="train=2600,val=40,partial=160,unseen=400",
        pretrain={"epochs": 12},
        finetune={"rate": "3e-4", "epochs": 10},
    ),
    "small": Scale(resolution="128x128", seeds=(0, 1, 2), pretrain={"size": "small"}),
    "paper": Scale(
        resolution="320x240", quality="standard", seeds=(0, 1, 2), pretrain={"size": "small"}
    ),
}
# A first sharp answer: without the paper's blocks, and with one training of each turn.
SCALES["rotation"] = replace(SCALES["tiny"], blocks=(), seeds=(0,))


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: one world per block, one for all turns of the rotation, and another
    world on which the stand-in is pretrained. All models are also scored on converse relations,
    which no training has as positives."""
    other = _describe(
        lab, _render(lab, at, scenes=at.other_world, seed=1), name="hard-positives2024"
    )
    stand_in = lab.stage(
        "score train pretrain", other, benchmark="hard-positives2024", **at.pretrain
    )
    (model,) = lab.models({"base": trained_model(stand_in)}).values()
    if model.missing:
        for label in ("base", *_RECIPES):
            lab.lacks(label, model.missing)
        return
    for label in _RECIPES:
        if label not in at.recipes:
            lab.lacks(label)
    for block in at.blocks:
        rendered = _render(lab, at, holdout="3x3", block_seed=block, scenes=at.world)
        described = _describe(lab, rendered, name="hard-positives2024")
        described = _describe_converse(
            lab, described, name="converse", benchmark="hard-positives2024"
        )
        world = lab.stage("gen verify", described)
        benchmarks = ("hard-positives2024", "converse")
        _add_row(lab, "base", world=world, benchmarks=benchmarks, model=model)
        for label, trained in _trainings(
            lab, at, world=world, benchmark="hard-positives2024", model=model
        ):
            _add_row(lab, label, world=world, benchmarks=benchmarks, model=model.after(trained))
            lab.elsewhere(
                label,
                model,
                trained,
                other,
                benchmark="color-shape-3x3-b0",
                **at.elsewhere,
                allow_contaminated=True,
            )
    if at.turns:
        _add_rotation(lab, at, model)


def _add_rotation(lab: Lab, at: Scale, model: Model) -> None:
    """Declare the rows of the rotation."""
    world = _render(lab, at, holdout="turns=4", scenes=at.rotation, seed=2)
    for turn in at.turns:
        world = _describe(lab, world, name=f"positives-turn{turn}", benchmark=f"turn{turn}")
        world = _describe_converse(lab, world, name=f"converse-turn{turn}", benchmark=f"turn{turn}")
    world = lab.stage("gen verify", world)
    for turn in at.turns:
        benchmarks = (f"positives-turn{turn}", f"converse-turn{turn}")
        _add_row(lab, f"base / {ROTATION}", world=world, benchmarks=benchmarks, model=model)
        for label, trained in _trainings(
            lab, at, world=world, benchmark=benchmarks[0], model=model
        ):
            _add_row(
                lab,
                f"{label} / {ROTATION}",
                world=world,
                benchmarks=benchmarks,
                model=model.after(trained),
            )


def _trainings(
    lab: Lab, at: Scale, *, world: Stage, benchmark: str, model: Model
) -> Iterator[tuple[str, Stage]]:
    """Yields the trainings on a benchmark: the label of the recipe and the stage, for each seed."""
    for label in at.recipes:
        for seed in at.seeds:
            # The user's and the scale's options come last, so that they win over those of the
            # paper.
            options: Options = {
                "benchmark": benchmark,
                "preset": "hard-positives2024",
                "texts": "plain,relations",
                **_RECIPES[label],
                "seed": seed,
                **at.finetune,
            }
            yield label, lab.train("finetune", model, world, **options)


def _add_row(
    lab: Lab, label: str, *, world: Stage, benchmarks: Sequence[str], model: Model
) -> None:
    """Score a model on the benchmarks of a world, as one row."""
    for benchmark in benchmarks:
        lab.row(label, lab.score(model, world, benchmark=benchmark, allow_contaminated=True))


def _render(lab: Lab, at: Scale, **plan: Option) -> Stage:
    """A rendered world of these options of `gen plan`."""
    family: Options = {"family": "clevr-relations", "no_pairs": True}
    return lab.render({**family, **plan}, resolution=at.resolution, quality=at.quality)


def _describe(lab: Lab, world: Stage, *, name: str, benchmark: str | None = None) -> Stage:
    """The world with the texts of the paper. benchmark: whose holdout they keep; None for the only
    one."""
    return lab.stage(
        "gen describe", world, benchmark=benchmark, preset="hard-positives2024", name=name
    )


def _describe_converse(lab: Lab, world: Stage, *, name: str, benchmark: str) -> Stage:
    """The world with hard positives that say a relation from the other object."""
    return lab.stage("gen describe", world, benchmark=benchmark, preset=_CONVERSE, name=name)


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
