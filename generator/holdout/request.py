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


@dataclass(frozen=True)
class WorldPart:
    """The scenes of a world that are made for one holdout: `counts` by split, or None for the
    grid."""

    holdout: Holdout
    counts: Mapping[str, int] | None


@dataclass(frozen=True)
class HoldoutRequest:
    """A request for holdouts: the design's name, `--holdout` as given, block seeds, and whether the
    opposites of held-out relations are held out too. `scenes` are numbers by split or the value of
    `--scenes`; None means the design's default."""

    design: str = "bindsplit"
    holdout: tuple[str, ...] = ()
    block_seeds: tuple[int, ...] = (0,)
    opposites: bool = True
    scenes: Mapping[str, int] | str | None = None

    def holdouts(self, vocabulary: Vocabulary) -> list[Holdout]:
        """The requested holdouts; each becomes a benchmark. Raises UserError for an impossible
        request, and for options without effect."""
        named = (HoldoutRequest.design, HoldoutRequest.block_seeds, HoldoutRequest.opposites)
        if (
            any(map(is_holdout_file, self.holdout))
            and (self.design, self.block_seeds, self.opposites) != named
        ):
            raise UserError(
                f"--holdout {' '.join(self.holdout)} already sets the design, block seed and "
                f"opposites; leave out --design, --block-seed and --no-opposites."
            )
        drawn, repeated = dict[Hashable, Holdout](), list[int]()
        for block_seed in self.block_seeds:
            for each in draw_holdouts(
                self.holdout, self.design, vocabulary, block_seed, self.opposites
            ):
                if drawn.setdefault(_content(each), each) is not each:
                    repeated.append(block_seed)
        if repeated:
            seeds = ", ".join(map(str, dict.fromkeys(repeated)))
            raise UserError(
                f"--block-seed: earlier seeds hold out the same as {seeds}; leave out {seeds}."
            )
        if not self.opposites and not any(each.triples for each in drawn.values()):
            raise UserError(
                "--no-opposites is about held-out relations; add a block such as --holdout "
                "relation:pair=2x3, or leave it out."
            )
        return list(drawn.values())

    def parts(self, holdouts: Sequence[Holdout], vocabulary: Vocabulary) -> list[WorldPart]:
        """The scenes that are made for each holdout. For the grid, one part: all holdouts share its
        scenes."""
        design = design_of(holdouts[0])
        if isinstance(self.scenes, str) and self.scenes.strip() == GRID:
            if not design.grid:
                raise UserError(
                    f"--scenes grid has two objects in each scene; the design {design.name} makes "
                    f"its own scenes: leave --scenes out."
                )
            return [WorldPart(holdouts[0], None)]
        counts = design.scene_counts(holdouts, vocabulary, self.scenes)
        return [WorldPart(holdout, each) for holdout, each in zip(holdouts, counts, strict=True)]


def design_of(holdout: Holdout) -> Design:
    """The design that drew a holdout."""
    return find_design(holdout.design)


def draw_holdouts(
    asked: Sequence[str],
    design: str,
    vocabulary: Vocabulary,
    block_seed: int,
    opposites: bool = True,
) -> list[Holdout]:
    """Return the holdouts that `--holdout` describes, from the design of the given name.

    Args: asked: Texts in the design's own syntax, or the path of one holdout.json; empty for the
        design's default. design: The name of the design. vocabulary: The vocabulary whose names the
        texts use. block_seed: The seed of what is drawn. opposites: Whether the opposites of
        held-out relations are held out too.

    Raises:
        UserError: A text is malformed or impossible; the message says how to correct it.
    """
    chosen_design = _design_for(asked, design)
    specs = tuple(spec.strip() for spec in asked) or chosen_design.default_holdout(vocabulary)
    if any(map(is_holdout_file, specs)):
        if len(specs) > 1:
            raise UserError(
                f"--holdout {' '.join(specs)}: a holdout.json says all that is held out; give it "
                f"alone."
            )
        return [read_holdout(Path(specs[0]), vocabulary)]
    return chosen_design.draw(specs, vocabulary, block_seed, opposites)


def _design_for(holdout_options: Sequence[str], design: str) -> Design:
    """The design that `--design` names, or the one whose own words `--holdout` has, if `--design`
    is the default."""
    named = find_design(design)
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


def kind_asked(asked: Sequence[str], vocabulary: Vocabulary) -> str:
    """Return the attribute kind that `--holdout` names, itself, by a value or in a holdout.json;
    else the tested one.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> kind_asked(["wood:fox"], read_vocabulary("pug"))
    'texture'
    """
    for spec in asked:
        if is_holdout_file(spec):
            return read_holdout(Path(spec.strip()), vocabulary).kind
        kind = named_kind(spec.strip(), vocabulary)
        if kind is not None:
            return kind
    return vocabulary.tested


def parse_seeds(spec: str) -> tuple[int, ...]:
    """Block seeds from `0`, `0..2` or `1,5`. Raises UserError when malformed."""
    try:
        first, dots, last = spec.partition("..")
        seeds = (
            tuple(range(int(first), int(last) + 1)[: MOST_SEEDS + 1])
            if dots
            else tuple(map(int, spec.split(",")))
        )
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
