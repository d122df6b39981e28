from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.base.streams import Stream
from generator.dataset.writer import BenchmarkWriter
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene, RenderedScene
from generator.describe.tables import Tables
from generator.holdout.membership import SplitPlan
from generator.language.form import Form, Mention
from generator.plan.store import Assigned
from tests.generator.scenes import HOLDOUT, VOCABULARY, captioner, scene_of

CUBE = Form((Mention("cube"),))
SCENE = scene_of(("cube", {}), ("cone", {}))


class Fixed(Protocol):
    """Asks whether there is a cube."""

    name, kinds = "fixed", ("cube",)
    item = Item("fixed", "cube", None, (Candidate(Text(CUBE, "there-is"), "c", True),), pool="used")

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        yield self.item


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    with BenchmarkWriter(tmp_path, "b") as writer:
        assigned = {"0": Assigned("seen", ()), "1": Assigned("train", ())}
        yield Tables(writer, captioner(), SplitPlan(VOCABULARY, HOLDOUT), 0, assigned)


def add(tables: Tables, scene_id: str, protocol: Protocol, twin_of: str | None = None) -> None:
    class Silent(Fixed):
        def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
            return iter(())

    tables.add_scene(RenderedScene(scene_id, twin_of, SCENE, ()), Silent(captioner()), [protocol])


def test_scenes_go_to_the_split_that_they_were_made_for(tables: Tables) -> None:
    for scene_id in ("0", "1", "2"):
        add(tables, scene_id, Fixed(captioner()))
    assert {split: n for split, n in tables.scenes.items() if n} == {"seen": 1, "train": 1}
    assert tables.items == {"fixed cube": 1}  # the training scene has training captions only


def test_a_text_is_counted_once_and_unused_pools_are_not_written(tables: Tables) -> None:
    add(tables, "0", Fixed(captioner()))
    add(tables, "0", Fixed(captioner()))
    cone = Text(Form((Mention("cone"),)), "there-is")
    tables.add_pools("fixed", {"unused": [cone]})
    assert tables.n_texts == 1
    tables.add_pools("fixed", {"used": [cone]})
    assert tables.n_texts == 2


class Training(Fixed):
    """Trains on a caption."""

    name = "train"
    item = Item("train", "cube", None, (Candidate(Text(CUBE, "a-and-a"), "c", True),))


def test_words_that_no_training_text_has_are_told_by_protocol(tables: Tables) -> None:
    tables.add_scene(RenderedScene("1", None, SCENE, ()), Training(captioner()), [])  # "a cube"
    assert tables.unknown_words() == {}
    add(tables, "0", Fixed(captioner()))  # "There is a cube."
    tables.add_pools("fixed", {"used": [Text(Form((Mention("cone"),)), "a-and-a")]})
    assert tables.unknown_words() == {"fixed": ["cone", "is", "there"]}


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (Item("fixed", "cube", None, (Candidate(Text(CUBE, "there-is"), "n", False),)), "should be False"),
        (Item("fixed", "cone", None, ()), "does not declare"),
        (Item("other", "cube", None, ()), "does not declare"),
    ],
)
def test_wrong_truths_and_undeclared_kinds_stop_the_writing(tables: Tables, item: Item, says: str) -> None:
    protocol = Fixed(captioner())
    protocol.item = item  # type: ignore[misc]
    with pytest.raises(AssertionError, match=says):
        add(tables, "0", protocol)
