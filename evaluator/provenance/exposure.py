"""The exposure of a model: objects, relations and scenes of its training.

`score train` records it in the model's folder, and in the user's cache by the digest of the
weights, so that copies are recognised.
"""

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
_OPTIONAL_KEYS = ("base", "certificate")
"""Keys of some records that runs repeat too."""
_DIGEST_DIGITS = 16
"""Of a scene's digest: enough that no two of a billion scenes share a name."""

Seen = tuple[str | None, str | None, str | None]
"""(attribute kind, value, category) of an object in an image or a text; None for parts that a text
does not name. Captions made elsewhere give (None, attribute, noun), since the kind is unknown."""
Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Exposure:
    """What training images showed and training texts named."""

    objects: frozenset[Seen] = frozenset()
    """An entry for each value of each object."""
    triples: frozenset[Triple] = frozenset()
    """Subject, relation and object of relations, by category."""
    scenes: frozenset[str] = frozenset()
    """Names of the training scenes by content (`scene_names`), so that copies in other datasets are
    recognised."""
    described: bool = True
    """Whether the content of all images is known. It is not for a corpus, whose captions alone are
    read."""
    complete: bool = True
    """Whether this is the model's whole training. It is not after fine-tuning a model of unknown
    training."""

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
        """The inverse of `to_dict`.

        Raises:
            KeyError, TypeError or ValueError: The data are anything else.
        """
        # Unpacking checks that each entry has three parts.
        return cls(
            objects=frozenset((kind, value, category) for kind, value, category in data["objects"]),
            triples=frozenset(
                (subject, relation, obj) for subject, relation, obj in data["triples"]
            ),
            scenes=frozenset(data["scenes"]),
            described=bool(data.get("described", True)),
            complete=bool(data.get("complete", True)),
        )


def read_exposure(
    world: World, benchmark: Benchmark, *, scenes: Collection[str], texts: Collection[str]
) -> Exposure | None:
    """Read what some scenes show and some texts name.

    Args:
        world: The scenes.
        benchmark: The texts.
        scenes: scene_ids.
        texts: text_ids.

    Returns:
        The exposure, or None if a scene has no recorded objects or a text has no form, as in
        datasets that were made elsewhere.
    """
    objects: set[Seen] = set()
    triples: set[Triple] = set()

    # What the images show.
    for row in _scene_rows(world, scenes, ["objects", "relations"]):
        scene_objects = row["objects"]
        if not scene_objects:
            return None
        for scene_object in scene_objects:
            category = scene_object["category"]
            objects.add((None, None, category))
            for kind, value in scene_object["attributes"]:
                objects.add((kind, value, category))
        for relation in row["relations"] or ():
            subject = scene_objects[relation["subject"]]["category"]
            other = scene_objects[relation["object"]]["category"]
            triples.add((subject, relation["relation"], other))
    # What the texts name.
    text_ids = benchmark.texts["text_id"].to_pylist()
    form_of = dict(zip(text_ids, benchmark.texts["form"].to_pylist(), strict=True))
    for text_id in texts:
        if form_of[text_id] is None:
            return None
        form = json.loads(form_of[text_id])
        for mention in form["objects"]:
            objects.add((None, None, mention["category"]))
            # A text that denies a value names it too.
            values = [*mention["attributes"].items(), *mention.get("without", {}).items()]
            for kind, value in values:
                objects.add((kind, value, mention["category"]))
        categories = [mention["category"] for mention in form["objects"]]
        for first, relation, second, *_ in form.get("relations", ()):
            if categories[first] and categories[second]:
                triples.add((categories[first], relation, categories[second]))
    names = scene_names(world, scenes)
    return Exposure(frozenset(objects), frozenset(triples), frozenset().union(*names.values()))


def recorded_exposure(folder: Path) -> Exposure | None:
    """Read the recorded exposure of the model in a folder; None without a record.

    Raises:
        UserError: The record is damaged.
    """
    return _read_exposure(folder / RECORD)


def trained_on(record: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a training record that runs of the model repeat."""
    return {name: record[name] for name in (*TRAINED_ON, *_OPTIONAL_KEYS) if name in record}


def is_of_stand_in(about: Mapping[str, Any]) -> bool:
    """Whether weights stem from a stand-in for a published model, by `trained_on`: they are from
    `score train pretrain`, or from a base that is.

    Other models that are trained here stand for nothing but themselves.
    """
    if about.get("method") == STAND_IN_METHOD:
        return True
    base = about.get("base", {})
    return bool(base.get("stand_in"))


def remember(digest: str, record: Mapping[str, Any]) -> None:
    """Store the record of a training in the user's cache.

    Args:
        digest: Digest of the trained weights, under which it is found.
        record: The record.
    """
    path = _cache_path(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {**trained_on(record), "exposure": record.get("exposure")})


def known_training(digest: str) -> tuple[dict[str, Any], Exposure | None]:
    """Read the stored record of a training.

    Args:
        digest: Of the trained weights.

    Returns:
        `trained_on` and the exposure; ({}, None) if the weights are unknown.

    Raises:
        UserError: The record is damaged.
    """
    path = _cache_path(digest)
    if not path.exists():
        return {}, None
    return trained_on(read_json(path, most=MOST_LIST)), _read_exposure(path)


def _cache_path(digest: str) -> Path:
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
    """Name scenes by their content, so that copies in other datasets are recognised.

    Args:
        world: The images.
        scenes: scene_ids.

    Returns:
        By scene_id, the digest of its image, and that of its description, which renders of other
        sizes or qualities share.
    """
    digests_of = {scene: {world.image_digest(scene)} for scene in scenes}
    if isinstance(world, World):
        for row in _scene_rows(world, scenes, ["scene"]):
            # The description of a failed scene is empty: all of them would share its digest.
            if row["scene"] and json.loads(row["scene"]):
                digest = hashlib.sha256(row["scene"].encode()).hexdigest()
                digests_of[row["scene_id"]].add(digest)
    names = {}
    for scene, digests in digests_of.items():
        names[scene] = frozenset(digest[:_DIGEST_DIGITS] for digest in digests)
    return names


def _scene_rows(
    world: World, scenes: Collection[str], columns: list[str]
) -> Iterator[dict[str, Any]]:
    """Some columns of the rows of these scenes; the whole table would not fit in memory."""
    chosen = set(scenes)
    for batch in world.batches("scenes", ["scene_id", *columns]):
        for row in batch.to_pylist():
            if row["scene_id"] in chosen:
                yield row
