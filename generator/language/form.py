"""What a caption asserts, as data."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Mention:
    """An object that a caption says exists: its category, and (kind, value) of the attributes it names."""

    category: str
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Form:
    """A caption's assertion: there are these different objects, in this order of mention."""

    objects: tuple[Mention, ...]

    def to_json(self) -> str:
        """Compact JSON."""
        return json.dumps(
            {"objects": [{"category": m.category, "attributes": dict(m.attributes)} for m in self.objects]},
            separators=(",", ":"),
        )
