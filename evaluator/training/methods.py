"""The methods of `score train`. Each method is a recipe with options that creates a model and its
learner. The command line is generated from them.

Nothing here imports torch before a training begins, so that `score --help` is fast.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from evaluator.runs.request import option
from evaluator.training.recipe import NEGATIVES, Recipe, listed, parse_lora
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress

if TYPE_CHECKING:
    from evaluator.training.data import TrainingData
    from evaluator.training.fit import Learner
    from evaluator.training.source import Source

_SIZE = "Size of the model: tiny for a CPU, small for a GPU."


@dataclass(frozen=True)
class Training:
    """A training that is ready to begin. model: saved at the end, with `network` and `info`.
    learner: has the trained network and the loss. finish: called after the last step; merges the
    trained weights into `model`.
    """

    model: Any
    learner: "Learner"
    finish: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Method(Recipe, ABC):
    """A recipe of `score train NAME`. options: the fields that are options of the command. further:
    whether it takes --model and --preset. matches: whether it also trains cross encoders.
    every_split: whether it takes several datasets and trains on all their splits. The docstring of
    a method is the help of its command.
    """

    options: ClassVar[tuple[str, ...]]
    further: ClassVar[bool] = True
    matches: ClassVar[bool] = False
    every_split: ClassVar[bool] = False

    def source(self, datasets: Sequence[Path], benchmark: str | None = None) -> "Source":
        """The train split of the dataset, or the corpus in the file. Raises UserError as
        `benchmark_source` and `corpus_source` do, and for a corpus with a benchmark."""
        from evaluator.training.source import benchmark_source, corpus_source
        from generator.dataset.reader import Dataset

        (dataset,) = datasets
        if not dataset.is_file():
            opened = Dataset.open(dataset)
            return benchmark_source(opened.world, opened.benchmark(benchmark), self)
        if benchmark is not None:
            raise UserError(
                f"{dataset} is a corpus, which has no benchmarks; leave --benchmark out."
            )
        return corpus_source(dataset, self)

    @abstractmethod
    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """Load or create the model and its learner. Raises UserError for a model that this method
        cannot train."""


@dataclass(frozen=True)
class Scratch(Method):
    """Train a new model from scratch on the train split of DATASET.

    The model sees no other data, so held-out combinations are guaranteed unseen. DATASET is a
    dataset, or a file of JSON lines (docs/training.md).
    """

    architecture: Literal["dual", "dual-vit", "cross", "diffusion"] = option(
        "dual",
        "dual, dual-vit: embed images and texts separately, images by a ResNet or by a transformer "
        "(open_clip); cross: "
        "reads them together (ViLT); diffusion: draws images from captions (diffusers).",
    )
    size: Literal["tiny", "small"] = option("tiny", _SIZE)
    name = "scratch"
    options = (
        *(
            "epochs",
            "steps",
            "batch",
            "rate",
            "seed",
            "texts",
            "negatives",
            "positives",
            "images_per_class",
        ),
        *("precision", "architecture", "size"),
    )
    further = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.architecture == "diffusion":
            if self.negatives not in (Recipe.negatives, "none"):
                raise UserError(
                    "A diffusion model learns from captions, not from negatives; leave --negatives "
                    "out."
                )
            object.__setattr__(self, "negatives", "none")

    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """A new model of open_clip, transformers or diffusers."""
        from evaluator.training.networks import new_model

        return Training(*new_model(self.architecture, self.size, data, self, device))


@dataclass(frozen=True)
class Pretrain(Method):
    """Train a stand-in for CLIP on all images of DATASETS.

    It trains on every split, so it has seen all bindings of DATASETS. It is a bag of words by
    design: its captions are texts with the words of true captions, in any order. The benchmarks of
    DATASETS are contaminated for it; score it on another world, or with --allow-contaminated.
    """

    architecture: Literal["dual", "dual-vit"] = option(
        "dual", "Image tower: a ResNet, or a transformer (dual-vit)."
    )
    size: Literal["tiny", "small"] = option("tiny", _SIZE)
    name = (
        "pretrain"  # STAND_IN_METHOD of evaluator/provenance/exposure.py, which is slow to import
    )
    options = ("epochs", "batch", "rate", "seed", "precision", "architecture", "size")
    further = False
    every_split = True

    def source(self, datasets: Sequence[Path], benchmark: str | None = None) -> "Source":
        """All splits of some datasets."""
        from evaluator.training.source import whole_source
        from generator.dataset.reader import Dataset

        opened = [Dataset.open(each) for each in datasets]
        return whole_source([(each.world, each.benchmark(benchmark)) for each in opened])

    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """A new dual encoder of open_clip."""
        from evaluator.training.networks import new_model

        return Training(*new_model(self.architecture, self.size, data, self, device, bags=True))


@dataclass(frozen=True)
class _Further(Method):
    """A recipe that starts from an existing model: Adam at a constant rate, without
    augmentation."""

    decay: float = 0.0
    warmup: float = 0.0
    negatives: str = option("none", NEGATIVES)


@dataclass(frozen=True)
class Labclip(_Further):
    """Align MODEL's texts with its images by a linear layer, trained on the train split of DATASET
    (LABCLIP).

    MODEL is a dual encoder of open_clip:, hf: or jackalope:; only its text projection and
    temperature change. DATASET is a dataset, or a file of JSON lines (docs/training.md).
    """

    precision: Literal["auto", "float32", "bfloat16"] = "float32"
    name = "labclip"
    options = ("epochs", "batch", "rate", "seed", "texts", "negatives", "images_per_class")

    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """The frozen embeddings of all images and texts, and the layer over them."""
        from evaluator.models.registry import load_model
        from evaluator.training.contrastive import Contrastive, align

        loaded: Any = load_model(model, device)
        layer = align(loaded, model, data, progress)
        return Training(
            loaded, Contrastive(layer, data, self), lambda: layer.give_to(loaded.network, model)
        )


@dataclass(frozen=True)
class Finetune(_Further):
    """Train MODEL further on the train split of DATASET: contrastive, hard negatives, hard
    positives.

    MODEL is a dual encoder of open_clip:, hf: or jackalope:, or a cross encoder of vilt: or
    jackalope:, which is trained on image–text matching. DATASET is a dataset, or a file of JSON
    lines (docs/training.md). A control without hard texts: --negatives none --positives none.
    """

    positive_loss: Literal["caption", "analogy"] = "analogy"
    lora: str = option(
        "none",
        "Train low-rank changes, such as 16/32, instead of the whole model; none trains the whole "
        "model.",
        metavar="RANK/ALPHA",
    )
    name = "finetune"
    options = (
        *(
            "epochs",
            "batch",
            "rate",
            "seed",
            "texts",
            "negatives",
            "negative_loss",
            "negative_weight",
            "positives",
        ),
        *("positive_weight", "images_per_class", "precision", "lora"),
    )
    matches = True

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_lora(self.lora)

    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """A dual encoder with the contrastive loss, or a cross encoder with image–text matching."""
        from evaluator.models.registry import load_model
        from evaluator.training.contrastive import Contrastive, Towers, check_trainable
        from evaluator.training.matching import Matching
        from evaluator.training.networks import with_lora

        loaded: Any = load_model(model, device)
        matches = hasattr(loaded, "match")
        if not matches:
            check_trainable(loaded)
        lora = parse_lora(self.lora)
        merge = with_lora(loaded.network, *lora, self.seed) if lora else lambda: None
        if matches:
            if listed(self.positives) and self.positive_loss != "caption":
                raise UserError(
                    "A cross encoder treats positives as captions; give positive_loss='caption'."
                )
            return Training(loaded, Matching(loaded, data, self), merge)
        return Training(
            loaded, Contrastive(Towers(loaded, data, self.precision), data, self), merge
        )


@dataclass(frozen=True)
class Dreambooth(_Further):
    """Train the diffusion model MODEL further on images and captions of the train split of DATASET
    (DreamBooth).

    MODEL is a Stable Diffusion 1, 2 or XL of diffusion:, or a diffusion model of jackalope:. Its
    preset decides how images are prepared: diffusion:MODEL,preset=pearson2025 trains on centre
    crops. DATASET is a dataset, or a file of JSON lines (docs/training.md). There is no prior
    preservation (Ruiz et al. 2023; Pearson et al. 2025).
    """

    text_encoder: bool = option(
        True,
        "Whether to train the text encoder as well as the U-Net.",
        flag="--text-encoder/--no-text-encoder",
    )
    name = "dreambooth"
    options = (
        "steps",
        "batch",
        "rate",
        "seed",
        "texts",
        "images_per_class",
        "precision",
        "text_encoder",
    )

    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """A pipeline of diffusers that learns to predict noise."""
        from evaluator.models.diffusion.scorer import DiffusionClassifier
        from evaluator.models.registry import load_model
        from evaluator.training.denoising import Denoising

        loaded: Any = load_model(model, device)
        if not isinstance(loaded, DiffusionClassifier):
            raise UserError(
                f"'{model}' is no diffusion model; give a diffusion: model, or a jackalope: one."
            )
        return Training(loaded, Denoising(loaded, data, self, self.text_encoder))


METHODS: dict[str, type[Method]] = {
    each.name: each for each in (Scratch, Pretrain, Labclip, Finetune, Dreambooth)
}
