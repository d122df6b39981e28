"""What is embedded: captions of a benchmark, and some images of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.audits.generation.prompts import captions_of, shown_splits
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark


@dataclass(frozen=True)
class Class:
    """A caption, the first split that has it, and some scenes that it is true of."""

    caption: str
    split: str
    scenes: tuple[str, ...]


def choose_classes(benchmark: Benchmark, splits: Sequence[str], most: int, images: int, seed: int) -> list[Class]:
    """At most `most` captions, drawn by seed, of `splits` (by default as `choose_prompts`), each with at most `images` scenes."""
    of_split = captions_of(benchmark)
    found: dict[str, Class] = {}
    for split in shown_splits(benchmark, of_split, splits):
        for caption, scenes in sorted(of_split[split].items()):
            drawn = Stream(seed, "images of a caption", caption).sample(scenes, images)
            found.setdefault(caption, Class(caption, split, tuple(drawn)))
    return Stream(seed, "captions").sample(list(found.values()), most)


def with_own_images(classes: Sequence[Class], benchmark: Benchmark) -> list[Class]:
    """The classes without those whose images are all images of an earlier one, as those of the converse of a relation are."""
    of_split = captions_of(benchmark)
    kept: list[Class] = []
    known: list[set[str]] = []
    for each in classes:
        scenes = set(of_split[each.split][each.caption])
        if not any(scenes <= other for other in known):
            kept.append(each)
            known.append(scenes)
    return kept
