"""What a protocol is: an object that writes items of scenes."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.items import Item, Text
from generator.describe.scenes import DescribedScene
from generator.holdout.holdout import Holdout


class Protocol(ABC):
    """Writes the items of one protocol. A protocol's file declares all that belongs to it.

    The protocols of registry.py describe the scenes of evaluation splits; training texts (describe/training/,
    class_labels.py) are written the same way for the scenes of `train`.
    """

    name: ClassVar[str]
    kinds: tuple[str, ...]
    """The kinds of its items."""
    needs: ClassVar[str] = (
        "two objects of a scene must differ in category and in the tested kind, and the foils be as familiar as the truth"
    )
    """What it needs of a world, for the message when no scene gives an item."""
    graded: ClassVar[bool] = False
    """Whether its captions have requested complexities; if so it is constructed with the option `cells`."""
    unseen_atoms: ClassVar[bool] = False
    """Whether it describes scenes with atoms that training lacks. They are measured by raw retrieval alone."""

    def __init__(self, captioner: Captioner):
        """Subclasses may take options by keyword; `Request.options` gives them."""
        self.captioner = captioner

    def chosen_kinds(self, asked: Sequence[str] | None) -> tuple[str, ...]:
        """The kinds that are asked for, all by default. Raises UserError for a kind that the protocol lacks."""
        for kind in asked or ():
            if kind not in self.kinds:
                raise UserError(f"The protocol '{self.name}' has no kind '{kind}'; {did_you_mean(kind, [*self.kinds])}")
        return tuple(asked or self.kinds)

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        """The options with which the first benchmark of a world is written."""
        return {}

    @abstractmethod
    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        """The items of a scene. What cannot be made is counted in the captioner's `dropped`."""

    def pools(self) -> Mapping[str, Iterable[Text]]:
        """The texts of its retrieval pools, by the pool's name; called after all items have been written."""
        return {}

    def report(self) -> Mapping[str, Any]:
        """What the manifest notes about the texts that were written, ready for JSON; empty for nothing."""
        return {}
