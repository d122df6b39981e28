"""The design bindsplit: blocks of bindings and of relation triples (Peng et al. 2026, section 4.1)."""

from collections.abc import Sequence

from generator.base.errors import UserError
from generator.holdout.blocks import ATOMS, default_block, draw_block
from generator.holdout.designs.base import Design
from generator.holdout.holdout import Holdout
from generator.vocabulary.schema import Vocabulary


class BindSplit(Design):
    """Holds out a block of values x objects, of relations x ordered pairs of objects, or both."""

    name = "bindsplit"

    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """A block of 3x3, or less where that would hold out everything."""
        return (default_block(vocabulary),)

    def draw(self, asked: Sequence[str], vocabulary: Vocabulary, block_seed: int, opposites: bool) -> list[Holdout]:
        """One holdout: all blocks together."""
        for spec in asked:
            if spec.startswith(ATOMS):
                raise UserError(f"--holdout {spec}: unseen atoms belong to --design systematicity; add it.")
        return [draw_block(asked, vocabulary, block_seed, opposites)]


DESIGN = BindSplit()
