"""Tables of labels for tests of judging splits made by others."""

from collections.abc import Callable, Iterable, Mapping
from itertools import permutations
from typing import Any

from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.vocabulary.schema import read_vocabulary

Judge = Callable[..., dict[str, Any]]
"""Judges the text of a table, with entries of --columns."""


def details_of(result: Mapping[str, Any], fault: str) -> list[str]:
    """What the findings of a fault say."""
    return [finding["what"] for finding in result["findings"] if finding["fault"] == fault]


def table(header: str, *lines: str) -> str:
    return "\n".join([header, *lines]) + "\n"


def relations_table(lists: Mapping[str, Iterable[str]]) -> str:
    """A table of labels such as "cube left sphere", by split."""
    lines = [
        ",".join([*label.split(), split]) for split, labels in lists.items() for label in labels
    ]
    return table("first,relation,second,split", *lines)


COLORS = ["red", "blue", "green", "yellow", "brown", "purple", "cyan", "gray"]
ANIMALS = [
    "crow",
    "fox",
    "deer stag",
    "wolf",
    "lion",
    "zebra",
    "deer doe",
    "bear",
    "owl",
    "hare",
    "newt",
    "bat",
]


def grid(n_colors: int, n_animals: int) -> list[tuple[str, str, str, str]]:
    """Scenes of two of so many animals in two of so many colours: animal, animal, colour,
    colour."""
    paints = list(permutations(COLORS[:n_colors], 2))
    pairs = permutations(ANIMALS[:n_animals], 2)
    return [(*pair, *paint) for pair in pairs for paint in paints]


def split_by_block(seed: int) -> tuple[str, ...]:
    """A table of scenes of 8 colours and 12 animals, split by a generated block, and its
    columns."""
    clevr = read_vocabulary("clevr")
    attributes = {
        **clevr.attributes,
        "color": dict.fromkeys(COLORS, clevr.attributes["color"]["red"]),
    }
    objects = dict.fromkeys(ANIMALS, clevr.objects["cube"])
    vocabulary = clevr.model_copy(update={"attributes": attributes, "objects": objects})
    plan = SplitPlan(vocabulary, draw_block("3x3", vocabulary, seed))
    lines = []
    for n, (one, other, first, second) in enumerate(grid(8, 12)):
        split = plan.place(((first, one), (second, other))).split or ""
        lines.append(f"{one},{other},{first},{second},{n:07}.png,{split}")
    header = "character_name,character2_name,character_texture,character2_texture,filename,fold"
    roles = "split=fold,image=filename,first=character_name,first.color=character_texture"
    return (
        table(header, *lines),
        roles,
        "second=character2_name,second.color=character2_texture",
    )


def spare_labels(paints: list[tuple[str, str]]) -> str:
    """Labels as of PUG:SPARE: two animals, left and right, in pairs of textures."""
    lines = []
    for one, other in permutations(ANIMALS[:5], 2):
        for first, second in paints:
            lines.append(f"{one},{other},{first},{second},left,right")
    header = (
        "character_name,character2_name,character_texture,character2_texture,character_pos,"
        "character2_pos"
    )
    return table(header, *lines)


SPARE_COLUMNS = (
    "first=character_name,second=character2_name",
    "first.texture=character_texture,second.texture=character2_texture",
    "first.position=character_pos,second.position=character2_pos",
)
