"""Two vocabularies and their lexicons, and forms in short notation, for tests of reading texts."""

from typing import Any

from generator.base.registry import resource
from generator.judge.lexicon import Lexicon

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

LEXICON, FARM_LEXICON = Lexicon.of(CLEVR), Lexicon.of(FARM)


def form(*objects: Any, relations: list[list[Any]] | None = None, **more: Any) -> dict[str, Any]:
    """A form's JSON: an object is "red cube", or a category and what else is known of it."""
    data: dict[str, Any] = {"objects": [thing(each) if isinstance(each, str) else each for each in objects]}
    if relations:
        data["relations"] = relations
    return {**data, **more}


def thing(words: str, **more: Any) -> dict[str, Any]:
    """ "large red cube", "object" … as JSON."""
    *values, noun = words.split()
    kinds = {name: kind for name, (kind, _) in LEXICON.values.items()}
    return {
        "category": None if noun == "object" else noun,
        "attributes": {kinds[value]: value for value in values},
        **more,
    }
