"""How many scenes each split has: what `--scenes` means."""

from collections.abc import Mapping

from generator.base.declarations import whole_number
from generator.base.errors import UserError

MOST_SCENES = 10_000_000
GRID = "grid"
"""What `--scenes` takes for every arrangement of two objects once."""
DEFAULT_COUNTS = {"train": 2000, "val": 100, "seen": 300, "partial": 300, "unseen": 300}


def parse_scenes(spec: str | None, defaults: Mapping[str, int] = DEFAULT_COUNTS) -> dict[str, int]:
    """Scenes of each split from `N` (shared out as the defaults are) or `train=2000,seen=300` (others keep their default).

    Raises UserError for anything else, and for a split without scenes.
    """
    if spec is None:
        return dict(defaults)
    total = sum(defaults.values())
    whole = whole_number(spec)
    if whole is not None:
        counts = {split: whole * n // total for split, n in defaults.items()}
        counts["train"] += whole - sum(counts.values())
    else:
        pairs = [part.partition("=") for part in spec.split(",")]
        asked = {name.strip(): whole_number(number.strip()) for name, _, number in pairs}
        if not asked.keys() <= defaults.keys() or None in asked.values():
            raise UserError(
                f"Expected --scenes to be a number, {GRID}, or like train=2000,seen=300 with splits {', '.join(defaults)}, got '{spec}'."
            )
        if len(asked) < len(pairs):
            raise UserError(f"--scenes {spec} names a split twice; give each split one number.")
        counts = {**defaults, **{name: number for name, number in asked.items() if number is not None}}
    check_total(sum(counts.values()), spec)
    if short := [split for split, n in counts.items() if n == 0]:
        enough = f": take {-(-total // min(defaults.values())):,} or more" if whole is not None else ""
        raise UserError(
            f"--scenes {spec} leaves no scene for {', '.join(short)}; every split needs at least one{enough}."
        )
    return counts


def check_total(scenes: int, spec: str) -> None:
    """Raise UserError for more scenes than a world can have; `spec` is what was asked."""
    if scenes > MOST_SCENES:
        raise UserError(
            f"--scenes {spec} is more than the {MOST_SCENES:,} scenes that a world can have; ask for fewer."
        )
