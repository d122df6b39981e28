"""What a scene shows, recomputed from its recorded poses. Written apart from the code that placed the objects."""

import json
import tomllib
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from generator.judge.words import Claim

_UP = np.array([0.0, 0.0, 1.0])
_TOLERANCE = 1e-5  # metres; records are rounded to the micrometre


@dataclass(frozen=True)
class Shown:
    """The objects of a scene: category and attribute values by kind."""

    objects: list[tuple[str, dict[str, str]]]

    def bears_out(self, claims: list[Claim]) -> bool:
        """Whether different objects of the scene fit all the claims."""
        fitting = [
            {
                i
                for i, (category, values) in enumerate(self.objects)
                if category == c and set(named) <= set(values.items())
            }
            for c, named in claims
        ]
        if len(claims) > len(self.objects):
            return False
        return any(
            all(i in fits for i, fits in zip(chosen, fitting, strict=True))
            for chosen in permutations(range(len(self.objects)), len(claims))
        )


def read_scene(record: str) -> Shown:
    """The objects of a scene record (JSON)."""
    return Shown([(thing["category"], thing["attributes"]) for thing in json.loads(record)["objects"]])


def record_faults(row: dict[str, Any], vocabulary_toml: str) -> list[str]:
    """What in a row of the scenes table does not follow from its recorded poses: objects and relations."""
    scene = json.loads(row["scene"])
    faults = [
        f"object {i} is listed as {listed['category']} {dict(listed['attributes'])}, its pose says {thing['category']} {thing['attributes']}"
        for i, (listed, thing) in enumerate(zip(row["objects"], scene["objects"], strict=False))
        if (listed["category"], dict(listed["attributes"])) != (thing["category"], thing["attributes"])
    ]
    if len(row["objects"]) != len(scene["objects"]):
        faults.append(f"{len(row['objects'])} objects are listed and {len(scene['objects'])} posed")
    return faults + _relation_faults(row["relations"], scene, tomllib.loads(vocabulary_toml)["relations"])


def _relation_faults(listed: list[dict[str, Any]], scene: dict[str, Any], declared: dict[str, Any]) -> list[str]:
    sight = np.subtract(scene["camera"]["target"], scene["camera"]["position"])
    behind = np.append(sight[:2], 0.0)
    behind /= np.linalg.norm(behind)
    right = np.cross(behind, _UP)
    towards = {"behind": behind, "front": -behind, "right": right, "left": -right}
    places = [np.array(thing["position"]) for thing in scene["objects"]]
    faults = []
    if len(listed) != len(places) * (len(places) - 1) * len(declared):
        faults.append(f"{len(listed)} relations are listed, not one for each ordered pair and relation")
    for entry in listed:
        i, j, name = entry["subject"], entry["object"], entry["relation"]
        margin = float(np.dot(places[i] - places[j], towards[declared[name]["direction"]]))
        undecided = abs(margin) < declared[name]["margin"]
        holds = None if undecided else margin > 0
        if abs(margin - entry["margin"]) > _TOLERANCE or holds != entry["holds"]:
            faults.append(
                f"object {i} {name} of object {j} is listed as {entry['holds']} by {entry['margin']} m, the poses say {holds} by {margin:.6f} m"
            )
    return faults
