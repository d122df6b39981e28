"""Training captions of known statistics: how much they mention of what their scenes show."""

from dataclasses import dataclass, field
from typing import Any

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.describe.scenes import DescribedScene
from generator.language.form import Form, Mention, merge_equal_mentions
from generator.vocabulary.schema import Vocabulary

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
                f"Expected --captions to be like density=0.5,completeness=0.7,saliency=1.0, each from 0 to 1, got "
                f"'{spec}'."
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
        """Number of captions, density, completeness overall and by half of each scene's objects (more salient,
        others), and
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


class MeasuredCaptions:
    """Draws captions that have the statistics asked for, and counts what they mention."""

    def __init__(self, asked: Statistics, vocabulary: Vocabulary):
        self._asked, self._kinds = asked, list(vocabulary.attributes)
        self.mentioned = Mentioned()

    def draw(self, scene: DescribedScene, stream: Stream) -> Form:
        """Random objects and attributes of a scene, in the requested shares."""
        asked, facts, kinds = self._asked, scene.facts, self._kinds
        n = len(facts)
        ranked = sorted(range(n), key=lambda i: -scene.salience[i])
        rank = {thing: place for place, thing in enumerate(ranked)}
        weight = {i: (1 - asked.saliency) * stream.uniform(0, 1) + asked.saliency * (1 - rank[i] / n) for i in range(n)}
        number = max(1, _rounded(asked.completeness * n, stream))
        mentioned = sorted(sorted(range(n), key=lambda i: -weight[i])[:number])
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
        return _unambiguous(Form(mentions), scene)

    def _count(self, shown: int, mentioned: list[int], salient: list[int], slots: int, kinds: list[str]) -> None:
        tally = self.mentioned
        tally.captions += 1
        tally.objects_shown += shown
        tally.objects_mentioned += len(mentioned)
        tally.salient_shown += len(salient)
        tally.salient_mentioned += len(set(mentioned) & set(salient))
        tally.attributes_shown += slots
        tally.attributes_mentioned += len(kinds)
        for kind in kinds:
            tally.kinds[kind] = tally.kinds.get(kind, 0) + 1


def _unambiguous(form: Form, scene: DescribedScene) -> Form:
    """The form with equal mentions counted if that is true of the scene, else as it is."""
    merged = merge_equal_mentions(form)
    return merged if scene.decide(merged) is True else form


def _rounded(number: float, stream: Stream) -> int:
    """A random whole number whose mean is `number`."""
    return int(number) + (stream.uniform(0, 1) < number - int(number))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
