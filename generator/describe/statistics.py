"""Training captions with requested statistics: shares of a scene's objects and attributes that
captions mention."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.describe.scenes import DescribedScene
from generator.language.form import Form, Mention, merge_equal_mentions
from generator.vocabulary.schema import Vocabulary

_DEFAULTS = {"density": 1.0, "completeness": 1.0, "saliency": 0.0}


@dataclass(frozen=True)
class Statistics:
    """Requested statistics of training captions, each from 0 to 1.

    `density` is the share of a mentioned object's attributes, `completeness` the share of a scene's
    objects. `saliency`
    is how far the choice of objects follows their salience (large in the image, near its middle): 0
    not at all, 1
    entirely.
    """

    density: float
    completeness: float
    saliency: float


def parse_statistics(spec: str | None) -> Statistics | None:
    """Statistics from `density=0.5,completeness=0.7,saliency=1.0`; the defaults are 1, 1 and 0.
    Raises UserError."""
    if spec is None:
        return None
    given: dict[str, float] = {}
    for part in spec.split(","):
        name, _, number = (each.strip() for each in part.partition("="))
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if name not in _DEFAULTS or name in given or not 0 <= value <= 1:
            raise UserError(
                f"Expected --captions to be like density=0.5,completeness=0.7,saliency=1.0, each "
                f"from 0 to 1, got '{spec}'."
            )
        given[name] = value
    return Statistics(**{**_DEFAULTS, **given})


class MeasuredCaptions:
    """Draws captions with the requested statistics, and counts the objects and attributes that they
    mention."""

    def __init__(self, asked: Statistics, vocabulary: Vocabulary):
        self._asked, self._kinds = asked, list(vocabulary.attributes)
        self._shown, self._mentioned, self._by_kind = Counter[str](), Counter[str](), Counter[str]()

    def report(self) -> dict[str, Any]:
        """Number of captions, density, completeness (overall, and for the more and less salient
        half of each scene's objects), and mentioned attributes by kind."""
        share = {
            what: round(self._mentioned[what] / shown, 4) if (shown := self._shown[what]) else None
            for what in ("attributes", "objects", "salient", "others")
        }
        return {
            "captions": self._shown["captions"],
            "density": share["attributes"],
            "completeness": share["objects"],
            "completeness_salient_half": share["salient"],
            "completeness_other_half": share["others"],
            "attributes_by_kind": dict(sorted(self._by_kind.items())),
        }

    def draw(self, scene: DescribedScene, stream: Stream) -> Form:
        """Random objects and attributes of a scene, in the requested shares."""
        asked, facts, kinds = self._asked, scene.facts, self._kinds
        n = len(facts)
        ranked = sorted(range(n), key=lambda i: -scene.salience[i])
        rank = {thing: place for place, thing in enumerate(ranked)}
        weight = {
            i: (1 - asked.saliency) * stream.uniform(0, 1) + asked.saliency * (1 - rank[i] / n)
            for i in range(n)
        }
        number = max(1, _rounded(asked.completeness * n, stream))
        mentioned = sorted(sorted(range(n), key=lambda i: -weight[i])[:number])
        slots = [(i, kind) for i in mentioned for kind in kinds]
        chosen = set(
            stream.sample(slots, min(len(slots), _rounded(asked.density * len(slots), stream)))
        )
        mentions = tuple(
            Mention(
                facts.categories[i],
                tuple(
                    sorted((kind, facts.values[i][kind]) for kind in kinds if (i, kind) in chosen)
                ),
            )
            for i in stream.shuffled(mentioned)
        )
        salient = (n + 1) // 2
        noted = sum(rank[i] < salient for i in mentioned)
        self._shown.update(
            captions=1, objects=n, salient=salient, others=n - salient, attributes=len(slots)
        )
        self._mentioned.update(
            objects=len(mentioned),
            salient=noted,
            others=len(mentioned) - noted,
            attributes=len(chosen),
        )
        self._by_kind.update(kind for _, kind in chosen)
        return _unambiguous(Form(mentions), scene)


def _unambiguous(form: Form, scene: DescribedScene) -> Form:
    """The form with equal mentions counted if that is true of the scene, else as it is."""
    merged = merge_equal_mentions(form)
    return merged if scene.decide(merged) is True else form


def _rounded(number: float, stream: Stream) -> int:
    """A random whole number whose mean is `number`."""
    return int(number) + (stream.uniform(0, 1) < number - int(number))
