"""Scenes in short notation, for tests of what the judge decides."""

import json
from typing import Any

from generator.judge.decide import decide
from generator.judge.geometry import SceneGeometry, Terms, read_scene
from generator.judge.text_reader import read_text
from tests.generator.judge.vocabularies import CLEVR, LEXICON

TERMS = Terms.of(CLEVR)


def scene(*objects: str, environment: str | None = None) -> SceneGeometry:
    """A scene seen from the south: "red cube 1 2" stands 1 m to the right and 2 m away."""
    things = []
    for each in objects:
        *words, x, y = each.split()
        things.append(
            {
                "category": words[-1],
                "attributes": dict(LEXICON.values[word] for word in words[:-1]),
                "position": [float(x), float(y), 0.0],
            }
        )
    record: dict[str, Any] = {"objects": things, "camera": {"position": [0, -9, 5], "target": [0, 0, 0]}}
    if environment:
        record["environment"] = environment
    return read_scene(json.dumps(record), TERMS)


def decided(text: str, shown: SceneGeometry) -> bool | None:
    return decide(read_text(text, LEXICON), shown)
