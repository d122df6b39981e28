"""The design rotation: every binding is unseen in one of K turns over the same images."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from generator.base.errors import UserError
from generator.holdout.designs.base import Design, parse_scenes
from generator.holdout.holdout import Holdout
from generator.holdout.membership import Rule
from generator.holdout.rotation import MOST_DEFAULT_TURNS, RotationRule, draw_turns, most_turns
from generator.holdout.syntax import check_kind
from generator.vocabulary.schema import Vocabulary

_OPTION = re.compile(r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?turns=?(?P<turns>\d+)")


class Rotation(Design):
    """K holdouts over the same images, one for each turn. Each becomes a benchmark.

    Scenes are planned for one turn each, so that every turn has enough of them to train on. Then
    they belong to all turns, in the split that each turn's rule gives them.
    """

    name = "rotation"
    shares_scenes = True
    grid = False
    counts: ClassVar[Mapping[str, int]] = {"train": 3600, "val": 200, "partial": 400, "unseen": 800}
    """Images of the world, not of a turn. There is no number for `seen`: the images of `partial`
    and `unseen` are seen in the other turns. A turn of four trains on 58% of the images of
    `train`."""

    def claims(self, holdout_option: str) -> bool:
        """`turns=4` is a rotation without `--design`."""
        return _OPTION.fullmatch(holdout_option) is not None

    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """Four turns, or fewer if groups would have less than two names."""
        turns = min(MOST_DEFAULT_TURNS, most_turns(vocabulary, vocabulary.tested))
        return (f"turns={max(turns, 2)}",)

    def draw(
        self,
        holdout_options: Sequence[str],
        vocabulary: Vocabulary,
        block_seed: int,
        opposites: bool,
    ) -> list[Holdout]:
        """One holdout for each turn.

        Raises:
            UserError: The option is not like `turns=4` or `color:shape=turns=4`, or the vocabulary
                is too small for so many turns.
        """
        option = " ".join(holdout_options)
        match = _OPTION.fullmatch(option)
        if match is None:
            raise UserError(
                f"Expected --holdout of the design rotation to be like turns=4 or "
                f"{vocabulary.tested}:{vocabulary.category}=turns=4, got '{option}'."
            )
        kind = check_kind(option, match["kind"], match["category"], vocabulary)
        turns = int(match["turns"])
        _check_turns(option, turns, kind, vocabulary)
        return draw_turns(
            vocabulary=vocabulary,
            kind=kind,
            turns=turns,
            block_seed=block_seed,
            holdout_option=f"{kind}:{vocabulary.category}=turns={turns}",
        )

    def rule(self, vocabulary: Vocabulary, holdout: Holdout) -> Rule:
        """The rule of one turn."""
        return RotationRule(vocabulary, holdout)

    def scene_counts(
        self,
        holdouts: Sequence[Holdout],
        vocabulary: Vocabulary,
        scenes_option: Mapping[str, int] | str | None,
    ) -> list[dict[str, int]]:
        """The scenes that are planned for each turn: each number is divided among the turns.

        Raises:
            UserError: A number is malformed, or smaller than the number of turns.
        """
        totals = scenes_option
        if not isinstance(totals, Mapping):
            totals = parse_scenes(totals, self.counts)
        turns = len(holdouts[0].value_groups)
        for split, total in totals.items():
            if total < turns:
                raise UserError(
                    f"--scenes {scenes_option}: {split} gets {total} scenes, fewer than the "
                    f"{turns} turns; take {turns} or more, and leave out seen, whose images are "
                    f"those of unseen and partial."
                )
        counts = []
        for holdout in holdouts:
            # The first turns take what does not divide evenly.
            turn = holdout.turn or 0
            counts.append({split: (n + turns - 1 - turn) // turns for split, n in totals.items()})
        return counts

    def may_lack(self, holdout: Holdout) -> tuple[str, ...]:
        """Validation has a twentieth of the clusters, which may be none in a world of few names.
        With doses, `partial` keeps the scenes of one sub-block."""
        return ("val", "partial") if holdout.doses else ("val",)

    def benchmark_name(self, holdout: Holdout) -> str:
        """`turn0`; with the block seed if it is not 0, and `-dose` with doses."""
        seed = f"-b{holdout.block_seed}" if holdout.block_seed else ""
        return f"turn{holdout.turn}{seed}{'-dose' if holdout.doses else ''}"

    def declared_leaks(self, holdout: Holdout) -> list[str]:
        """Training shows bindings with a dose, as often as the dose says."""
        if not holdout.doses:
            return []
        times = ", ".join(str(dose.times) for dose in holdout.doses)
        return [f"held-out bindings with a dose are in {times} training images (--dose)"]

    def summary(self, holdout: Holdout) -> str:
        """A one-line summary of what is held out."""
        turns = len(holdout.value_groups)
        turn = holdout.turn or 0
        sub_blocks = []
        for i, values in enumerate(holdout.value_groups):
            objects = holdout.object_groups[(i + turn) % turns]
            sub_blocks.append(f"{', '.join(values)} with {', '.join(objects)}")
        doses = ", ".join(f"{dose.times} times" for dose in holdout.doses)
        exposure = f"; training shows some of them {doses}" if doses else ""
        return f"turn {holdout.turn} of {turns}: {holdout.kind} {'; '.join(sub_blocks)}{exposure}"


def _check_turns(option: str, turns: int, kind: str, vocabulary: Vocabulary) -> None:
    most = most_turns(vocabulary, kind)
    n_values, n_objects = len(vocabulary.values(kind)), len(vocabulary.objects)
    if most < 2:
        raise UserError(
            f"--holdout {option}: a rotation needs at least 4 values and 4 objects, and this world "
            f"has "
            f"{n_values} values of {kind} and {n_objects} objects; hold out a block such as 2x2."
        )
    if not 2 <= turns <= most:
        raise UserError(
            f"--holdout {option}: {n_values} values of {kind} and {n_objects} objects allow 2 to "
            f"{most} turns, with two names or more in each group."
        )


DESIGN = Rotation()
