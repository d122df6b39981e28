"""Retrieval over the grid: a scene's two captions against every caption of the world's two-object grid."""

from collections.abc import Iterator, Mapping

from generator.base.streams import Stream
from generator.describe.captions import name_objects
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocols.protocol import Protocol
from generator.holdout.membership import arrangements
from generator.language.form import Form, Mention

POOL = "grid"
_TEMPLATE = "a-and-a"


class Retrieval(Protocol):
    """For scenes of two objects with different values: both orders of mention are true (R@1, protocols.md, section 1)."""

    name = "retrieval"
    kinds = (POOL,)
    needs = "its pool is the world's two-object grid, so it needs scenes of exactly two objects (--objects 2)"

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        kind, values = self.captioner.holdout.kind, scene.facts.values
        if len(values) != 2 or values[0][kind] == values[1][kind]:  # the grid has no such caption
            self.captioner.dropped[self.name] += 1
            return
        forms = [name_objects(scene, objects, (kind,)) for objects in ((0, 1), (1, 0))]
        candidates = tuple(Candidate(Text(form, _TEMPLATE), "c", True) for form in forms)
        yield Item(self.name, POOL, "attribute", candidates, POOL)

    def pools(self) -> Mapping[str, Iterator[Text]]:
        return {POOL: self._grid()}

    def _grid(self) -> Iterator[Text]:
        """Every caption of the grid, in both orders of mention."""
        kind = self.captioner.holdout.kind
        for arrangement in arrangements(self.captioner.vocabulary, kind):
            mentions = tuple(Mention(category, ((kind, value),)) for value, category in arrangement)
            yield Text(Form(mentions), _TEMPLATE)
