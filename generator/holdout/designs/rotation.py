"""The design rotation: every binding, or every axis of an object's own frame, is unseen in one turn
over the same images."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from generator.base.errors import UserError
from generator.dataset.own_frames import describe_own_frames
from generator.holdout.designs.base import Design, parse_scenes
from generator.holdout.frame_rotation import FrameRotationRule, draw_frame_turns
from generator.holdout.holdout import Holdout
from generator.holdout.membership import Rule
from generator.holdout.rotation import MOST_DEFAULT_TURNS, RotationRule, draw_turns, most_turns
from generator.holdout.syntax import OWN_FRAMES, RELATIONS, check_kind
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
            UserError: The option is not like `turns=4`, `color:shape=turns=4` or
                `relation:object=turns=2`, or the vocabulary is too small for so many turns.
        """
        option = " ".join(holdout_options)
        match = _OPTION.fullmatch(option)
        if match is None:
            raise UserError(
                f"Expected --holdout of the design rotation to be like turns=4 or "
                f"{vocabulary.tested}:{vocabulary.category}=turns=4, got '{option}'."
            )
        turns = int(match["turns"])
        # `relation:object=turns=2` has the form of a kind and its category.
        if match["kind"] == RELATIONS[0]:
            _check_frames(option, (match["kind"], match["category"]), opposites=opposites)
            return draw_frame_turns(
                spec=option, vocabulary=vocabulary, turns=turns, block_seed=block_seed
            )
        kind = check_kind(option, match["kind"], category=match["category"], vocabulary=vocabulary)
        _check_turns(option, turns, kind=kind, vocabulary=vocabulary)
        return draw_turns(
            vocabulary=vocabulary,
            kind=kind,
            turns=turns,
            block_seed=block_seed,
            holdout_option=f"{kind}:{vocabulary.category}=turns={turns}",
        )

    def rule(self, vocabulary: Vocabulary, holdout: Holdout) -> Rule:
        """The rule of one turn."""
        if holdout.rotates_frames:
            return FrameRotationRule(vocabulary, holdout)
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
            never = _splits_without_scenes(holdouts[0])
            defaults = {split: n for split, n in self.counts.items() if split not in never}
            totals = parse_scenes(totals, defaults)
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
            turn = holdout.turn or 0
            of_turn = {}
            for split, total in totals.items():
                # The first turns take what does not divide evenly.
                of_turn[split] = (total + turns - 1 - turn) // turns
            counts.append(of_turn)
        return counts

    def may_lack(self, holdout: Holdout) -> tuple[str, ...]:
        """Validation has a twentieth of the clusters, which may be none in a world of few names.
        With doses, `partial` keeps the scenes of one sub-block."""
        if holdout.doses:
            return ("val", "partial")
        return ("val", *_splits_without_scenes(holdout))

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
        if holdout.rotates_frames:
            return f"turn {turn} of {turns}: {describe_own_frames(holdout.own_frames)}"
        sub_blocks = []
        for i, values in enumerate(holdout.value_groups):
            objects = holdout.object_groups[(i + turn) % turns]
            sub_blocks.append(f"{', '.join(values)} with {', '.join(objects)}")
        doses = ", ".join(f"{dose.times} times" for dose in holdout.doses)
        exposure = f"; training shows some of them {doses}" if doses else ""
        return f"turn {holdout.turn} of {turns}: {holdout.kind} {'; '.join(sub_blocks)}{exposure}"


def _splits_without_scenes(holdout: Holdout) -> tuple[str, ...]:
    """The splits that no scene of a turn is in. Where own directions rotate, an image with one
    object of each turn's holdout is held out in both, so it is in no split."""
    return ("partial",) if holdout.rotates_frames else ()


def _check_frames(option: str, names: tuple[str, str], *, opposites: bool) -> None:
    """Raise UserError if the relations of a rotation are not own directions, or not whole axes."""
    if names != OWN_FRAMES:
        raise UserError(
            f"--holdout {option}: only directions in an object's own frame have a rotation; an "
            f"image always shows both axes of the camera, one of which each turn would hold out, "
            f"so none could train; take relation:object=turns=2."
        )
    # A turn without the opposite would leave half of an axis to no turn.
    if not opposites:
        raise UserError(
            f"--holdout {option}: a rotation of own directions holds out whole axes, with the "
            f"opposite of each direction; leave --no-opposites out."
        )


def _check_turns(option: str, turns: int, *, kind: str, vocabulary: Vocabulary) -> None:
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
