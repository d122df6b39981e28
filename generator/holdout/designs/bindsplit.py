"""Designs that hold out blocks: bindsplit (bindings and relation triples; Peng et al. 2026, section
4.1) and systematicity (also values and objects that training never shows; Ma et al. 2023, section
3.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from generator.base.errors import UserError
from generator.holdout.blocks import default_block, draw_block
from generator.holdout.designs.base import DEFAULT_COUNTS, Design, FirstTexts
from generator.holdout.holdout import Holdout
from generator.holdout.membership import UNSEEN_ATOMS
from generator.holdout.syntax import ATOMS
from generator.vocabulary.schema import Vocabulary


class BindSplit(Design):
    """Holds out a block of values x objects, of relations x ordered pairs of objects, or both."""

    name = "bindsplit"

    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """A block of 3x3, or smaller if that would hold out every value or object."""
        return (default_block(vocabulary),)

    def draw(
        self,
        holdout_options: Sequence[str],
        vocabulary: Vocabulary,
        block_seed: int,
        opposites: bool,
    ) -> list[Holdout]:
        """One holdout: all blocks together."""
        for option in holdout_options:
            # Absent names need a split of their own, which bindsplit does not have.
            if option.startswith(ATOMS):
                raise UserError(
                    f"--holdout {option}: unseen atoms belong to --design systematicity; add it."
                )
        return [draw_block(holdout_options, vocabulary, block_seed, opposites)]


class Systematicity(Design):
    """Holds out blocks like bindsplit, and also whole values and objects."""

    name = "systematicity"
    prefix = "systematicity-"
    counts: ClassVar[Mapping[str, int]] = {**DEFAULT_COUNTS, UNSEEN_ATOMS: 300}

    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """A block, and one value and two objects that training never shows."""
        return (default_block(vocabulary), f"{ATOMS}=1x2")

    def draw(
        self,
        holdout_options: Sequence[str],
        vocabulary: Vocabulary,
        block_seed: int,
        opposites: bool,
    ) -> list[Holdout]:
        """One holdout: all blocks and atoms together."""
        holdout = draw_block(holdout_options, vocabulary, block_seed, opposites)
        # `draw_block` serves both designs and names the usual one.
        holdout = replace(holdout, design=self.name)
        if not (holdout.absent_values or holdout.absent_objects):
            raise UserError(
                f"The design systematicity needs unseen atoms too; add --holdout {ATOMS}=1x2."
            )
        return [holdout]

    def first_texts(self, holdout: Holdout) -> FirstTexts:
        """The texts of bindsplit, and the protocol `systematicity`."""
        texts = super().first_texts(holdout)
        return replace(texts, protocols=(*texts.protocols, "systematicity"))


BINDSPLIT, SYSTEMATICITY = BindSplit(), Systematicity()
