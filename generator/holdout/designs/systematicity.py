"""The design systematicity: unseen compounds, and atoms that training never shows (Ma et al. 2023, section 3.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from generator.base.errors import UserError
from generator.holdout.blocks import ATOMS, default_block, draw_block
from generator.holdout.designs.base import DEFAULT_COUNTS, Design, FirstTexts
from generator.holdout.holdout import Holdout
from generator.holdout.membership import UNSEEN_ATOMS
from generator.vocabulary.schema import Vocabulary


class Systematicity(Design):
    """Holds out blocks as bindsplit does, and whole values and objects."""

    name = "systematicity"
    prefix = "systematicity-"
    counts: ClassVar[Mapping[str, int]] = {**DEFAULT_COUNTS, UNSEEN_ATOMS: 300}

    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """A block, and one value and two objects that training never shows."""
        return (default_block(vocabulary), f"{ATOMS}=1x2")

    def draw(self, asked: Sequence[str], vocabulary: Vocabulary, block_seed: int, opposites: bool) -> list[Holdout]:
        """One holdout: all blocks and atoms together."""
        holdout = replace(draw_block(asked, vocabulary, block_seed, opposites), design=self.name)
        if not (holdout.absent_values or holdout.absent_objects):
            raise UserError(f"The design systematicity needs unseen atoms too; add --holdout {ATOMS}=1x2.")
        return [holdout]

    def first_texts(self, holdout: Holdout) -> FirstTexts:
        """Those of every block, and the protocol of the same name."""
        texts = super().first_texts(holdout)
        return replace(texts, protocols=(*texts.protocols, "systematicity"))


DESIGN = Systematicity()
