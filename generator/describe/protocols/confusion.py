"""Confusion sets: the truth against every assignment of its values and categories to its slots (Auto-Comp, 2026)."""

from collections.abc import Iterator
from itertools import product

from generator.base.streams import Stream
from generator.describe.captions import draw_tested_pair, name_objects
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocols.protocol import Protocol
from generator.language.form import Form, Mention


class Confusion(Protocol):
    """Two objects' values and categories in all 16 assignments to the four slots, repeats included; two are true.

    The kind of a false assignment says which slots repeat: "none", "attribute", "category" or "both".
    """

    name = "confusion"
    kinds = ("assignments",)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        return self.captioner.item_or_drop(self.name, self._make(scene, stream))

    def _make(self, scene: DescribedScene, stream: Stream) -> Item | None:
        captioner, kind = self.captioner, self.captioner.holdout.kind
        pair = draw_tested_pair(scene, kind, stream)
        if pair is None:
            return None
        true = name_objects(scene, pair, (kind,))
        reversed_true = Form(true.objects[::-1])
        values = [mention.values[kind] for mention in true.objects]
        categories = [mention.category for mention in true.objects]
        forms = [
            Form((Mention(one, ((kind, a),)), Mention(other, ((kind, b),))))
            for a, b in product(values, repeat=2)
            for one, other in product(categories, repeat=2)
        ]
        template = captioner.draw_template(forms, stream, ("a-and-a", "there-is", "there-is-each"))
        false = [form for form in forms if form not in (true, reversed_true)]
        if template is None or not all(captioner.accepts(form, true, scene) for form in false):
            return None
        caption = Text(true, template)
        candidates = [Candidate(caption, "c", True), Candidate(Text(reversed_true, template), "c", True)]
        candidates += [
            Candidate(Text(form, template), "n", False, _repeats(form), self._changes(true, form), caption)
            for form in false
        ]
        return Item(self.name, "assignments", "attribute", tuple(candidates))

    def _changes(self, true: Form, form: Form) -> tuple[str, ...]:
        kind, category = self.captioner.holdout.kind, self.captioner.vocabulary.category
        found = []
        for i, (old, new) in enumerate(zip(true.objects, form.objects, strict=True)):
            if old.values[kind] != new.values[kind]:
                found.append(f"{i}:{kind}:{old.values[kind]}>{new.values[kind]}")
            if old.category != new.category:
                found.append(f"{i}:{category}:{old.category}>{new.category}")
        return tuple(found)


def _repeats(form: Form) -> str:
    """Which slots of an assignment repeat."""
    first, second = form.objects
    names = {(False, False): "none", (True, False): "attribute", (False, True): "category", (True, True): "both"}
    return names[first.attributes == second.attributes, first.category == second.category]
