"""A design of one's own, added in one file: it is planned, rendered, described, split and verified
like the others."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from generator.base.streams import Stream
from generator.dataset.reader import Dataset
from generator.holdout.designs import _REGISTRY, base, design_names, find_design, register
from generator.holdout.designs.base import Design
from generator.holdout.holdout import Holdout
from generator.holdout.membership import Arrangement, Fact, Placing, held_out_bindings
from generator.holdout.request import WorldPart, draw_holdouts
from generator.plan.plan import plan_parts
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from tests.conftest import succeed

CLEVR = read_vocabulary("clevr")


class TwoBlocks(Design):
    """Holds out two blocks of 2x2 that share no value and no object."""

    name = "two-blocks"
    prefix = "two-"

    def default_holdout(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        return ("2x2",)

    def draw(
        self,
        holdout_options: Sequence[str],
        vocabulary: Vocabulary,
        block_seed: int,
        opposites: bool,
    ) -> list[Holdout]:
        stream = Stream("two blocks", block_seed)
        values = stream.shuffled(vocabulary.values(vocabulary.tested))[:4]
        objects = stream.shuffled(list(vocabulary.objects))[:4]
        bindings = tuple(
            (values[i], objects[j]) for i in range(4) for j in range(4) if i // 2 == j // 2
        )
        block = tuple(values), tuple(objects), block_seed, bindings
        return [
            Holdout(
                vocabulary.tested,
                vocabulary.category,
                *block,
                design=self.name,
                asked=tuple(holdout_options),
            )
        ]


class AnyOrNone:
    """Scenes with a held-out binding test, all others train."""

    splits = ("train", "test")

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout):
        self.vocabulary, self.holdout = vocabulary, holdout

    def place(
        self, arrangement: Arrangement, facts: Sequence[Fact] = (), scene_id: str = ""
    ) -> Placing:
        held_out = held_out_bindings(arrangement, self.holdout)
        return Placing("test" if held_out else "train", held_out)


class OwnSplits(TwoBlocks):
    """The same blocks with a rule of membership of its own."""

    name = "own-splits"
    counts: ClassVar[Mapping[str, int]] = {"train": 30, "test": 20}

    def rule(self, vocabulary: Vocabulary, holdout: Holdout) -> AnyOrNone:
        return AnyOrNone(vocabulary, holdout)


BLOCKS, SPLITS = TwoBlocks(), OwnSplits()


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_REGISTRY, "_places", dict(_REGISTRY._places))
    register("two-blocks", f"{__name__}:BLOCKS")
    register("own-splits", f"{__name__}:SPLITS")


def test_a_design_in_one_file_is_rendered_described_split_and_verified(tmp_path: Path) -> None:
    root = tmp_path / "world"
    options = (
        "--design two-blocks --scenes train=10,val=1,seen=2,partial=2,unseen=2 --resolution 64x64 "
        "--json"
    )
    done = succeed(f"gen render {options} --quality draft --device cpu --workers 1 --out", root)
    assert "Held out: 8 bindings of color and shape (" in done.stderr
    assert json.loads(done.stdout)["benchmark"] == "two-color-shape-2x2-b0"
    assert json.loads(done.stdout)["scenes"] == {
        "train": 10,
        "val": 1,
        "seen": 2,
        "partial": 2,
        "unseen": 2,
    }
    succeed("gen describe --protocol binary", root)
    succeed(
        "gen split --name again",
        root,
        "--holdout",
        root / "benchmarks/two-color-shape-2x2-b0/holdout.json",
    )
    assert Dataset.open(root).benchmark("again").manifest["design"] == "two-blocks"
    assert succeed("gen verify", root).stdout.count("clean") == 3


def test_a_design_may_have_splits_of_its_own() -> None:
    holdout = draw_holdouts((), "own-splits", vocabulary=CLEVR, block_seed=0)[0]
    (counts,) = SPLITS.scene_counts([holdout], CLEVR, None)
    plan = plan_parts(CLEVR, [WorldPart(holdout, counts)], 0)
    counts = Counter(
        any(holdout.holds_out(values["color"], category) for category, values in planned.objects)
        for planned in plan
    )
    assert counts == {False: 30, True: 20}


def test_each_design_is_found_by_its_name() -> None:
    assert design_names() == (
        "bindsplit",
        "coverage",
        "systematicity",
        "gzsl",
        "rotation",
        "two-blocks",
        "own-splits",
    )
    assert [find_design(name).name for name in design_names()] == [*design_names()]


def test_no_module_compares_the_name_of_a_design() -> None:
    """The judge keeps its own reading of a holdout."""
    package = Path(base.__file__).parents[2]
    for path in package.rglob("*.py"):
        if "judge" not in path.parts:
            for line in path.read_text(encoding="utf-8").splitlines():
                assert not any(
                    f"design{sign}" in line or f'design"]{sign}' in line
                    for sign in (" ==", " !=", " in (")
                ), path
