"""Training captions, as complete as is asked for, and their negatives."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text
from generator.describe.protocols.binary import bound, related_pair
from generator.language.complexity import counted
from generator.language.foils import Foil
from generator.language.form import Form, Mention

_KEYS = ("density", "completeness", "saliency")


@dataclass(frozen=True)
class Statistics:
    """What training captions mention: the share of the attributes of a mentioned object (`density`), the share of a
    scene's objects (`completeness`), and how far leaving out follows what an object looks like (`saliency`: 0 not at
    all, 1 wholly; salient is large in the image and near its middle). All 0..1.
    """

    density: float
    completeness: float
    saliency: float


def parse_statistics(spec: str | None) -> Statistics | None:
    """Statistics from `density=0.5,completeness=0.7,saliency=1.0`; what is left out is 1, 1 and 0. Raises UserError."""
    if spec is None:
        return None
    given: dict[str, float] = {"density": 1.0, "completeness": 1.0, "saliency": 0.0}
    for part in spec.split(","):
        name, _, number = (each.strip() for each in part.partition("="))
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if name not in _KEYS or not 0 <= value <= 1:
            raise UserError(
                f"Expected --captions to be like density=0.5,completeness=0.7,saliency=1.0, each from 0 to 1, got '{spec}'."
            )
        given[name] = value
    return Statistics(**given)


@dataclass
class Realised:
    """What training captions came to mention: numbers of objects and attributes shown and said."""

    objects_shown: int = 0
    objects_said: int = 0
    attributes_shown: int = 0
    attributes_said: int = 0
    salient_shown: int = 0
    salient_said: int = 0
    captions: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Shares, rounded: density, completeness, and the completeness of the more and the less salient half of objects."""
        faint_shown, faint_said = self.objects_shown - self.salient_shown, self.objects_said - self.salient_said
        return {
            "captions": self.captions,
            "density": _share(self.attributes_said, self.attributes_shown),
            "completeness": _share(self.objects_said, self.objects_shown),
            "completeness_salient_half": _share(self.salient_said, self.salient_shown),
            "completeness_other_half": _share(faint_said, faint_shown),
            "attributes_said": dict(sorted(self.kinds.items())),
        }


class Train:
    """An item for each training scene: a caption for each order of mention with its swap negative, where that names no
    held-out binding (or `exposed`); or one caption with the statistics asked for. Where relations are held out, a caption
    of a relation with its flip negative too, since no model learns relations from texts without any."""

    name = "train"

    def __init__(self, language: Language, statistics: Statistics | None, exposed: bool):
        self._language, self._statistics, self._exposed = language, statistics, exposed
        self.realised = Realised()

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The item of a training scene."""
        candidates: list[Candidate] = []
        for form, foil in self._said(subject, stream):
            style = self._language.style([form, *([foil.text.form] if foil else [])], stream)
            if style is None:
                continue
            caption = Text(form, style)
            candidates.append(Candidate(caption, "c", True))
            if foil is not None:
                candidates.append(replace(foil, text=Text(foil.text.form, style), of=caption))
        if candidates:
            yield Item(self.name, "caption", "attribute", tuple(candidates))
        else:
            self._language.dropped[self.name] += 1

    def _said(self, subject: Subject, stream: Stream) -> Iterator[tuple[Form, Candidate | None]]:
        """What the captions of a scene say, each with its negative where there is one."""
        if self._statistics is not None:
            form = self._drawn(subject, stream)
            yield form, self._swap(form, subject, stream)
            return
        for form in dict.fromkeys(self._complete(subject, back) for back in (False, True)):
            yield form, self._swap(form, subject, stream)
        if self._language.holdout.triples:
            related = related_pair(self._language, subject, stream)
            if related is not None:
                yield related, self._shown(self._language.foils.flipped(related, 0), subject)

    def _complete(self, subject: Subject, back: bool) -> Form:
        """All objects with their tested values, from left to right or back."""
        places = range(len(subject.facts))
        return counted(bound(subject, places[::-1] if back else places, (self._language.holdout.kind,)))

    def _drawn(self, subject: Subject, stream: Stream) -> Form:
        """Objects and attributes by chance, in the shares asked for."""
        assert self._statistics is not None
        facts, asked = subject.facts, self._statistics
        n = len(facts)
        ranked = sorted(range(n), key=lambda i: -subject.salience[i])
        rank = {thing: place for place, thing in enumerate(ranked)}
        weight = {i: (1 - asked.saliency) * stream.uniform(0, 1) + asked.saliency * (1 - rank[i] / n) for i in range(n)}
        number = max(1, _about(asked.completeness * n, stream))
        said = sorted(sorted(range(n), key=lambda i: -weight[i])[:number])
        kinds = list(self._language.vocabulary.attributes)
        slots = [(i, kind) for i in said for kind in kinds]
        chosen = set(stream.sample(slots, min(len(slots), _about(asked.density * len(slots), stream))))
        mentions = tuple(
            Mention(
                facts.categories[i],
                tuple(sorted((kind, facts.values[i][kind]) for kind in kinds if (i, kind) in chosen)),
            )
            for i in stream.shuffled(said)
        )
        self._note(n, said, ranked[: (n + 1) // 2], len(slots), [kind for _, kind in chosen])
        return self._unambiguous(Form(mentions), subject)

    def _unambiguous(self, form: Form, subject: Subject) -> Form:
        """Equal mentions put together where that is true, else left one by one."""
        together = counted(form)
        return together if subject.decide(together) is True else form

    def _note(self, shown: int, said: list[int], salient: list[int], slots: int, kinds: list[str]) -> None:
        tally = self.realised
        tally.captions += 1
        tally.objects_shown += shown
        tally.objects_said += len(said)
        tally.salient_shown += len(salient)
        tally.salient_said += len(set(said) & set(salient))
        tally.attributes_shown += slots
        tally.attributes_said += len(kinds)
        for kind in kinds:
            tally.kinds[kind] = tally.kinds.get(kind, 0) + 1

    def _swap(self, form: Form, subject: Subject, stream: Stream) -> Candidate | None:
        """The caption with two objects' values of the tested kind exchanged, where that is false and may be shown."""
        kind = self._language.holdout.kind
        places = [i for i, mention in enumerate(form.objects) if kind in mention.values]
        pairs = [(i, j) for n, i in enumerate(places) for j in places[n + 1 :]]
        for i, j in stream.shuffled(pairs) if len(pairs) > 1 else pairs:
            if shown := self._shown(self._language.foils.exchanged(form, kind, i, j), subject):
                return shown
        return None

    def _shown(self, foil: Foil, subject: Subject) -> Candidate | None:
        """A foil as a negative, where it is false and may be shown."""
        if subject.decide(foil.form) is not False or (self._language.familiarity(foil.form) and not self._exposed):
            return None
        return Candidate(Text(foil.form, ""), "n", False, foil.kind, foil.changed)


def _about(number: float, stream: Stream) -> int:
    """A whole number whose mean is `number`."""
    return int(number) + (stream.uniform(0, 1) < number - int(number))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
