"""Recipe of Pearson et al. 2025: single objects, two objects and relations, as class lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from evaluator.experiments.lab import Experiment, Lab, Model

_TASKS = ("single", "two-object", "relational")
_ARCHITECTURES = {"CLIP": "dual", "ViLT": "cross", "Diffusion": "diffusion"}
_TRAINED_BY = {
    "CLIP": ("finetune", "pearson2025"),
    "ViLT": ("finetune", "pearson2025-vilt"),
    "Diffusion": ("dreambooth", "pearson2025-dreambooth"),
}
"""The command that trains a model further, and the preset for single objects."""
_OF_TASK = {("ViLT", "two-object"), *((name, "relational") for name in _TRAINED_BY)}
"""Pairs of model and task that have their own preset."""
_ALLOWED = "--allow-contaminated"
_DENOISING = "--steps 1500 --batch 32 --precision float32"
_DENOISED = ",samples=16 --limit 100 --batch-size 512"


@dataclass(frozen=True)
class Scale:
    """tasks, architectures: the ones to use. rates: learning rates of fine-tuning; each task takes
    the best one on both validation splits (appendix A); if empty, the paper's rate. scratch:
    options of training from scratch, by architecture. denoised: text after the name of a diffusion
    model from scratch in `score run`. Other fields are options of commands, named by purpose.
    """

    tasks: Sequence[str] = _TASKS
    architectures: Sequence[str] = tuple(_ARCHITECTURES)
    scenes: str = ""
    other_world: str = "--scenes train=8000,val=100,seen=300,partial=300,unseen=300"
    resolution: str = "64x64"
    quality: str = "draft"
    seeds: Sequence[int] = (0, 1, 2)
    pretrain: str = ""
    finetune: str = ""
    rates: Sequence[str] = ()
    dreambooth: str = ""
    elsewhere: str = ""
    scratch: Mapping[str, str] = field(default_factory=dict)
    denoised: str = ""


SCALES = {
    "smoke": Scale(
        tasks=("two-object",),
        architectures=("CLIP",),
        scenes="--scenes 210",
        other_world="--scenes train=24,val=1,seen=3,partial=3,unseen=3",
        resolution="32x32",
        seeds=(0,),
        pretrain="--epochs 1 --batch 16",
        finetune="--epochs 1 --rate 1e-5",
        dreambooth="--steps 2",
        elsewhere="--limit 5",
        scratch={"dual": "--epochs 1 --batch 32"},
    ),
    "tiny": Scale(
        scenes="--scenes 6000",
        other_world="--scenes train=4000,val=100,seen=300,partial=300,unseen=300",
        seeds=(0, 1),
        finetune="--epochs 10",
        rates=("1e-5", "1e-4", "1e-3"),
        elsewhere="--limit 100",
        scratch={"cross": "--steps 800 --precision float32", "diffusion": _DENOISING},
        denoised=_DENOISED,
    ),
    "small": Scale(
        seeds=(0, 1),
        rates=("1e-5", "1e-4", "1e-3"),
        scratch={
            "dual": "--steps 3000",
            "cross": "--steps 1600 --precision float32",
            "diffusion": _DENOISING,
        },
        denoised=_DENOISED,
    ),
    "paper": Scale(
        resolution="320x240",
        quality="standard",
        pretrain="--size small",
        scratch=dict.fromkeys(_ARCHITECTURES.values(), "--size small"),
        denoised=",preset=pearson2025",
    ),
}


def make(lab: Lab, at: Scale, preset: str) -> None:
    """Declare the experiment: one world for all tasks, and another world on which the stand-in for
    CLIP is pretrained. preset: of `gen plan`."""

    rendered = lab.render(f"--preset {preset} {at.scenes}", at.resolution, at.quality)
    world = lab.stage(f"gen verify {rendered}")
    other = lab.render(
        f"--family pearson2025 --no-pairs {at.other_world} --seed 1", at.resolution, at.quality
    )
    stand_in = lab.stage(f"score train pretrain {other} {at.pretrain}")
    models = lab.models(
        {
            "CLIP": Model(spec=f"jackalope:{stand_in}"),
            "ViLT": Model(missing="no weights of ViLT are at hand; name some with --models"),
            "Diffusion": Model(
                missing="no weights of a diffusion model are at hand; name some with --models"
            ),
        }
    )
    for task in _TASKS:
        of_task = f"{world} --benchmark {preset}-{task}"
        asked = f"score run {of_task} {_ALLOWED}"

        for name, model in models.items():
            shown = f"{name}, {task}"
            called = f"stand-in for {name}" if model.spec == f"jackalope:{stand_in}" else name
            if model.missing or task not in at.tasks:
                if name != "ViLT":
                    lab.does_not_show(shown, model.missing)
                if model.missing:
                    lab.lacks(f"{name} / frozen", model.missing)
                    lab.lacks(f"{name} / finetuned", model.missing)
                continue
            lab.row(f"{called} / frozen", f"{asked} --model {model} {model.run}")
            method, tuning = _TRAINED_BY[name]
            own = f"{tuning}-{task}" if (name, task) in _OF_TASK else tuning
            options = (
                f"--preset {own} {at.dreambooth if method == 'dreambooth' else at.finetune} "
                f"{model.train}"
            )
            train = f"score train {method} {of_task} --model {model}"
            if method == "finetune":
                first = f"{train} --seed {at.seeds[0]} {options}"
                options = (
                    f"{options} "
                    f"{lab.best_rate(at.rates, first, asked, model, ('id_val', 'ood_val'))}"
                )
            tuned = [lab.stage(f"{train} --seed {seed} {options}") for seed in at.seeds]
            for trained in tuned:
                lab.row(
                    f"{called} / finetuned", f"{asked} --model {model.after(trained)} {model.run}"
                )
                known_world = (
                    f"score run {other} --benchmark color-shape-3x3-b0 {at.elsewhere} {_ALLOWED}"
                )
                lab.elsewhere(f"{called} / finetuned", known_world, model, trained)
            if name != "ViLT":
                command = "score embeddings" if name == "CLIP" else "score generate"
                lab.row(
                    shown,
                    f"{command} {of_task} --model frozen={model} --model "
                    f"tuned={model.after(tuned[0])} --seed 0",
                )
        for name, architecture in _ARCHITECTURES.items():
            if name not in at.architectures:
                lab.lacks(f"{name} / scratch")
                continue
            for seed in at.seeds if task in at.tasks else ():
                given = (
                    f"--seed {seed} --architecture {architecture} "
                    f"{at.scratch.get(architecture, '')}"
                )
                trained = lab.stage(f"score train scratch {of_task} {given}")
                how = at.denoised if architecture == "diffusion" else ""
                lab.row(f"{name} / scratch", f"{asked} --model jackalope:{trained}{how}")


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
