"""How many scenes each split has: what `--scenes` means."""

from collections.abc import Mapping

from generator.dataset.errors import UserError

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
    if spec.isdigit():
        counts = {split: int(spec) * n // total for split, n in defaults.items()}
        counts["train"] += int(spec) - sum(counts.values())
    else:
        pairs = [part.partition("=") for part in spec.split(",")]
        if not all(name.strip() in defaults and number.strip().isdigit() for name, _, number in pairs):
            raise UserError(
                f"Expected --scenes to be a number, {GRID}, or like train=2000,seen=300 with splits {', '.join(defaults)}, got '{spec}'."
            )
        counts = {**defaults, **{name.strip(): int(number) for name, _, number in pairs}}
    if short := [split for split, n in counts.items() if n == 0]:
        enough = f": take {-(-total // min(defaults.values())):,} or more" if spec.isdigit() else ""
        raise UserError(
            f"--scenes {spec} leaves no scene for {', '.join(short)}; every split needs at least one{enough}."
        )
    return counts
