"""Training captions and their negatives; they describe the scenes of the split `train`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.captions import draw_related_pair, name_objects
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocols.protocol import Protocol
from generator.language.foils import Foil
from generator.language.form import Form, Mention, merge_equal_mentions

_KEYS = ("density", "completeness", "saliency")


@dataclass(frozen=True)
class Statistics:
    """What training captions shall mention; all values are from 0 to 1.

    `density` is the share of a mentioned object's attributes, `completeness` the share of a scene's objects. `saliency`
    is how far the choice of objects follows their salience (large in the image, near its middle): 0 not at all, 1
    entirely.
    """

    density: float
    completeness: float
    saliency: float


def parse_statistics(spec: str | None) -> Statistics | None:
    """Statistics from `density=0.5,completeness=0.7,saliency=1.0`; the defaults are 1, 1 and 0. Raises UserError."""
    if spec is None:
        return None
    given: dict[str, float] = {"density": 1.0, "completeness": 1.0, "saliency": 0.0}
    parts = spec.split(",")
    for part in parts:
        name, _, number = (each.strip() for each in part.partition("="))
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if (
            name not in _KEYS
            or not 0 <= value <= 1
            or len({each.partition("=")[0].strip() for each in parts}) < len(parts)
        ):
            raise UserError(
                f"Expected --captions to be like density=0.5,completeness=0.7,saliency=1.0, each from 0 to 1, got '{spec}'."
            )
        given[name] = value
    return Statistics(**given)


@dataclass
class Mentioned:
    """Counts what training captions mention of the objects and attributes that their scenes show."""

    objects_shown: int = 0
    objects_mentioned: int = 0
    attributes_shown: int = 0
    attributes_mentioned: int = 0
    salient_shown: int = 0
    salient_mentioned: int = 0
    captions: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Number of captions, density, completeness overall and by half of each scene's objects (more salient, others), and
        mentioned attributes by kind."""
        other_shown, other_mentioned = (
            self.objects_shown - self.salient_shown,
            self.objects_mentioned - self.salient_mentioned,
        )
        return {
            "captions": self.captions,
            "density": _share(self.attributes_mentioned, self.attributes_shown),
            "completeness": _share(self.objects_mentioned, self.objects_shown),
            "completeness_salient_half": _share(self.salient_mentioned, self.salient_shown),
            "completeness_other_half": _share(other_mentioned, other_shown),
            "attributes_by_kind": dict(sorted(self.kinds.items())),
        }


class TrainingCaptions(Protocol):
    """One item for each training scene: its captions (slot c), and a negative (slot n) where one may be shown.

    By default there is a caption for each order of mention, with its swap negative. Where relations are held out, there
    is also a caption of a relation with its flip negative, because a model learns no relations from texts without any.
    With `statistics` there is one caption that has them. A negative that names a held-out binding is written only with
    `exposed_negatives`.
    """

    name = "train"
    kinds = ("caption",)

    def __init__(self, captioner: Captioner, statistics: Statistics | None = None, exposed_negatives: bool = False):
        super().__init__(captioner)
        self._statistics, self._exposed_negatives = statistics, exposed_negatives
        self._mentioned = Mentioned()

    def report(self) -> Mapping[str, Any]:
        return self._mentioned.to_dict() if self._statistics else {}

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        candidates: list[Candidate] = []
        for form, foil in self._captions(scene, stream):
            template = self.captioner.draw_template([form, *([foil.text.form] if foil else [])], stream)
            if template is None:
                continue
            caption = Text(form, template)
            candidates.append(Candidate(caption, "c", True))
            if foil is not None and (text := Text(foil.text.form, template)) not in [each.text for each in candidates]:
                candidates.append(replace(foil, text=text, of=caption))
        if candidates:
            yield Item(self.name, "caption", "attribute", tuple(candidates))
        else:
            self.captioner.dropped[self.name] += 1

    def _captions(self, scene: DescribedScene, stream: Stream) -> Iterator[tuple[Form, Candidate | None]]:
        """The captions of a scene, each with its negative or None."""
        if self._statistics is not None:
            form = self._with_statistics(self._statistics, scene, stream)
            yield form, self._swap(form, scene, stream)
            return
        for form in dict.fromkeys(self._complete(scene, back) for back in (False, True)):
            yield form, self._swap(form, scene, stream)
        if self.captioner.holdout.triples:
            related = draw_related_pair(self.captioner, scene, stream)
            if related is not None:
                yield related, self._negative(self.captioner.foils.flip_relation(related, 0), scene)

    def _complete(self, scene: DescribedScene, back: bool) -> Form:
        """All objects with their tested values, left one first or last."""
        places = range(len(scene.facts))
        return merge_equal_mentions(
            name_objects(scene, places[::-1] if back else places, (self.captioner.holdout.kind,))
        )

    def _with_statistics(self, asked: Statistics, scene: DescribedScene, stream: Stream) -> Form:
        """Random objects and attributes, in the requested shares."""
        facts = scene.facts
        n = len(facts)
        ranked = sorted(range(n), key=lambda i: -scene.salience[i])
        rank = {thing: place for place, thing in enumerate(ranked)}
        weight = {i: (1 - asked.saliency) * stream.uniform(0, 1) + asked.saliency * (1 - rank[i] / n) for i in range(n)}
        number = max(1, _rounded(asked.completeness * n, stream))
        mentioned = sorted(sorted(range(n), key=lambda i: -weight[i])[:number])
        kinds = list(self.captioner.vocabulary.attributes)
        slots = [(i, kind) for i in mentioned for kind in kinds]
        chosen = set(stream.sample(slots, min(len(slots), _rounded(asked.density * len(slots), stream))))
        mentions = tuple(
            Mention(
                facts.categories[i],
                tuple(sorted((kind, facts.values[i][kind]) for kind in kinds if (i, kind) in chosen)),
            )
            for i in stream.shuffled(mentioned)
        )
        self._count(n, mentioned, ranked[: (n + 1) // 2], len(slots), [kind for _, kind in chosen])
        return self._unambiguous(Form(mentions), scene)

    def _unambiguous(self, form: Form, scene: DescribedScene) -> Form:
        """The form with equal mentions counted if that is true of the scene, else as it is."""
        merged = merge_equal_mentions(form)
        return merged if scene.decide(merged) is True else form

    def _count(self, shown: int, mentioned: list[int], salient: list[int], slots: int, kinds: list[str]) -> None:
        tally = self._mentioned
        tally.captions += 1
        tally.objects_shown += shown
        tally.objects_mentioned += len(mentioned)
        tally.salient_shown += len(salient)
        tally.salient_mentioned += len(set(mentioned) & set(salient))
        tally.attributes_shown += slots
        tally.attributes_mentioned += len(kinds)
        for kind in kinds:
            tally.kinds[kind] = tally.kinds.get(kind, 0) + 1

    def _swap(self, form: Form, scene: DescribedScene, stream: Stream) -> Candidate | None:
        """The caption with two objects' values of the tested kind exchanged; None if no such text is false and may be shown."""
        kind = self.captioner.holdout.kind
        places = [i for i, mention in enumerate(form.objects) if kind in mention.values]
        pairs = [(i, j) for n, i in enumerate(places) for j in places[n + 1 :]]
        for i, j in stream.shuffled(pairs) if len(pairs) > 1 else pairs:
            if negative := self._negative(self.captioner.foils.exchange_values(form, kind, i, j), scene):
                return negative
        return None

    def _negative(self, foil: Foil, scene: DescribedScene) -> Candidate | None:
        """A foil as a candidate without a template yet; None if it is not false or may not be shown."""
        if scene.decide(foil.form) is not False:
            return None
        if self.captioner.count_held_out(foil.form) and not self._exposed_negatives:
            return None
        return Candidate(Text(foil.form, ""), "n", False, foil.kind, foil.changed)


def _rounded(number: float, stream: Stream) -> int:
    """A random whole number whose mean is `number`."""
    return int(number) + (stream.uniform(0, 1) < number - int(number))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
