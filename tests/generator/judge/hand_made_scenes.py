"""Two vocabularies, and scenes and forms in short notation, for tests of reading and deciding."""

import json
from typing import Any

from generator.base.registry import resource
from generator.judge.decide import decide
from generator.judge.geometry import SceneGeometry, Terms, read_scene
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text

CLEVR = resource("scenes").joinpath("clevr.toml").read_text(encoding="utf-8")

FARM = """
category = "animal"
generic = "thing"
adjectives = ["shade", "coat"]
[attributes.coat]
brown = {}
"black and white" = { synonyms = ["piebald"] }
orange = {}
[attributes.shade]
dark = {}
"pale grey" = {}
[objects]
"guinea pig" = { synonyms = ["cavy"] }
pig = { plural = "pigs" }
unicorn = { article = "a", synonyms = ["ibex"] }
emu = {}
[relations]
left = { phrase = "to the left of", synonyms = ["left of"], margin = 0.2 }
near = { phrase = "in", margin = 0.2 }
[environments]
desert = { phrase = "in a desert" }
sky = { phrase = "in a desert under a cloudy sky" }
"""

LEXICON, FARM_LEXICON = Lexicon.from_toml(CLEVR), Lexicon.from_toml(FARM)
TERMS = Terms.from_toml(CLEVR)


def scene(*objects: str, environment: str | None = None) -> SceneGeometry:
    """A scene seen from the south: "red cube 1 2" stands 1 m to the right and 2 m away."""
    records = []
    for description in objects:
        *words, x, y = description.split()
        records.append(
            {
                "category": words[-1],
                "attributes": dict(LEXICON.words[word][1] for word in words[:-1]),
                "position": [float(x), float(y), 0.0],
            }
        )
    record: dict[str, Any] = {
        "objects": records,
        "camera": {"position": [0, -9, 5], "target": [0, 0, 0]},
    }
    if environment:
        record["environment"] = environment
    return read_scene(json.dumps(record), TERMS)


def decided(text: str, geometry: SceneGeometry) -> bool | None:
    return decide(read_text(text, LEXICON), geometry)


def form(*objects: Any, relations: list[list[Any]] | None = None, **more: Any) -> dict[str, Any]:
    """A form's JSON: an object is "red cube", or a category and what else is known of it."""
    data: dict[str, Any] = {
        "objects": [thing(object_) if isinstance(object_, str) else object_ for object_ in objects]
    }
    if relations:
        data["relations"] = relations
    return {**data, **more}


def thing(words: str, **more: Any) -> dict[str, Any]:
    """ "large red cube", "object" … as JSON."""
    *values, noun = words.split()
    pairs = [LEXICON.words[value][1] for value in values]
    return {"category": None if noun == "object" else noun, "attributes": dict(pairs), **more}
