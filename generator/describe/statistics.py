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
"""Captions of everything, in no order of salience."""


@dataclass(frozen=True)
class CaptionStatistics:
    """Requested statistics of training captions, each from 0 to 1."""

    density: float
    """The share of a mentioned object's attributes that captions name."""
    completeness: float
    """The share of a scene's objects that captions name."""
    saliency: float
    """How far the choice of objects follows their salience (large in the image, near its middle): 0
    not at all, 1 entirely."""


def parse_statistics(spec: str | None) -> CaptionStatistics | None:
    """Parse statistics such as `density=0.5,completeness=0.7,saliency=1.0`.

    Args:
        spec: the statistics; the defaults are 1, 1 and 0. None for no such captions.

    Raises:
        UserError: a name is unknown or repeated, or a number is not from 0 to 1.

    >>> parse_statistics("density=0.5")
    CaptionStatistics(density=0.5, completeness=1.0, saliency=0.0)
    """
    if spec is None:
        return None
    shares: dict[str, float] = {}
    for part in spec.split(","):
        name, _, number = (word.strip() for word in part.partition("="))
        try:
            share = float(number)
        except ValueError:
            # Refused below.
            share = -1.0
        if name not in _DEFAULTS or name in shares or not 0 <= share <= 1:
            raise UserError(
                f"Expected --captions to be like density=0.5,completeness=0.7,saliency=1.0, each "
                f"from 0 to 1, got '{spec}'."
            )
        shares[name] = share
    return CaptionStatistics(**{**_DEFAULTS, **shares})


class MeasuredCaptions:
    """Draws captions with the requested statistics, and counts the objects and attributes that they
    mention."""

    def __init__(self, requested: CaptionStatistics, vocabulary: Vocabulary):
        self._requested = requested
        self._kinds = list(vocabulary.attributes)
        self._present = Counter[str]()
        """What captions could have mentioned: "captions", "objects", "salient" (objects of the more
        salient half), "others" (those of the other half), "attributes" (of mentioned objects)."""
        self._mentioned = Counter[str]()
        """What captions mention, with the same keys."""
        self._mentioned_by_kind = Counter[str]()

    def report(self) -> dict[str, Any]:
        """Number of captions, density, completeness (overall, and for the more and less salient
        half of each scene's objects), and mentioned attributes by kind; shares to four
        decimals."""
        return {
            "captions": self._present["captions"],
            "density": self._share("attributes"),
            "completeness": self._share("objects"),
            "completeness_salient_half": self._share("salient"),
            "completeness_other_half": self._share("others"),
            "attributes_by_kind": dict(sorted(self._mentioned_by_kind.items())),
        }

    def _share(self, what: str) -> float | None:
        """The share that captions mention; None if there is nothing to mention."""
        if not self._present[what]:
            return None
        return round(self._mentioned[what] / self._present[what], 4)

    def draw(self, scene: DescribedScene, stream: Stream) -> Form:
        """Draw a caption of random objects and attributes of a scene, in the requested shares."""
        n_objects = len(scene.facts)
        by_salience = sorted(range(n_objects), key=lambda i: -scene.salience[i])
        rank = {obj: place for place, obj in enumerate(by_salience)}

        # The objects: those with the greatest mixture of chance and rank.
        saliency = self._requested.saliency
        weight = {}
        for i in range(n_objects):
            chance = stream.uniform(0, 1)
            salience = 1 - rank[i] / n_objects
            weight[i] = (1 - saliency) * chance + saliency * salience
        # At least one: a caption has to name something.
        number = max(1, _round_at_random(self._requested.completeness * n_objects, stream))
        by_weight = sorted(range(n_objects), key=lambda i: -weight[i])
        mentioned = sorted(by_weight[:number])

        # The attributes: any of those that the mentioned objects have.
        slots = [(i, kind) for i in mentioned for kind in self._kinds]
        n_attributes = _round_at_random(self._requested.density * len(slots), stream)
        n_named = min(len(slots), n_attributes)
        named = set(stream.sample(slots, n_named))

        # The form, and the counts of what it names.
        mentions = [self._mention(i, named, scene) for i in stream.shuffled(mentioned)]
        n_salient_half = (n_objects + 1) // 2
        n_salient = sum(rank[i] < n_salient_half for i in mentioned)
        self._present.update(
            captions=1,
            objects=n_objects,
            salient=n_salient_half,
            others=n_objects - n_salient_half,
            attributes=len(slots),
        )
        self._mentioned.update(
            objects=len(mentioned),
            salient=n_salient,
            others=len(mentioned) - n_salient,
            attributes=len(named),
        )
        self._mentioned_by_kind.update(kind for _, kind in named)
        return _count_equal_mentions(Form(tuple(mentions)), scene)

    def _mention(self, i: int, named: set[tuple[int, str]], scene: DescribedScene) -> Mention:
        """The mention of an object with those of its attributes that are in `named`."""
        values = scene.facts.values[i]
        attributes = []
        for kind in self._kinds:
            if (i, kind) in named:
                attributes.append((kind, values[kind]))
        return Mention(scene.facts.categories[i], tuple(sorted(attributes)))


def _count_equal_mentions(form: Form, scene: DescribedScene) -> Form:
    """The form with equal mentions merged into one with a count, if that is true of the scene; else
    as it is: "two cubes" is undecided where there are three."""
    merged = merge_equal_mentions(form)
    return merged if scene.decide(merged) is True else form


def _round_at_random(number: float, stream: Stream) -> int:
    """A random whole number whose mean is `number`, so that shares are met on average."""
    whole = int(number)
    rounds_up = stream.uniform(0, 1) < number - whole
    return whole + rounds_up
