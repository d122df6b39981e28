"""A question as a file has it: with the images that it names, which are looked for later or never."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluator.benchmarks.pictures import Box
from evaluator.benchmarks.questions import Question
from evaluator.benchmarks.records import Cell


@dataclass(frozen=True)
class Shown:
    """An image that a question names: a cell of a column, or the names that its file may have, the likeliest first. box: the part
    that is shown."""

    names: tuple[str, ...] = ()
    cell: Cell | None = None
    column: str = ""
    box: Box | None = None

    @property
    def whole(self) -> str:
        """The id of the image without its box."""
        return self.cell.digest[:16] if self.cell else self.names[0]

    @property
    def id(self) -> str:
        """The id of what is shown."""
        return self.whole + ("@" + ",".join(map(str, self.box)) if self.box else "")


@dataclass(frozen=True)
class Asked:
    """A question, the images that it names, and where it stands: a `place` for messages, in a `file`.

    labels: what filters choose by. excluded: why it cannot be asked, "" where it can. lacking: for each text of the file that it
    does not have, why. folders: names that a folder of images may have, each of which is asked the question in place of `images`.
    """

    question: Question
    images: tuple[Shown, ...]
    place: str
    file: Path
    labels: Mapping[str, str] = field(default_factory=dict)
    excluded: str = ""
    lacking: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def of(self, image: str) -> "Asked":
        """The question of one image of its folder."""
        shown = Shown((image,))
        question = replace(self.question, item=f"{self.question.item}/{Path(image).stem}", images=(shown.id,))
        return replace(self, question=question, images=(shown,), folders=())
