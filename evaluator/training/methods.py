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

_WITHOUT_NEGATIVES = {"diffusion": "diffusion model", "captioner": "captioner"}
"""The noun of each architecture that learns from true texts alone."""
_SIZE = "Size of the model: tiny for a CPU, small for a GPU."


@dataclass(frozen=True)
class Training:
    """A training that is ready to begin."""

    model: Any
    """Saved at the end. It has `network` and `info`."""
    learner: "Learner"
    """Has the trained network and the loss."""
    finish: Callable[[], object] = lambda: None
    """Called after the last step; merges the trained weights into `model`."""


@dataclass(frozen=True)
class Method(Recipe, ABC):
    """A recipe of `score train NAME`. Its docstring is the help of its command.

    A new method is a subclass with `begin`, and an entry of METHODS.
    """

    options: ClassVar[tuple[str, ...]]
    """The fields that are options of the command."""
    continues_model: ClassVar[bool] = True
    """Whether it starts from a model: it then takes --model and --preset."""
    trains_cross_encoders: ClassVar[bool] = False
    """Whether it takes cross encoders besides dual encoders."""
    every_split: ClassVar[bool] = False
    """Whether it takes several datasets and trains on all their splits."""

    def source(self, datasets: Sequence[Path], benchmark: str | None = None) -> "Source":
        """Open the training data: the train split of a dataset, or a corpus.

        Args:
            datasets: One folder of a dataset, or one file of JSON lines.
            benchmark: Name of the benchmark, if the dataset has several.

        Raises:
            UserError: As `benchmark_source` and `corpus_source`; and for a corpus with a benchmark.
        """
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

    @property
    def next_command(self) -> tuple[str, ...]:
        """The words of the `score` command that measures the trained model, but for the dataset and
        the model."""
        return ("run",)

    @abstractmethod
    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """Load or create the model, and make its learner.

        Args:
            data: The training data.
            model: Spec of the model to start from; "" for a method that creates one.
            device: Name of the device; None for the first GPU, else the CPU.
            progress: Shows what takes long before the first step.

        Raises:
            UserError: The method cannot train this model.
        """


@dataclass(frozen=True)
class Scratch(Method):
    """Train a new model from scratch on the train split of DATASET.

    The model sees no other data, so held-out combinations are guaranteed unseen. DATASET is a
    dataset, or a file of JSON lines (docs/training.md).
    """

    architecture: Literal["dual", "dual-vit", "cross", "diffusion", "captioner"] = option(
        "dual",
        "dual, dual-vit: embed images and texts separately, images by a ResNet or by a transformer "
        "(open_clip); cross: reads them together (ViLT); diffusion: draws images from captions "
        "(diffusers); captioner: describes images (score ask --form describe).",
    )
    """Which network: two encoders with a ResNet or a transformer for images, a cross encoder, a
    diffusion model, or a captioner."""
    size: Literal["tiny", "small"] = option("tiny", _SIZE)
    """Size of the network."""
    name = "scratch"
    options = (
        "epochs",
        "steps",
        "batch",
        "rate",
        "seed",
        "texts",
        "negatives",
        "positives",
        "images_per_class",
        "precision",
        "architecture",
        "size",
    )
    continues_model = False

    def __post_init__(self) -> None:
        super().__post_init__()
        noun = _WITHOUT_NEGATIVES.get(self.architecture)
        if noun is None:
            return
        # The default of the other architectures is not a wish of the user.
        if self.negatives not in (Recipe.negatives, "none"):
            raise UserError(
                f"A {noun} learns from captions, not from negatives; leave --negatives out."
            )
        object.__setattr__(self, "negatives", "none")
        if self.architecture == "captioner" and (self.texts or listed(self.positives)):
            raise UserError(
                "A captioner learns from descriptions, not from the dataset's texts; leave --texts "
                "and --positives out."
            )

    @property
    def next_command(self) -> tuple[str, ...]:
        """As in Method; a captioner is asked for descriptions."""
        if self.architecture == "captioner":
            return ("ask", "--form", "describe")
        return super().next_command

    def source(self, datasets: Sequence[Path], benchmark: str | None = None) -> "Source":
        """The train split of a dataset, or a corpus; of a captioner the train split with
        descriptions."""
        from evaluator.training.source import description_source
        from generator.dataset.reader import Dataset

        if self.architecture != "captioner":
            return super().source(datasets, benchmark)
        (dataset,) = datasets
        if dataset.is_file():
            raise UserError(
                f"{dataset} is a corpus, which has no record of its scenes to describe; give a "
                f"dataset made by `gen render`."
            )
        opened = Dataset.open(dataset)
        return description_source(opened.world, opened.benchmark(benchmark))

    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """A new model of open_clip, transformers or diffusers, or a new captioner."""
        from evaluator.training.networks import new_model

        model_and_learner = new_model(self.architecture, self.size, data, self, device)
        return Training(*model_and_learner)


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
    """Whether images are encoded by a ResNet or by a transformer."""
    size: Literal["tiny", "small"] = option("tiny", _SIZE)
    """Size of the network."""
    # STAND_IN_METHOD of evaluator/provenance/exposure.py, which is slow to import.
    name = "pretrain"
    options = ("epochs", "batch", "rate", "seed", "precision", "architecture", "size")
    continues_model = False
    every_split = True

    def source(self, datasets: Sequence[Path], benchmark: str | None = None) -> "Source":
        """All splits of some datasets."""
        from evaluator.training.source import whole_source
        from generator.dataset.reader import Dataset

        opened = [Dataset.open(folder) for folder in datasets]
        return whole_source([(dataset.world, dataset.benchmark(benchmark)) for dataset in opened])

    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """A new dual encoder of open_clip."""
        from evaluator.training.networks import new_model

        model_and_learner = new_model(self.architecture, self.size, data, self, device, bags=True)
        return Training(*model_and_learner)


@dataclass(frozen=True)
class _Continuation(Method):
    """A recipe that starts from an existing model: Adam at a constant rate, without
    augmentation."""

    decay: float = 0.0
    """As in `Recipe`; by default none."""
    warmup: float = 0.0
    """As in `Recipe`; by default the rate is constant."""
    negatives: str = option("none", NEGATIVES)
    """As in `Recipe`; by default none."""


@dataclass(frozen=True)
class Labclip(_Continuation):
    """Align MODEL's texts with its images by a linear layer, trained on the train split of DATASET
    (LABCLIP).

    MODEL is a dual encoder of open_clip:, hf: or jackalope:; only its text projection and
    temperature change. DATASET is a dataset, or a file of JSON lines (docs/training.md).
    """

    precision: Literal["auto", "float32", "bfloat16"] = "float32"
    """As in `Recipe`; the only layer that is trained is small."""
    name = "labclip"
    options = ("epochs", "batch", "rate", "seed", "texts", "negatives", "images_per_class")

    def begin(
        self, data: "TrainingData", model: str, device: str | None, progress: Progress = SILENT
    ) -> Training:
        """The frozen embeddings of all images and texts, and the layer over them."""
        from evaluator.models.registry import load_model
        from evaluator.training.contrastive import Contrastive, align

        loaded: Any = load_model(model, device)
        layer = align(loaded, model, data=data, progress=progress)
        learner = Contrastive(layer, data, self)
        return Training(loaded, learner, lambda: layer.merge_into(loaded.network, model))


@dataclass(frozen=True)
class Finetune(_Continuation):
    """Train MODEL further on the train split of DATASET: contrastive, hard negatives, hard
    positives.

    MODEL is a dual encoder of open_clip:, hf: or jackalope:, or a cross encoder of vilt: or
    jackalope:, which is trained on image–text matching. DATASET is a dataset, or a file of JSON
    lines (docs/training.md). A control without hard texts: --negatives none --positives none.
    """

    positive_loss: Literal["caption", "analogy"] = "analogy"
    """As in `Recipe`; by default the hard-positive loss."""
    lora: str = option(
        "none",
        "Train low-rank changes, such as 16/32, instead of the whole model; none trains the whole "
        "model.",
        metavar="RANK/ALPHA",
    )
    """Rank and alpha of low-rank changes, such as `16/32`; `none` trains the whole model."""
    name = "finetune"
    options = (
        "epochs",
        "batch",
        "rate",
        "seed",
        "texts",
        "negatives",
        "negative_loss",
        "negative_weight",
        "positives",
        "positive_weight",
        "images_per_class",
        "precision",
        "lora",
    )
    trains_cross_encoders = True

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
        is_cross_encoder = hasattr(loaded, "match")
        # Before LoRA changes the network: a model that cannot be trained is refused as it is.
        if not is_cross_encoder:
            check_trainable(loaded)
        lora = parse_lora(self.lora)
        merge = with_lora(loaded.network, *lora, self.seed) if lora else lambda: None
        if is_cross_encoder:
            if listed(self.positives) and self.positive_loss != "caption":
                raise UserError(
                    "A cross encoder treats positives as captions; give positive_loss='caption'."
                )
            return Training(loaded, Matching(loaded, data, recipe=self), merge)
        towers = Towers(loaded, data, precision=self.precision)
        return Training(loaded, Contrastive(towers, data, self), merge)


@dataclass(frozen=True)
class Dreambooth(_Continuation):
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
    """Whether to train the text encoder as well as the U-Net."""
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
                f"'{model}' is not a diffusion model; give a diffusion: model, or a jackalope: one."
            )
        return Training(loaded, Denoising(loaded, data, self, text_encoder=self.text_encoder))


METHODS: dict[str, type[Method]] = {
    method.name: method for method in (Scratch, Pretrain, Labclip, Finetune, Dreambooth)
}
"""The methods by name, in the order of the help."""
