"""`WorldOptions`: the options of a world to plan, declared once for `gen plan`, `gen render` and
`generator.api`.

To add an option, add a field made by `option`, and read it in `generator/plan/prepare.py`. This
module loads nothing heavy, because `gen --help` reads it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from generator.holdout.designs import design_names


def option(default: Any, about: str, **of_command: Any) -> Any:
    """A field that is also an option of a command.

    Args:
        default: of the Python function. None stands for what the preset or the design says.
        about: the help of the option.
        of_command: what else the command needs: `flag` (the option, if it is not named like the
            field), `default_in_help` (where `default` is None), `multiple` (it may be repeated),
            `least` (of a number).
    """
    return field(default=default, metadata={"help": about, **of_command})


@dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """The options of a world to plan. The help of each option explains it."""

    preset: str | None = option(
        None, "A published benchmark: bindsplit2026, pearson2025, pearson2025-clean or spare."
    )
    design: str | None = option(
        None,
        f"How combinations are held out: {', '.join(design_names())} (docs/splits.md).",
        default_in_help="bindsplit",
    )
    holdout: str | Sequence[str] | None = option(
        None,
        "What to hold out. Drawn by seed: values x objects such as 3x3 or color:shape=2x4, "
        "relations x pairs such as "
        "relation:pair=2x3, an axis of own directions x objects such as relation:object=2x3. By "
        'name: "color=gray,blue shape=cube,cylinder", gray:cube, "left: cube, sphere", "own-left: '
        'lion" '
        "(docs/choose.md). Also k1..7 (coverage), atoms=1x2 (systematicity), objects=3 (gzsl), "
        "asymmetric (beside bindings), a holdout.json, or none for one split without training. "
        "Repeat for several.  [default: 3x3, or the design's own]",
        multiple=True,
    )
    family: str | None = option(
        None, "World family: a name, or the path of your own TOML file.", default_in_help="clevr"
    )
    assets: str | None = option(
        None,
        "Set of meshes: builtin, 0ad or one of your own (docs/assets.md).  [default: the family's "
        "own, else builtin]",
    )
    environments: Sequence[str] = option(
        (),
        "The only environment of the scenes, such as desert in family pug. Repeat for several.  "
        "[default: all of the family]",
        flag="--environment",
        multiple=True,
    )
    objects: str | int | tuple[int, int] | None = option(
        None,
        "Objects per scene: a number, or a range such as 3..10.",
        default_in_help="2, or as the family says: 3..10 in clevr-many and clevr-original",
    )
    scenes: str | int | Mapping[str, int] | None = option(
        None,
        "Number of scenes: in all, by split as train=2000,seen=300,... (fewer of these means fewer "
        "of the others too), or grid for every arrangement of two objects once.  [default: "
        "train=2000, val=100, seen, partial, unseen=300; 1000 if nothing is held out]",
    )
    resolution: str = option(
        "320x240", "Width x height in pixels. Objects are placed to fit into this image."
    )
    pairs: bool | None = option(
        None,
        "Whether half of the scenes of val, seen, partial and unseen are twins of the other half, "
        "in which two objects have exchanged values. --scenes counts twins too.  [default: "
        "--pairs, but for --scenes grid and the design gzsl]",
        flag="--pairs/--no-pairs",
    )
    exchange: str | None = option(
        None,
        "What twins exchange: values, places, or both, each in half of the pairs.  [default: "
        "values; both if relations are held out]",
    )
    viewpoints: int | None = option(
        None,
        "Number of azimuths from which the camera sees the scenes, equally frequent, such as 4 for "
        "every 90 degrees. Objects that declare a front then have any heading (docs/frames.md).  "
        "[default: 1, the family's own]",
        least=1,
    )
    turns: str | float | Sequence[float] | None = option(
        None,
        "Make turn twins: half of the scenes of val, seen, partial and unseen are the other half "
        "seen from another azimuth, which is so many degrees further, such as 180 or 90,180,270. "
        "They replace the twins of --exchange.  [default: none]",
    )
    even_bindings: bool = option(
        False,
        "Also make combinations equally frequent in training, and in worlds of which nothing is "
        "held out: with as many scenes as divide evenly, their counts are equal (docs/suite.md).",
        is_flag=True,
    )
    seed: int = option(0, "Seed of the scenes.", least=0)
    block_seed: str | int | Sequence[int] | None = option(
        None,
        "Seed that draws the block, or several such as 0..2 or 1,5: one benchmark each.",
        default_in_help="0",
    )
    opposites: bool | None = option(
        None,
        "Also hold out the opposites of held-out relations, so that a flipped foil is as "
        "unfamiliar as its caption.",
        flag="--opposites/--no-opposites",
        default_in_help=True,
    )
