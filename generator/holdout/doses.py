"""Doses of exposure: training shows some held-out bindings of a turn a counted number of times.

With doses 0, 1, 10 and 100, the sub-blocks of a turn get one dose each. A binding with dose 10 is
in exactly ten training images. Accuracy against dose says how many examples of a combination a
model needs; the same images are seen as often as any others in the other turns, for comparison.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from generator.base.declarations import whole_number
from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.holdout import Binding, Dose, Holdout
from generator.holdout.membership import Arrangement
from generator.holdout.rotation import RotationRule
from generator.vocabulary.schema import Vocabulary


def parse_doses(option: str) -> tuple[int, ...]:
    """Numbers of training images from `0,1,10,100`, smallest first.

    Raises:
        UserError: A number is malformed or repeated, or 0 is missing, with which doses are
            compared.

    >>> parse_doses("10,0,1")
    (0, 1, 10)
    """
    numbers = [whole_number(part) for part in option.split(",")]
    doses = tuple(sorted(number for number in numbers if number is not None))
    is_malformed = len(doses) < len(numbers)
    is_repeated = len(set(doses)) < len(doses)
    if is_malformed or is_repeated or len(doses) < 2:
        raise UserError(
            f"Expected --dose to be different numbers such as 0,1,10,100, got '{option}'."
        )
    # The dose 0 is what `unseen` means; without it there is nothing to compare a dose with.
    if doses[0] != 0:
        raise UserError(
            f"--dose {option}: the dose 0, with which the others are compared, is missing."
        )
    return doses


def with_doses(
    *,
    holdout: Holdout,
    doses: tuple[int, ...],
    vocabulary: Vocabulary,
    scenes: Iterable[tuple[str, Arrangement]],
) -> Holdout:
    """A turn whose sub-blocks have doses, with the training scenes that show them.

    Sub-block i of turn k has dose number i + 2k (modulo the number of doses), so that the dose of
    an object group, and with an odd number of doses also that of a value group, changes from turn
    to turn: a dose is not always about the same names.

    Args:
        holdout: A turn of a rotation.
        doses: Different numbers, with 0.
        vocabulary: Of the world.
        scenes: Scene id and arrangement of every scene of the world.

    Returns:
        The holdout with its doses above 0. Each dose lists the scenes that train in spite of what
        they show: each shows one binding of the dose and nothing else that is held out.

    Raises:
        UserError: There are more doses than sub-blocks, or too few training scenes for a dose.
    """
    turn = _check_turn(holdout, doses)
    turns = len(holdout.value_groups)
    candidates = _candidate_scenes(holdout, vocabulary, scenes)
    bindings_of_dose: dict[int, list[Binding]] = defaultdict(list)
    for i, values in enumerate(holdout.value_groups):
        dose = doses[(i + 2 * turn) % len(doses)]
        objects = holdout.object_groups[(i + turn) % turns]
        bindings_of_dose[dose].extend(product(values, objects))
    doses_above_0 = []
    for times in doses:
        if times == 0 or times not in bindings_of_dose:
            continue
        chosen: list[str] = []
        for binding in bindings_of_dose[times]:
            of_binding = candidates[binding]
            if len(of_binding) < times:
                raise UserError(
                    f"--dose {times}: turn {turn} has {len(of_binding)} training images "
                    f"that show {' '.join(binding)} and nothing else that is held out; render "
                    f"more with --scenes train=N, or take a smaller dose."
                )
            # The first ones of a random order: a smaller dose of the same binding is a part of a
            # larger one.
            chosen += of_binding[:times]
        doses_above_0.append(Dose(times, tuple(bindings_of_dose[times]), tuple(sorted(chosen))))
    return replace(holdout, doses=tuple(doses_above_0))


def _check_turn(holdout: Holdout, doses: tuple[int, ...]) -> int:
    """The number of the turn. Raises UserError if it cannot have these doses."""
    turns = len(holdout.value_groups)
    option = f"--dose {','.join(map(str, doses))}"
    if holdout.rotates_frames:
        raise UserError(
            f"{option}: doses are numbers of images of a binding, and the holdout is a rotation of "
            f"own directions; leave --dose out, or take --holdout turns=4."
        )
    if holdout.turn is None or len(doses) > turns:
        raise UserError(
            f"{option}: each dose needs a sub-block of its own, and the holdout has {turns}; take "
            f"a rotation with that many turns, such as --holdout turns={len(doses)}."
        )
    return holdout.turn


def _candidate_scenes(
    holdout: Holdout, vocabulary: Vocabulary, scenes: Iterable[tuple[str, Arrangement]]
) -> dict[Binding, list[str]]:
    """For each held-out binding, the training scenes that show it alone, in random order."""
    rule = RotationRule(vocabulary, holdout)
    candidates: dict[Binding, list[str]] = defaultdict(list)
    for scene_id, arrangement in scenes:
        # A scene with two held-out bindings would show one of them beyond its dose.
        held_out = [binding for binding in arrangement if holdout.holds_out(*binding)]
        if len(held_out) == 1 and rule.pool(arrangement) == "train":
            candidates[held_out[0]].append(scene_id)
    # One stream over sorted bindings: the order of the scenes' table does not matter to the draw.
    stream = Stream("doses", holdout.block_seed, holdout.kind, holdout.turn or 0)
    return defaultdict(
        list, {binding: stream.shuffled(candidates[binding]) for binding in sorted(candidates)}
    )
