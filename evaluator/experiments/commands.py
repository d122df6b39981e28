"""The commands that a stage can be, and how each takes the folders that it reads and writes."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from generator.base.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Kind:
    """A command. amends: it changes the folder that it is given first, of which the stage has a copy; else it writes `--out`.

    finished: the file of its `--out` without which it has not ended, where it need not run again with it. suffix: that of its
    `--out`, where it writes a file.
    """

    words: tuple[str, ...]
    amends: bool = False
    finished: str = ""
    suffix: str = ""

    @property
    def name(self) -> str:
        """Such as "score train scratch"."""
        return " ".join(self.words)


RUN = "score run"
SHOWN = ("score audit", "score embeddings", "score generate")
"""Commands whose results `score tables` takes beside those of runs."""
_TRAINED = "jackalope.json"
KINDS = {
    kind.name: kind
    for kind in (
        Kind(("gen", "plan")),
        Kind(("gen", "render")),
        Kind(("gen", "split"), amends=True),
        Kind(("gen", "describe"), amends=True),
        Kind(("gen", "verify"), amends=True),
        Kind(("score", "train", "scratch"), finished=_TRAINED),
        Kind(("score", "train", "pretrain"), finished=_TRAINED),
        Kind(("score", "train", "labclip"), finished=_TRAINED),
        Kind(("score", "train", "finetune"), finished=_TRAINED),
        Kind(("score", "train", "dreambooth"), finished=_TRAINED),
        Kind(("score", "train", "forgetting"), amends=True),
        Kind(("score", "run")),
        Kind(("score", "audit"), suffix=".json"),
        Kind(("score", "embeddings")),
        Kind(("score", "generate")),
        Kind(("score", "tables")),
    )
}


def words_of(text: str, place: str) -> list[str]:
    """The words of a command. Raises UserError where its quotes do not close."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"{place}: cannot read '{text}' as a command ({error}); mend its quotes.") from None


def kind_of(words: Sequence[str], place: str) -> Kind:
    """The kind of a command. Raises UserError where a stage cannot be such a command."""
    kind = next((kind for kind in KINDS.values() if tuple(words[: len(kind.words)]) == kind.words), None)
    if kind is None:
        named = " ".join(words[: 3 if words[:2] == ["score", "train"] else 2])
        raise UserError(f"{place}: '{named}' is no command of a stage; {did_you_mean(named, list(KINDS))}")
    if any(word.partition("=")[0] == "--out" for word in words):
        raise UserError(f"{place}: a stage's folder is named after its contents; leave --out out.")
    return kind
