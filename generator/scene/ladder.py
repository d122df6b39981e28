"""Ladders: one scene in several steps, which differ in one factor only (docs/ladders.md).

A target is one of the two objects that every caption of the ladder names. Each ladder is planned
twice: in the second half the two targets have exchanged their values of the tested kind.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

DISTRACTORS, INTERFERENCE, SIZE, OCCLUSION, CONTRAST, CAPTION_LENGTH = FACTORS = (
    "distractors",
    "interference",
    "size",
    "occlusion",
    "contrast",
    "caption-length",
)
"""What a ladder grades."""


class Ladder(NamedTuple):
    """The place of a planned scene in its ladder."""

    factor: str
    """One of `FACTORS`."""
    magnitudes: tuple[float, ...]
    """The magnitude of the factor at each step, from the easiest step to the hardest
    (generator/plan/ladder.py)."""
    step: int
    """The step of the scene, from 0."""
    is_exchanged: bool
    """Whether the targets have exchanged their values."""
    targets: tuple[int, int]
    """The two objects, from left to right, that captions name at every step."""
    distractors: tuple[int, ...]
    """The other objects, in the order in which they appear or begin to interfere."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Ladder":
        """Read the struct of a plan's row.

        Args:
            row: Its fields by name, as `_asdict` writes them.

        Returns:
            The ladder.
        """
        first, second = row["targets"]
        return cls(
            factor=row["factor"],
            magnitudes=tuple(row["magnitudes"]),
            step=row["step"],
            is_exchanged=row["is_exchanged"],
            targets=(first, second),
            distractors=tuple(row["distractors"]),
        )

    @property
    def magnitude(self) -> float:
        """The magnitude of the factor at this step."""
        return self.magnitudes[self.step]

    @property
    def place(self) -> int:
        """The place of the scene among those of its ladder, from 0, in the order of the plan: the
        hardest step comes first."""
        n_steps = len(steps_of_images(self))
        return self.is_exchanged * n_steps + (n_steps - 1 - self.step)

    @property
    def present(self) -> list[int]:
        """The objects of the plan that the scene shows, from left to right."""
        n_distractors = len(self.distractors)
        if self.factor == DISTRACTORS:
            n_distractors = int(self.magnitude)
        return sorted((*self.targets, *self.distractors[:n_distractors]))


def steps_of_images(ladder: Ladder) -> range:
    """Return the steps that have an image of their own: one if only captions are graded.

    Args:
        ladder: The ladder of any of its scenes.

    Returns:
        Their numbers, from the easiest to the hardest.
    """
    if ladder.factor == CAPTION_LENGTH:
        return range(1)
    return range(len(ladder.magnitudes))


def clearest_place(ladder: Ladder) -> int:
    """Return the place in the ladder of the scene that has to show every object as the vocabulary's
    rules ask: smaller steps and degraded images break these rules on purpose.

    Args:
        ladder: The ladder of any of its scenes.

    Returns:
        Its place in the order of the plan.
    """
    if ladder.factor == SIZE:
        return len(ladder.magnitudes) - 1  # the easiest step
    return 0  # every object is there
