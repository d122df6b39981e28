"""Context: captions of a scene without and with its environment, so that the effect of naming it is a paired difference."""

from collections.abc import Iterator
from dataclasses import replace

from generator.base.streams import Stream
from generator.describe.captions import draw_tested_pair, name_objects
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocols.protocol import Protocol


class Context(Protocol):
    """A caption and its attribute swap (slots c, n), and the same two with the environment named (slot context)."""

    name = "context"
    kinds = ("environment",)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        return self.captioner.item_or_drop(self.name, self._make(scene, stream))

    def _make(self, scene: DescribedScene, stream: Stream) -> Item | None:
        captioner, kind = self.captioner, self.captioner.holdout.kind
        pair = draw_tested_pair(scene, kind, stream)
        if pair is None:
            return None
        caption = name_objects(scene, pair if stream.below(2) else pair[::-1], (kind,))
        foil = captioner.foils.exchange_values(caption, kind)
        longer = [replace(form, environment=scene.facts.environment) for form in (caption, foil.form)]
        template = captioner.draw_template([caption, foil.form, *longer], stream, ("a-and-a", "there-is", "this-photo"))
        accepted = all(captioner.accepts(form, caption, scene) for form in (foil.form, longer[1]))
        if template is None or not accepted:
            return None
        c, n, true, false = (Text(form, template) for form in (caption, foil.form, *longer))
        candidates = (
            Candidate(c, "c", True),
            Candidate(n, "n", False, foil.kind, foil.changed, c),
            Candidate(true, "context", True),
            Candidate(false, "context", False, foil.kind, foil.changed, true),
        )
        return Item(self.name, "environment", "attribute", candidates)
