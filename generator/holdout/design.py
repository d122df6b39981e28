"""What `gen render` was asked to hold out and how many scenes of what to make: designs, their holdouts, their counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.dataset.errors import UserError
from generator.holdout.blocks import draw_holdouts
from generator.holdout.class_lists import TASKS, ClassRule
from generator.holdout.holdout import Holdout
from generator.holdout.membership import SPLITS, UNSEEN_ATOMS
from generator.holdout.presets import preset_names
from generator.plan.class_scenes import ClassContents
from generator.plan.plan import GRID, Part
from generator.vocabulary.schema import Vocabulary

DEFAULT_SCENES = {"train": 2000, "val": 100, "seen": 300, "partial": 300, "unseen": 300}
_OF_CLASSES = 6000
_ATOMS = {UNSEEN_ATOMS: 300}
_A_POINT = {"train": 1000, "val": 50, "seen": 150, "partial": 150, "unseen": 150}


@dataclass(frozen=True)
class Design:
    """What shall be held out: the design's name, blocks as the user wrote them, block seeds, and whether a block of
    relations is closed under opposites. `scenes` are numbers by split, or what the user wrote of them, None for the design's own."""

    name: str = "bindsplit"
    holdout: tuple[str, ...] = ()
    block_seeds: tuple[int, ...] = (0,)
    opposites: bool = True
    scenes: Mapping[str, int] | str | None = None

    def holdouts(self, vocabulary: Vocabulary) -> list[Holdout]:
        """Every holdout of the design, each of which becomes a benchmark. Raises UserError for what is impossible."""
        return [
            holdout
            for block_seed in self.block_seeds
            for holdout in draw_holdouts(self.holdout, self.name, vocabulary, block_seed, self.opposites)
        ]

    def parts(self, holdouts: Sequence[Holdout], vocabulary: Vocabulary) -> list[Part]:
        """What scenes are made for each holdout; over the whole grid of two objects all share the same scenes."""
        if isinstance(self.scenes, str) and self.scenes.strip() == GRID:
            if any(holdout.design == "gzsl" for holdout in holdouts):
                raise UserError(
                    "--scenes grid has two objects in each scene; the design gzsl makes its own scenes: leave --scenes out."
                )
            return [Part(holdouts[0], None)]
        if any(holdout.design == "gzsl" for holdout in holdouts):
            return [
                Part(holdout, counts)
                for holdout, counts in zip(holdouts, self._of_classes(holdouts, vocabulary), strict=True)
            ]
        if self.scenes is not None and not isinstance(self.scenes, str):
            return [Part(holdout, dict(self.scenes)) for holdout in holdouts]
        return [Part(holdout, parse_scenes(self.scenes, _defaults(holdout))) for holdout in holdouts]

    def _of_classes(self, holdouts: Sequence[Holdout], vocabulary: Vocabulary) -> list[dict[str, int]]:
        """Scenes of each split as published, or so many in all, shared out as those are."""
        published = [ClassContents(ClassRule(vocabulary, holdout)).counts() for holdout in holdouts]
        if self.scenes is None and holdouts[0].asked[0] in preset_names():
            return published
        scenes = str(_OF_CLASSES) if self.scenes is None else self.scenes
        if not isinstance(scenes, str) or not scenes.strip().isdigit():
            raise UserError(
                f"Expected --scenes of the design gzsl to be a number for its {len(TASKS)} datasets together, got '{self.scenes}'."
            )
        total = sum(sum(counts.values()) for counts in published)
        made = [{split: int(scenes) * n // total for split, n in counts.items()} for counts in published]
        if short := [split for counts in made for split, n in counts.items() if n == 0]:
            raise UserError(
                f"--scenes {self.scenes} leaves no scene for {', '.join(dict.fromkeys(short))}; take {total // 100:,} or more."
            )
        return made


def _defaults(holdout: Holdout) -> dict[str, int]:
    if holdout.design == "coverage":
        return dict(_A_POINT)
    return {**DEFAULT_SCENES, **(_ATOMS if holdout.design == "systematicity" else {})}


def parse_scenes(spec: str | None, defaults: Mapping[str, int] = DEFAULT_SCENES) -> dict[str, int]:
    """Scenes for each split from `N` (shared out as the defaults are) or `train=2000,seen=300` (others stay default).

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
                f"Expected --scenes to be a number, grid, or like train=2000,seen=300 with splits {', '.join(defaults)}, got '{spec}'."
            )
        counts = {**defaults, **{name.strip(): int(number) for name, _, number in pairs}}
    if short := [split for split, n in counts.items() if n == 0]:
        enough = f": take {-(-total // min(defaults.values())):,} or more" if spec.isdigit() else ""
        raise UserError(
            f"--scenes {spec} leaves no scene for {', '.join(short)}; every split needs at least one{enough}."
        )
    return counts


def parse_seeds(spec: str) -> tuple[int, ...]:
    """Block seeds from `0`, `0..2` or `1,5`. Raises UserError when malformed."""
    try:
        first, dots, last = spec.partition("..")
        seeds = tuple(range(int(first), int(last) + 1)) if dots else tuple(int(part) for part in spec.split(","))
    except ValueError:
        seeds = ()
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise UserError(f"Expected --block-seed to be a number from 0, or several such as 0..2 or 1,5, got '{spec}'.")
    return seeds


def benchmark_name(holdout: Holdout) -> str:
    """The default name of a benchmark: what is held out, and the seed of the block."""
    if holdout.design == "gzsl":
        stem = holdout.asked[0] if not holdout.asked[0].startswith("classes") else "gzsl"
        return f"{stem}-{holdout.task}" + (f"-b{holdout.block_seed}" if stem == "gzsl" else "")
    words = []
    for spec in holdout.asked:
        known = spec if ":" in spec or "=" in spec else f"{holdout.kind}:{holdout.category}={spec}"
        words.append(known.replace(":", "-").replace("=", "-"))
    prefix = "systematicity-" if holdout.design == "systematicity" else ""
    return f"{prefix}{'+'.join(words)}-b{holdout.block_seed}"


def said(holdout: Holdout) -> str:
    """What is held out, as a person says it in a line."""
    if holdout.design == "gzsl":
        labels = sum(each.split != "train" for each in holdout.classes)
        return f"{labels} of {len(holdout.classes)} labels ({holdout.task})"
    parts = []
    if holdout.design == "coverage":
        parts.append(
            f"all but {holdout.asked[0].rpartition('k')[2]} of {len(holdout.values)} values of {holdout.kind} with each {holdout.category}"
        )
    elif holdout.bindings:
        parts.append(f"{', '.join(holdout.values)} x {', '.join(holdout.objects)}")
    if holdout.triples:
        shown = [" ".join(triple) for triple in holdout.triples[:3]]
        parts.append(
            f"{len(holdout.triples)} relation triples ({', '.join(shown)}{', ...' * (len(holdout.triples) > 3)})"
        )
    if absent := (*holdout.absent_values, *holdout.absent_objects):
        parts.append(f"every {', '.join(absent)}")
    return "; ".join(parts)


SPLITS_OF = {"gzsl": ClassRule.splits, "systematicity": (*SPLITS, UNSEEN_ATOMS)}
