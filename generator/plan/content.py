"""What a scene holds before what is not under test is drawn."""

from dataclasses import dataclass

from generator.base.errors import UserError
from generator.holdout.membership import Arrangement
from generator.scene.layouts import Layout


@dataclass(frozen=True)
class Content:
    """The bindings of a scene, left object first, their layout, and the split that the scene is made for.

    `named`: for a label (design gzsl) the objects in the order in which the label names them.
    """

    arrangement: Arrangement
    layout: Layout
    split: str
    named: tuple[int, ...] = ()


def no_scene(split: str, n: int) -> UserError:
    """The error for a split that no scene of n objects can belong to."""
    return UserError(
        f"This holdout leaves no scene of {n} object{'s' * (n > 1)} for the split {split}: try another --block-seed, "
        f"hold out less, or add values or objects."
    )
