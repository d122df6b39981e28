"""The exposure of a model: objects, relations and scenes of its training. `score train` records it
in the model's folder, and in the user's cache by the digest of the weights, so that copies are
recognised."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.base.limits import MOST_LIST
from generator.dataset.reader import Benchmark, Images, World

RECORD = "jackalope.json"
"""The file in a model's folder in which `score train` records the training."""
TRAINED_ON = ("name", "benchmark", "world", "method", "recipe")
"""Keys of every record: the data and the method."""
STAND_IN_METHOD = "pretrain"
"""The method of `score train` whose models stand in for published ones."""
_ALSO = ("base", "certificate")
_DIGITS = 16

Seen = tuple[str | None, str | None, str | None]
"""(attribute kind, value, category) of an object in an image or a text; None for parts that a text
does not name. Captions made elsewhere give (None, attribute, noun), since the kind is unknown."""
Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Exposure:
    """What training images showed and training texts named.

    objects: an entry for each value of each object. triples: subject, relation and object of
        relations, by category.
    scenes: names of the training scenes by content (`scene_names`), so that copies in other
        datasets are recognised.
    described: whether the content of all images is known; False for a corpus, whose captions alone
        are read.
    complete: whether this is the model's whole training; False after fine-tuning a model of unknown
        training.
    """

    objects: frozenset[Seen] = frozenset()
    triples: frozenset[Triple] = frozenset()
    scenes: frozenset[str] = frozenset()
    described: bool = True
    complete: bool = True

    def __or__(self, other: "Exposure") -> "Exposure":
        """The exposure of two trainings together; a flag holds if it holds for both."""
        return Exposure(
            self.objects | other.objects,
            self.triples | other.triples,
            self.scenes | other.scenes,
            self.described and other.described,
            self.complete and other.complete,
        )

    def to_dict(self) -> dict[str, Any]:
        """The exposure as JSON-ready data."""
        return {
            "objects": sorted(map(list, self.objects), key=json.dumps),
            "triples": sorted(map(list, self.triples)),
            "scenes": sorted(self.scenes),
            "described": self.described,
            "complete": self.complete,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Exposure":
        """The inverse of `to_dict`. Raises KeyError, TypeError or ValueError for anything else."""
        objects = frozenset((kind, value, category) for kind, value, category in data["objects"])
        triples = frozenset(
            (subject, relation, thing) for subject, relation, thing in data["triples"]
        )
        flags = (bool(data.get(name, True)) for name in ("described", "complete"))
        return cls(objects, triples, frozenset(data["scenes"]), *flags)


def read_exposure(
    world: World, benchmark: Benchmark, scenes: Collection[str], texts: Collection[str]
) -> Exposure | None:
    """The exposure to scenes and texts, given by scene_id and text_id.

    None if a scene has no recorded objects or a text has no form, as in datasets that were made
    elsewhere.
    """
    objects: set[Seen] = set()
    triples: set[Triple] = set()
    for row in _rows(world, scenes, ["objects", "relations"]):
        shown = row["objects"]
        if not shown:
            return None
        objects.update(
            (kind, value, thing["category"])
            for thing in shown
            for kind, value in thing["attributes"]
        )
        objects.update((None, None, thing["category"]) for thing in shown)
        triples.update(
            (
                shown[each["subject"]]["category"],
                each["relation"],
                shown[each["object"]]["category"],
            )
            for each in row["relations"] or ()
        )
    form_of = dict(
        zip(
            benchmark.texts["text_id"].to_pylist(), benchmark.texts["form"].to_pylist(), strict=True
        )
    )
    for text in texts:
        if form_of[text] is None:
            return None
        form = json.loads(form_of[text])
        for mention in form["objects"]:
            named = [*mention["attributes"].items(), *mention.get("without", {}).items()]
            objects.update(
                (kind, value, mention["category"]) for kind, value in [*named, (None, None)]
            )
        ends = [mention["category"] for mention in form["objects"]]
        triples.update(
            (ends[s], relation, ends[o])
            for s, relation, o, *_ in form.get("relations", ())
            if ends[s] and ends[o]
        )
    names = scene_names(world, scenes)
    return Exposure(frozenset(objects), frozenset(triples), frozenset().union(*names.values()))


def recorded_exposure(folder: Path) -> Exposure | None:
    """The recorded exposure of the model in a folder; None without a record. Raises UserError when
    the record is damaged."""
    return _read_exposure(folder / RECORD)


def trained_on(record: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a training record that runs of the model repeat."""
    return {name: record[name] for name in (*TRAINED_ON, *_ALSO) if name in record}


def is_of_stand_in(about: Mapping[str, Any]) -> bool:
    """Whether weights stem from a stand-in for a published model, by `trained_on`: they are from
    `score train pretrain`, or from a base that is.

    Other models that are trained here stand for nothing but themselves.
    """
    return about.get("method") == STAND_IN_METHOD or bool(about.get("base", {}).get("stand_in"))


def remember(digest: str, record: Mapping[str, Any]) -> None:
    """Store the record of a training in the user's cache, by the digest of the trained weights."""
    path = _remembered(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {**trained_on(record), "exposure": record.get("exposure")})


def known_training(digest: str) -> tuple[dict[str, Any], Exposure | None]:
    """The stored `trained_on` and exposure of weights, by their digest; ({}, None) if unknown.
    Raises UserError when the record is damaged."""
    path = _remembered(digest)
    return (
        (trained_on(read_json(path, most=MOST_LIST)), _read_exposure(path))
        if path.exists()
        else ({}, None)
    )


def _remembered(digest: str) -> Path:
    return user_cache_path("jackalope") / "trained" / f"{digest}.json"


def _read_exposure(path: Path) -> Exposure | None:
    recorded = read_json(path, most=MOST_LIST).get("exposure") if path.exists() else None
    if recorded is None:
        return None
    try:
        return Exposure.from_dict(recorded)
    except (KeyError, TypeError, ValueError):
        raise UserError(
            f"{path} is damaged: its `exposure` cannot be read; restore it or train again."
        ) from None


def scene_names(world: Images, scenes: Collection[str]) -> dict[str, frozenset[str]]:
    """Names of each scene by content: digests of its image and of its description, which renders of
    other sizes or qualities share."""
    names = {scene: {world.image_digest(scene)} for scene in scenes}
    for row in _rows(world, scenes, ["scene"]) if isinstance(world, World) else ():
        if row["scene"] and json.loads(row["scene"]):
            names[row["scene_id"]].add(hashlib.sha256(row["scene"].encode()).hexdigest())
    return {scene: frozenset(name[:_DIGITS] for name in found) for scene, found in names.items()}


def _rows(world: World, scenes: Collection[str], columns: list[str]) -> Iterator[dict[str, Any]]:
    wanted = set(scenes)
    for batch in world.batches("scenes", ["scene_id", *columns]):
        yield from (row for row in batch.to_pylist() if row["scene_id"] in wanted)
