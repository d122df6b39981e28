"""Base class of designs, which hold combinations out of training. New designs override methods
(docs/splits.md)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from generator.base.declarations import whole_number
from generator.base.errors import UserError
from generator.dataset.own_frames import describe_own_frames, other_triples
from generator.holdout.holdout import Holdout
from generator.holdout.membership import ALL, ASYMMETRIC, Rule, SplitPlan
from generator.holdout.possible import splits_that_stay_empty
from generator.holdout.syntax import NONE, file_name_of, short_name
from generator.vocabulary.schema import Vocabulary

MOST_SCENES = 10_000_000
"""The most scenes of a world."""
GRID = "grid"
"""The value of `--scenes` for every arrangement of two objects once."""
UNDIVIDED_COUNTS = {ALL: 1000}
"""Default number of scenes if nothing is held out."""
ASYMMETRIC_SCENES = 150
"""Default number of scenes of each split of asymmetric clusters."""
DEFAULT_COUNTS = {"train": 2000, "val": 100, "seen": 300, "partial": 300, "unseen": 300}
"""Default number of scenes of each split of a block."""
# Bindings and triples that a summary spells out.
_SPELT_OUT = 3


@dataclass(frozen=True)
class FirstTexts:
    """The texts of a benchmark that is made with its world."""

    protocols: tuple[str, ...]
    """Its protocols; `Protocol.first_options` gives the options of each."""
    template: str | None = "a-and-a"
    """The template of all texts; None draws a template per item."""


class Design(ABC):
    """A way to hold combinations out of training. It has no state: results depend only on
    arguments.

    A new design sets `name`, and implements `default_holdout` and `draw`. It may override the
    attributes and the other methods.
    """

    name: ClassVar[str]
    """The value of `--design`."""
    prefix: ClassVar[str] = ""
    """Starts the names of its benchmarks and folders."""
    pairs: ClassVar[bool] = True
    """Whether scenes may have minimal pairs (`--pairs`)."""
    grid: ClassVar[bool] = True
    """Whether its splits may cover all arrangements of two objects (`--scenes grid`)."""
    label_captions: ClassVar[bool] = False
    """Whether training captions are the labels of its class lists."""
    shares_scenes: ClassVar[bool] = False
    """Whether every scene belongs to every holdout of the design, in the split that the holdout's
    rule gives it. Otherwise a scene belongs to the holdout that it was planned for."""
    counts: ClassVar[Mapping[str, int]] = DEFAULT_COUNTS
    """Default number of scenes of each split."""

    def claims(self, holdout_option: str) -> bool:
        """Whether a value of `--holdout` can only be of this design, so that `--design` may be left
        out.

        Args:
            holdout_option: one value of `--holdout`, without blanks at its ends.
        """
        return False

    @abstractmethod
    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """The default of `--holdout`.

        Args:
            vocabulary: of the world, whose numbers of values and objects limit what can be held
                out.
        """

    @abstractmethod
    def draw(
        self,
        holdout_options: Sequence[str],
        vocabulary: Vocabulary,
        block_seed: int,
        opposites: bool,
    ) -> list[Holdout]:
        """The holdouts that `--holdout` describes; each becomes a benchmark.

        Args:
            holdout_options: the values of `--holdout`, or the default.
            vocabulary: whose names are held out.
            block_seed: draws what the options leave open; the same seed always gives the same
                holdouts.
            opposites: whether the opposites of held-out relations are held out too.

        Raises:
            UserError: an option is malformed or impossible; the message says how to correct it.
        """

    def rule(self, vocabulary: Vocabulary, holdout: Holdout) -> Rule:
        """The rule that assigns scenes to splits.

        Args:
            vocabulary: of the world.
            holdout: that the design drew.
        """
        return SplitPlan(vocabulary, holdout)

    def scene_counts(
        self,
        holdouts: Sequence[Holdout],
        vocabulary: Vocabulary,
        scenes_option: Mapping[str, int] | str | None,
    ) -> list[dict[str, int]]:
        """Number of scenes of each split, for each holdout.

        Args:
            holdouts: that the design drew.
            vocabulary: of the world.
            scenes_option: the value of `--scenes`, or numbers by split; None for the default.

        Raises:
            UserError: a number is malformed, or a split would have no scene.
        """
        if isinstance(scenes_option, Mapping):
            return [dict(scenes_option) for _ in holdouts]
        holdout = holdouts[0]
        default_counts = UNDIVIDED_COUNTS if holdout.is_empty else self.counts
        empty = splits_that_stay_empty(holdout)
        # A split that the shape of the holdout leaves empty must not be asked for.
        defaults = {split: n for split, n in default_counts.items() if split not in empty}
        if holdout.asymmetric:
            defaults.update(dict.fromkeys(ASYMMETRIC, ASYMMETRIC_SCENES))
        counts = parse_scenes(scenes_option, defaults)
        return [dict(counts) for _ in holdouts]

    def may_lack(self, holdout: Holdout) -> tuple[str, ...]:
        """Splits that may be empty: those that the shape of the bindings leaves without scenes.

        If only relations are held out, scenes of two objects are never `partial`.

        Args:
            holdout: that the design drew.

        Returns:
            The names of the splits. Planning raises UserError if any other split has no scene.
        """
        if holdout.bindings:
            return tuple(splits_that_stay_empty(holdout))
        return () if holdout.is_empty else ("partial",)

    def benchmark_name(self, holdout: Holdout) -> str:
        """The default name of a benchmark, from the requested holdout and the block seed.

        Args:
            holdout: that the design drew.

        Returns:
            A name for a folder; different for different holdouts of one world.
        """
        if holdout.is_empty:
            return NONE
        # Of what was asked, not of what was drawn: the seed in the name stands for the draw.
        words = [file_name_of(spec, holdout.kind, holdout.category) for spec in holdout.asked]
        return f"{self.prefix}{short_name('+'.join(words))}-b{holdout.block_seed}"

    def summary(self, holdout: Holdout) -> str:
        """A one-line summary of what is held out.

        Args:
            holdout: that the design drew.

        Returns:
            A phrase without a full stop, which follows "Held out: ".
        """
        parts = []
        if holdout.bindings and holdout.is_block:
            values, objects = ", ".join(holdout.values), ", ".join(holdout.objects)
            parts.append(f"{holdout.kind} {values} with {holdout.category} {objects}")
        elif holdout.bindings:
            first_bindings = ", ".join(
                " ".join(binding) for binding in holdout.bindings[:_SPELT_OUT]
            )
            rest = ", ..." * (len(holdout.bindings) > _SPELT_OUT)
            count = f"{len(holdout.bindings)} binding{'s' * (len(holdout.bindings) > 1)}"
            parts.append(
                f"{count} of {holdout.kind} and {holdout.category} ({first_bindings}{rest})"
            )
        triples = other_triples(holdout.triples)
        if triples:
            first = [" ".join(triple) for triple in triples[:_SPELT_OUT]]
            more = ", ..." * (len(triples) > _SPELT_OUT)
            parts.append(f"{len(triples)} relation triples ({', '.join(first)}{more})")
        if holdout.own_frames:
            parts.append(describe_own_frames(holdout.own_frames))
        absent = (*holdout.absent_values, *holdout.absent_objects)
        if absent:
            parts.append(f"every {', '.join(absent)}")
        if holdout.asymmetric:
            parts.append("a fifth of the asymmetric groups")
        return "; ".join(parts) or "nothing"

    def first_texts(self, holdout: Holdout) -> FirstTexts:
        """The texts of the benchmark that is made with its world.

        Args:
            holdout: that the design drew.
        """
        protocols = ("binary", "retrieval", "pairs")
        # The default template names no relation.
        return FirstTexts(protocols, template=None) if holdout.triples else FirstTexts(protocols)

    def equal_familiarity(self, holdout: Holdout) -> bool:
        """Whether every foil must be as familiar as its caption. Without opposites, a flipped
        relation is more familiar.

        Args:
            holdout: that the design drew.
        """
        return holdout.opposites or not holdout.triples

    def declared_leaks(self, holdout: Holdout) -> list[str]:
        """The leaks that a benchmark must declare.

        Args:
            holdout: that the design drew.

        Returns:
            A phrase for each leak.
        """
        if self.equal_familiarity(holdout):
            return []
        return ["a flipped relation is more familiar than its held-out truth (--no-opposites)"]


def parse_scenes(spec: str | None, defaults: Mapping[str, int] = DEFAULT_COUNTS) -> dict[str, int]:
    """Number of scenes of each split from `N` (divided in proportion to the defaults) or
    `train=2000,seen=300`.

    Splits that are not named keep their default, or less: if the named splits get fewer scenes than
    by default, the others shrink by the same factor.

    Args:
        spec: the text; None for the defaults.
        defaults: numbers by split.

    Raises:
        UserError: it is any other text, or leaves a split without scenes.

    >>> parse_scenes("train=100")
    {'train': 100, 'val': 5, 'seen': 15, 'partial': 15, 'unseen': 15}
    """
    if spec is None:
        return dict(defaults)
    total = sum(defaults.values())
    whole = whole_number(spec)
    if whole is not None:
        counts = {split: whole * n // total for split, n in defaults.items()}
        # What rounding left goes to training, the first split.
        counts[next(iter(counts))] += whole - sum(counts.values())
    else:
        pairs = [part.partition("=") for part in spec.split(",")]
        numbers = {}
        for name, _, number in pairs:
            numbers[name.strip()] = whole_number(number.strip())
        if not numbers.keys() <= defaults.keys() or None in numbers.values():
            raise UserError(
                f"Expected --scenes to be a number, {GRID}, or like train=2000,seen=300 with "
                f"splits {', '.join(defaults)}, got '{spec}'."
            )
        if len(numbers) < len(pairs):
            raise UserError(f"--scenes {spec} names a split twice; give each split one number.")
        named = {name: number for name, number in numbers.items() if number is not None}
        named_by_default = sum(defaults[name] for name in named)
        # Only down: more scenes of one split need not mean more of the others.
        smaller = min(1, sum(named.values()) / named_by_default)
        counts = {split: max(1, round(n * smaller)) for split, n in defaults.items()}
        counts |= named
    check_total(sum(counts.values()), spec)
    empty = [split for split, n in counts.items() if n == 0]
    if empty:
        enough = ""
        if whole is not None:
            # The least number of which each split gets one, rounded up.
            enough = f": take {-(-total // min(defaults.values())):,} or more"
        raise UserError(
            f"--scenes {spec} leaves no scene for {', '.join(empty)}; every split needs at least "
            f"one{enough}."
        )
    return counts


def check_total(scenes: int, spec: str) -> None:
    """Check that a world can have this many scenes.

    Args:
        scenes: the number, of all splits together.
        spec: the value of `--scenes`, for the message.

    Raises:
        UserError: it cannot.
    """
    if scenes > MOST_SCENES:
        raise UserError(
            f"--scenes {spec} is more than the {MOST_SCENES:,} scenes that a world can have; ask "
            f"for fewer."
        )
