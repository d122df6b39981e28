"""Small worlds of every design without rendering, for tests that need many: a family, a block,
scenes, texts."""

from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.protocols import protocol_names
from generator.describe.request import TextRequest
from generator.describe.statistics import CaptionStatistics
from generator.describe.training import KINDS, NEGATIVES, POSITIVES
from generator.holdout.membership import SPLITS
from tests.generator.unrendered import BENCHMARK, write_world

VALUES = {
    "red": "crimson",
    "blue": "sapphire",
    "green": "emerald",
    "gray": "grey",
    "cyan": "turquoise",
    "yellow": "lemon",
}
THINGS = {
    "cube": "block",
    "sphere": "ball",
    "torus": "ring",
    "cone": "funnel",
    "star": "spangle",
    "arch": "archway",
}

FAMILY = """
name = "small"
category = "shape"
tested = "color"
adjectives = ["size", "color", "material"]
sky = 0.35

[attributes.color]
{values}
[attributes.material]
rubber = {{ metallic = 0.0, roughness = 0.7, synonyms = ["matte"] }}
metal = {{ metallic = 1.0, roughness = 0.25, synonyms = ["shiny"] }}
[attributes.size]
large = {{ scale = 0.8, synonyms = ["big"] }}
small = {{ scale = 0.5, synonyms = ["little"] }}
[objects]
{categories}
[relations]
left = {{ phrase = "to the left of", synonyms = ["left of"], margin = 0.2 }}
right = {{ phrase = "to the right of", synonyms = ["right of"], margin = 0.2 }}
front = {{ phrase = "in front of", margin = 0.2 }}
behind = {{ phrase = "behind", margin = 0.2 }}
[environments]
studio = {{ phrase = "in a bright studio" }}
[placement]
extent = 2.2
frame = "image"
gap = 0.25
clearance = 0.3
min_pixels = 20
min_visible = 0.3
[camera]
position = [7.4811, -6.5076, 5.3437]
target = [0.0, 0.0, 0.35]
lens = 50.0
sensor = 32.0
jitter = 0.5
[lamps.key]
type = "area"
energy = 78.54
size = 0.5
color = [1.0, 0.932, 0.817]
position = [6.447, -2.905, 4.258]
"""


@dataclass(frozen=True)
class Design:
    """A family of so many values and categories, a block and scenes over it, and the texts of a
    benchmark."""

    values: int = 4
    categories: int = 4
    block: str = "2x2"
    block_seed: int = 0
    seed: int = 0
    objects: tuple[int, int] = (2, 2)
    scenes: int = 6
    request: TextRequest = field(default_factory=lambda: TextRequest(strict=False))


def family(values: int, categories: int) -> str:
    """The vocabulary of a world with so many values and categories, each with a synonym."""
    colors = [
        f'{name} = {{ linear = [{9 + 40 * i}, 9, 9], synonyms = ["{word}"] }}'
        for i, (name, word) in enumerate(VALUES.items())
    ]
    shapes = [f'{name} = {{ synonyms = ["{word}"] }}' for name, word in THINGS.items()]
    return FAMILY.format(
        values="\n".join(colors[:values]), categories="\n".join(shapes[:categories])
    )


def make(design: Design, root: Path) -> Path:
    """Write a dataset of a design into `root`. Raises UserError where the design is impossible."""
    path = root.parent / f"{root.name}.toml"
    path.write_text(family(design.values, design.categories), encoding="utf-8")
    counts = dict.fromkeys(SPLITS, design.scenes)
    prepared = write_world(
        root, counts, str(path), design.objects, design.block, design.seed, design.block_seed
    )
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name=BENCHMARK,
        request=design.request,
    )
    return root


@st.composite
def designs(draw: st.DrawFn) -> Design:
    """A design drawn at random; some are impossible, and refused when they are made."""
    values, categories = draw(st.integers(3, 6)), draw(st.integers(3, 6))
    fewest = draw(st.integers(1, 3))
    shares = st.sampled_from([0.0, 0.5, 1.0])
    statistics = st.none() | st.builds(CaptionStatistics, shares, shares, shares)

    def some(kinds: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
        return st.lists(st.sampled_from(kinds), min_size=1, unique=True).map(tuple)

    request = TextRequest(
        training=draw(st.none() | some(KINDS)),
        negatives=draw(some(NEGATIVES)),
        positives=draw(some(POSITIVES)),
        protocols=tuple(
            draw(st.lists(st.sampled_from(protocol_names()), min_size=1, max_size=3, unique=True))
        ),
        statistics=draw(statistics),
        exposed_negatives=draw(st.booleans()),
        equal_familiarity=draw(st.booleans()),
        seed=draw(st.integers(0, 99)),
        strict=False,
    )
    return Design(
        values,
        categories,
        f"{draw(st.integers(2, values - 1))}x{draw(st.integers(2, categories - 1))}",
        draw(st.integers(0, 99)),
        draw(st.integers(0, 99)),
        (fewest, draw(st.integers(max(2, fewest), 4))),
        draw(st.integers(1, 6)),
        request,
    )
