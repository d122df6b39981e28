"""On which own side of an object another stands, as the plan of a scene decides it."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class OwnSide(NamedTuple):
    """A direction in the frame of an object, in which the plan has another object stand."""

    subject: int
    """The object that stands there."""
    relation: str
    """The direction, such as own-left."""
    object: int
    """The object that looks."""
    is_straight: bool
    """Whether the subject also stands within the margin of the other axis, so that neither of its
    directions holds: straight ahead, for example, and not to the left. Else the plan leaves the
    other axis open."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "OwnSide":
        """The inverse of `_asdict`. Raises KeyError for anything else."""
        return cls(row["subject"], row["relation"], row["object"], row["is_straight"])
