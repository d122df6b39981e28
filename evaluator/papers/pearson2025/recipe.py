"""Recipe of Pearson et al. 2025: single objects, two objects and relations, as class lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from evaluator.experiments.lab import Experiment, Lab
from evaluator.experiments.models import Model, trained_model
from evaluator.experiments.stages import Options, Stage, joined

_TASKS = ("single", "two-object", "relational")
"""The tasks of the paper, as the names of benchmarks end."""
_ARCHITECTURES = {"CLIP": "dual", "ViLT": "cross", "Diffusion": "diffusion"}
"""By model of the paper, the architecture that is trained from scratch in its place."""
_TRAINED_BY = {
    "CLIP": ("finetune", "pearson2025"),
    "ViLT": ("finetune", "pearson2025-vilt"),
    "Diffusion": ("dreambooth", "pearson2025-dreambooth"),
}
"""By model, the METHOD of `score train` that trains it further, and the preset for single objects.
"""
_WITH_PRESET_OF_TASK = {
    ("ViLT", "two-object"),
    ("CLIP", "relational"),
    ("ViLT", "relational"),
    ("Diffusion", "relational"),
}
"""Pairs of model and task that have a preset of their own, whose name ends in the task."""
_DENOISING: Options = {"steps": 1500, "batch": 32, "precision": "float32"}
"""Options of training a diffusion model from scratch, below the size of the paper."""
_QUICK_DENOISING: Options = {"limit": 100, "batch_size": 512}
"""Options of scoring such a model: it denoises each image many times for each text."""


@dataclass(frozen=True)
class Scale:
    """What a scale renders, trains and scores."""

    tasks: Sequence[str] = _TASKS
    """The tasks to train and score on."""
    architectures: Sequence[str] = tuple(_ARCHITECTURES)
    """The models of the paper to train from scratch, keys of _ARCHITECTURES."""
    scenes: int | None = None
    """The number of scenes of the world; None for the preset's."""
    other_world: str = "train=8000,val=100,seen=300,partial=300,unseen=300"
    """Scenes of the world on which the stand-in for CLIP is pretrained."""
    resolution: str = "64x64"
    """Width and height of the images in pixels."""
    quality: str = "draft"
    """The `--quality` of `gen render`."""
    seeds: Sequence[int] = (0, 1, 2)
    """Training seeds."""
    pretrain: Options = field(default_factory=dict)
    """Options of `score train pretrain`."""
    finetune: Options = field(default_factory=dict)
    """Options of `score train finetune`."""
    rates: Sequence[str] = ()
    """Learning rates of fine-tuning: each task takes the best one on both validation splits
    (appendix A). If empty, the paper's rate."""
    dreambooth: Options = field(default_factory=dict)
    """Options of `score train dreambooth`."""
    elsewhere: Options = field(default_factory=dict)
    """Options of the runs that show what training changed on the other world."""
    scratch: Mapping[str, Options] = field(default_factory=dict)
    """Options of `score train scratch` by architecture."""
    diffusion_arguments: str = ""
    """Arguments at the end of the spec of a diffusion model from scratch."""
    diffusion_run: Options = field(default_factory=dict)
    """Options of `score run` of a diffusion model from scratch."""


SCALES = {
    "smoke": Scale(
        tasks=("two-object",),
        architectures=("CLIP",),
        scenes=210,
        other_world="train=24,val=1,seen=3,partial=3,unseen=3",
        resolution="32x32",
        seeds=(0,),
        pretrain={"epochs": 1, "batch": 16},
        finetune={"epochs": 1, "rate": "1e-5"},
        dreambooth={"steps": 2},
        elsewhere={"limit": 5},
        scratch={"dual": {"epochs": 1, "batch": 32}},
    ),
    "tiny": Scale(
        scenes=6000,
        other_world="train=4000,val=100,seen=300,partial=300,unseen=300",
        seeds=(0, 1),
        finetune={"epochs": 10},
        rates=("1e-5", "1e-4", "1e-3"),
        elsewhere={"limit": 100},
        scratch={"cross": {"steps": 800, "precision": "float32"}, "diffusion": _DENOISING},
        diffusion_arguments=",samples=16",
        diffusion_run=_QUICK_DENOISING,
    ),
    "small": Scale(
        seeds=(0, 1),
        rates=("1e-5", "1e-4", "1e-3"),
        scratch={
            "dual": {"steps": 3000},
            "cross": {"steps": 1600, "precision": "float32"},
            "diffusion": _DENOISING,
        },
        diffusion_arguments=",samples=16",
        diffusion_run=_QUICK_DENOISING,
    ),
    "paper": Scale(
        resolution="320x240",
        quality="standard",
        pretrain={"size": "small"},
        scratch={name: {"size": "small"} for name in _ARCHITECTURES.values()},
        diffusion_arguments=",preset=pearson2025",
    ),
}


def make(lab: Lab, at: Scale, preset: str) -> None:
    """Declare the experiment: one world for all tasks, and another world on which the stand-in for
    CLIP is pretrained.

    Args:
        lab: Where the stages and rows are declared.
        at: The settings of the scale.
        preset: A preset of `gen plan`.
    """
    render = partial(lab.render, resolution=at.resolution, quality=at.quality)
    world = lab.stage("gen verify", render({"preset": preset, "scenes": at.scenes}))
    other = render({"family": "pearson2025", "no_pairs": True, "scenes": at.other_world, "seed": 1})
    stand_in = trained_model(lab.stage("score train pretrain", other, **at.pretrain))
    models = lab.models(
        {
            "CLIP": stand_in,
            "ViLT": Model(missing="no weights of ViLT are at hand; name some with --models"),
            "Diffusion": Model(
                missing="no weights of a diffusion model are at hand; name some with --models"
            ),
        }
    )
    for task in _TASKS:
        benchmark = f"{preset}-{task}"
        for name, model in models.items():
            if model.missing or task not in at.tasks:
                _lack_pretrained(lab, name, model=model, task=task)
                continue
            # A reader must not take a small network's numbers for CLIP's.
            label = f"stand-in for {name}" if model.spec == stand_in.spec else name
            run = lab.score(model, world, benchmark=benchmark, allow_contaminated=True)
            lab.row(f"{label} / frozen", run)
            trainings = _trainings(
                lab, at, world=world, benchmark=benchmark, name=name, model=model, task=task
            )
            for trained in trainings:
                run = lab.score(
                    model.after(trained), world, benchmark=benchmark, allow_contaminated=True
                )
                lab.row(f"{label} / finetuned", run)
                lab.elsewhere(
                    f"{label} / finetuned",
                    model,
                    trained,
                    other,
                    benchmark="color-shape-3x3-b0",
                    **at.elsewhere,
                    allow_contaminated=True,
                )
            # ViLT reads image and text together: it embeds neither alone, and draws nothing.
            if name != "ViLT":
                picture = _picture(
                    lab, world, benchmark=benchmark, name=name, model=model, trained=trainings[0]
                )
                lab.row(f"{name}, {task}", picture)
        _add_scratch(lab, at, world=world, benchmark=benchmark, task=task)


def _lack_pretrained(lab: Lab, name: str, *, model: Model, task: str) -> None:
    """Say that a model has no rows and no picture for a task."""
    if name != "ViLT":
        lab.does_not_show(f"{name}, {task}", model.missing)
    if model.missing:
        lab.lacks(f"{name} / frozen", model.missing)
        lab.lacks(f"{name} / finetuned", model.missing)


def _trainings(
    lab: Lab, at: Scale, *, world: Stage, benchmark: str, name: str, model: Model, task: str
) -> list[Stage]:
    """The trainings of a model on a task, one for each seed."""
    method, preset = _TRAINED_BY[name]
    if (name, task) in _WITH_PRESET_OF_TASK:
        preset = f"{preset}-{task}"
    options = at.dreambooth if method == "dreambooth" else at.finetune
    train = partial(lab.train, method, model, world, benchmark=benchmark, preset=preset, **options)
    rate: Options = {}
    if method == "finetune":
        rate = lab.best_rate(
            at.rates,
            train=partial(train, seed=at.seeds[0]),
            score=partial(lab.score, dataset=world, benchmark=benchmark, allow_contaminated=True),
            model=model,
            splits=("id_val", "ood_val"),
        )
    return [train(seed=seed, **rate) for seed in at.seeds]


def _picture(
    lab: Lab, world: Stage, *, benchmark: str, name: str, model: Model, trained: Stage
) -> Stage:
    """The embeddings of CLIP, or images that a diffusion model draws, before and after training."""
    models = [joined("frozen=", model.spec), joined("tuned=", model.after(trained).spec)]
    command = "score embeddings" if name == "CLIP" else "score generate"
    return lab.stage(command, world, benchmark=benchmark, model=models, seed=0)


def _add_scratch(lab: Lab, at: Scale, *, world: Stage, benchmark: str, task: str) -> None:
    """Declare the rows of models from scratch on a task."""
    for name, architecture in _ARCHITECTURES.items():
        label = f"{name} / scratch"
        if name not in at.architectures:
            lab.lacks(label)
            continue
        if task not in at.tasks:
            continue
        for seed in at.seeds:
            trained = lab.stage(
                "score train scratch",
                world,
                benchmark=benchmark,
                seed=seed,
                architecture=architecture,
                **at.scratch.get(architecture, {}),
            )
            model = trained_model(trained)
            if architecture == "diffusion":
                model = trained_model(trained, at.diffusion_arguments, run=at.diffusion_run)
            run = lab.score(model, world, benchmark=benchmark, allow_contaminated=True)
            lab.row(label, run)


_ABOUT = (
    "Tables 1 to 8 and figures 5 and 6 of Pearson et al. 2025: single objects, two objects and "
    "relations, over the class lists"
)
PUBLISHED = Experiment(
    f"{_ABOUT} as published.", "pearson2025", SCALES, partial(make, preset="pearson2025")
)
CLEAN = Experiment(
    f"{_ABOUT}, with each arrangement and its converse in the same split.",
    "pearson2025",
    SCALES,
    partial(make, preset="pearson2025-clean"),
)
