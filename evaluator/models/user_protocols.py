"""What an object of a user's own must offer to be scored, and what it may declare
(docs/models.md, "A model of your own").

`evaluator.models.user_objects` adapts such an object to a full contract
(`evaluator.models.contracts`): it supplies defaults for what the object lacks, and checks its
results.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, JsonValue

from evaluator.metrics.comparison import TOLERANCE
from evaluator.models.contracts import ImageTextPairs
from evaluator.provenance.exposure import Exposure


class UserDualEncoder(Protocol):
    """An object that embeds images and texts separately. The score of a pair is the cosine of its
    embeddings.

    Optional members:

    - the attributes of `ModelAttributes`;
    - `prepare(image)`: the input of `encode_images` for an RGB image; threads call it ahead of the
      model. Default: the image itself.
    - `tokens(texts)`: whole numbers (n, length), by which results are cached: texts with equal rows
      are the same to the model. Default: fingerprints of the texts.
    - `fit_texts(texts)` or `fit_texts(texts, groups)`: fits the model on all texts of the run,
      before anything is scored. `fits_texts = False` says that it is not to be called.
    """

    def encode_images(self, images: Sequence[Any]) -> Any:
        """Embed images.

        Args:
            images: n RGB images, or outputs of `prepare`.

        Returns:
            An array, tensor or list of floating point numbers, (n, d); it is scaled to unit length.
        """
        ...

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """Embed texts.

        Args:
            texts: n texts.

        Returns:
            As `encode_images`, with the same d.
        """
        ...


class UserPairScorer(Protocol):
    """An object that reads images and texts together, many pairs at a time.

    Optional members: the attributes of `ScorerAttributes`, and `tokens` and `fit_texts` as of
    `UserDualEncoder`.
    """

    def score_pairs(self, images: Sequence[Any], pairs: ImageTextPairs) -> Any:
        """Score pairs. An object that is `contested` may have a third parameter, `contests`.

        Args:
            images: RGB images, or scene_ids unless `reads_images`.
            pairs: n pairs (index into `images`, text).

        Returns:
            An array, tensor or list of numbers, (n, channels), or (n,) for one channel. Higher
            means that the text fits better; NaN marks a pair without a score.
        """
        ...


class UserSinglePairScorer(Protocol):
    """As `UserPairScorer`, for one pair at a time and one channel."""

    def score(self, image: Image.Image, text: str) -> Any:
        """Score a pair.

        Args:
            image: An RGB image.
            text: The text.

        Returns:
            One number: higher means that the text fits better; NaN for no score.
        """
        ...


class UserAnswerer(Protocol):
    """An object that answers questions in words.

    Optional members: the attributes of `ModelAttributes`, and the parameters `sample`,
    `max_tokens` and `temperature` of `answer`.
    """

    def answer(self, images: list[Image.Image], question: str) -> str:
        """Answer a question.

        Args:
            images: One or two RGB images, in the order in which the question names them.
            question: The question, with the possible answers.

        Returns:
            The answer, in words.
        """
        ...


def implements(model: object, protocol: type) -> bool:
    """Check whether an object has all methods of a protocol, also if it looks them up itself.

    Args:
        model: The object.
        protocol: One of the protocols of this module.

    Returns:
        Whether it has them.
    """
    # Not isinstance, which from Python 3.12 on does not see what __getattr__ looks up.
    methods = [name for name in vars(protocol) if not name.startswith("_")]
    return all(callable(getattr(model, name, None)) for name in methods)


class ModelAttributes(BaseModel):
    """Optional attributes of every object."""

    model_config = ConfigDict(strict=True)

    key: Annotated[str, Field(min_length=1)] | None = None
    """Objects with equal keys and source files give equal results: later runs reuse them. None:
    results are kept for this run alone."""
    info: dict[str, JsonValue] = {}
    """Entries for run.json."""
    exposure: InstanceOf[Exposure] | None = None
    """Exactly what the model saw in training; None if unknown."""


class ScorerAttributes(ModelAttributes):
    """Optional attributes of an object that scores pairs."""

    channels: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w-]*$")], ...], Field(strict=False)
    ] = ("score",)
    """Names of the scores of a pair. Protocols measure the first one."""
    passes: Annotated[int, Field(ge=1)] = 1
    """Forward passes that one pair takes, which state the cost of a run before it starts."""
    image_channel: str | None = None
    """The channel for protocols that compare images; None for the first one."""
    contested: bool = False
    """Whether a pair's scores depend on the other pairs that a protocol compares it with. All of
    them are then scored in one call."""
    tie_tolerance: Annotated[float, Field(ge=0, lt=float("inf"))] = TOLERANCE
    """Scores that differ by less are a tie."""
    reads_images: bool = True
    """Whether the object gets images. Otherwise it gets their scene_ids."""
