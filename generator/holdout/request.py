"""Turns the options of `gen` about held-out combinations into holdouts and their numbers of
scenes."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.base.errors import UserError
from generator.holdout.designs import design_names, find_design
from generator.holdout.designs.base import GRID, Design
from generator.holdout.files import is_holdout_file, read_holdout
from generator.holdout.holdout import Holdout
from generator.holdout.syntax import named_kind
from generator.vocabulary.schema import Vocabulary

MOST_SEEDS = 1_000
"""The most block seeds of a world. Each makes a benchmark, which takes seconds and a folder."""


@dataclass(frozen=True)
class WorldPart:
    """The scenes of a world that are made for one holdout."""

    holdout: Holdout
    counts: Mapping[str, int] | None
    """Numbers of scenes by split; None for the grid."""


@dataclass(frozen=True)
class HoldoutRequest:
    """A request for holdouts and their scenes."""

    design: str = "bindsplit"
    """The name of the design."""
    holdout: tuple[str, ...] = ()
    """The values of --holdout; () for the design's default."""
    block_seeds: tuple[int, ...] = (0,)
    """Each draws holdouts of its own."""
    opposites: bool = True
    """Whether the opposites of held-out relations are held out too."""
    scenes: Mapping[str, int] | str | None = None
    """Numbers by split, or the value of --scenes; None for the design's default."""

    def holdouts(self, vocabulary: Vocabulary) -> list[Holdout]:
        """The requested holdouts; each becomes a benchmark.

        Raises:
            UserError: the request is impossible, or has an option without effect.
        """
        options = (self.design, self.block_seeds, self.opposites)
        defaults = (HoldoutRequest.design, HoldoutRequest.block_seeds, HoldoutRequest.opposites)
        # An option without effect would make the user believe that it had one.
        if any(map(is_holdout_file, self.holdout)) and options != defaults:
            raise UserError(
                f"--holdout {' '.join(self.holdout)} already sets the design, block seed and "
                f"opposites; leave out --design, --block-seed and --no-opposites."
            )
        holdout_of_content: dict[Hashable, Holdout] = {}
        repeating_seeds: list[int] = []
        for block_seed in self.block_seeds:
            holdouts = draw_holdouts(
                self.holdout,
                self.design,
                vocabulary=vocabulary,
                block_seed=block_seed,
                opposites=self.opposites,
            )
            for holdout in holdouts:
                if holdout_of_content.setdefault(_content(holdout), holdout) is not holdout:
                    repeating_seeds.append(block_seed)
        # Two seeds may draw one block where there are few; the benchmarks would differ in name
        # alone.
        if repeating_seeds:
            seeds = ", ".join(map(str, dict.fromkeys(repeating_seeds)))
            raise UserError(
                f"--block-seed: earlier seeds hold out the same as {seeds}; leave out {seeds}."
            )
        distinct = list(holdout_of_content.values())
        if not self.opposites and not any(holdout.triples for holdout in distinct):
            raise UserError(
                "--no-opposites is about held-out relations; add a block such as --holdout "
                "relation:pair=2x3, or leave it out."
            )
        return distinct

    def parts(self, holdouts: Sequence[Holdout], vocabulary: Vocabulary) -> list[WorldPart]:
        """The scenes that are made for each holdout. For the grid, one part: all holdouts share its
        scenes.

        Raises:
            UserError: the numbers of scenes are malformed or impossible.
        """
        design = design_of(holdouts[0])
        if isinstance(self.scenes, str) and self.scenes.strip() == GRID:
            if not design.grid:
                raise UserError(
                    f"--scenes grid has two objects in each scene; the design {design.name} makes "
                    f"its own scenes: leave --scenes out."
                )
            return [WorldPart(holdouts[0], None)]
        counts = design.scene_counts(holdouts, vocabulary, self.scenes)
        return [
            WorldPart(holdout, counts_of_holdout)
            for holdout, counts_of_holdout in zip(holdouts, counts, strict=True)
        ]


def design_of(holdout: Holdout) -> Design:
    """The design that drew a holdout."""
    return find_design(holdout.design)


def draw_holdouts(
    holdout_options: Sequence[str],
    design: str,
    *,
    vocabulary: Vocabulary,
    block_seed: int,
    opposites: bool = True,
) -> list[Holdout]:
    """Return the holdouts that `--holdout` describes, from the design of the given name.

    Args:
        holdout_options: Texts in the design's own syntax, or the path of one holdout.json; empty
            for the design's default.
        design: The name of the design.
        vocabulary: The vocabulary whose names the texts use.
        block_seed: The seed of what is drawn.
        opposites: Whether the opposites of held-out relations are held out too.

    Raises:
        UserError: A text is malformed or impossible; the message says how to correct it.
    """
    chosen_design = _design_for(holdout_options, design)
    options = tuple(option.strip() for option in holdout_options)
    options = options or chosen_design.default_holdout(vocabulary)
    if any(map(is_holdout_file, options)):
        if len(options) > 1:
            raise UserError(
                f"--holdout {' '.join(options)}: a holdout.json says all that is held out; give it "
                f"alone."
            )
        return [read_holdout(Path(options[0]), vocabulary)]
    return chosen_design.draw(options, vocabulary, block_seed, opposites)


def _design_for(holdout_options: Sequence[str], design: str) -> Design:
    """The design that `--design` names, or the one whose own words `--holdout` has, if `--design`
    is the default."""
    named = find_design(design)
    # Who names a design gets it, and its own message for words of another.
    if named is not find_design(HoldoutRequest.design):
        return named
    for option in holdout_options:
        for name in design_names():
            candidate = find_design(name)
            if candidate.claims(option.strip()):
                return candidate
    return named


def _content(holdout: Holdout) -> Hashable:
    """A key that is equal for holdouts with the same content, whatever its order, design or
    seed."""
    parts = (
        holdout.bindings,
        holdout.triples,
        holdout.absent_values,
        holdout.absent_objects,
        holdout.classes,
    )
    return holdout.task, *map(frozenset, parts)


def kind_named(holdout_options: Sequence[str], vocabulary: Vocabulary) -> str:
    """Return the attribute kind that `--holdout` names, itself, by a value or in a holdout.json;
    else the tested one.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> kind_named(["wood:fox"], read_vocabulary("pug"))
    'texture'
    """
    for option in holdout_options:
        if is_holdout_file(option):
            return read_holdout(Path(option.strip()), vocabulary).kind
        kind = named_kind(option.strip(), vocabulary)
        if kind is not None:
            return kind
    return vocabulary.tested


def parse_seeds(spec: str) -> tuple[int, ...]:
    """Block seeds from text such as 0, 0..2 or 1,5.

    Raises:
        UserError: it is malformed, or there are more than 1,000.

    >>> parse_seeds("0..2"), parse_seeds("1,5")
    ((0, 1, 2), (1, 5))
    """
    try:
        first, dots, last = spec.partition("..")
        if dots:
            # One more than is allowed, so that a huge range takes no memory before it is refused.
            seeds = tuple(range(int(first), int(last) + 1)[: MOST_SEEDS + 1])
        else:
            seeds = tuple(map(int, spec.split(",")))
    except ValueError:
        seeds = ()
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise UserError(
            f"Expected --block-seed to be a number from 0, or several such as 0..2 or 1,5, got "
            f"'{spec}'."
        )
    if len(seeds) > MOST_SEEDS:
        raise UserError(
            f"--block-seed {spec} asks for more than {MOST_SEEDS:,} benchmarks over one world; ask "
            f"for fewer."
        )
    return seeds
