"""Nouns made singular, as BindSplit matches objects (appendix B.3): rules, irregular plurals, and nouns that stay as they are."""

from functools import lru_cache

IRREGULAR = {
    "children": "child", "grandchildren": "grandchild", "men": "man", "women": "woman", "people": "person", "teeth": "tooth",
    "feet": "foot", "geese": "goose", "mice": "mouse", "oxen": "ox", "dice": "die", "knives": "knife", "wives": "wife",
    "lives": "life", "leaves": "leaf", "loaves": "loaf", "halves": "half", "calves": "calf", "shelves": "shelf", "wolves": "wolf",
    "elves": "elf", "scarves": "scarf", "hooves": "hoof", "thieves": "thief", "selves": "self", "midwives": "midwife",
    "cacti": "cactus", "fungi": "fungus", "axes": "axe", "movies": "movie", "cookies": "cookie", "brownies": "brownie",
    "smoothies": "smoothie", "hoodies": "hoodie", "ties": "tie", "pies": "pie", "magpies": "magpie", "veggies": "veggie",
    "selfies": "selfie", "zombies": "zombie", "birdies": "birdie", "doggies": "doggie", "shoes": "shoe", "horseshoes": "horseshoe",
    "canoes": "canoe", "toes": "toe", "hoes": "hoe", "oboes": "oboe", "does": "doe", "buses": "bus", "busses": "bus",
    "lenses": "lens", "gases": "gas", "viruses": "virus", "walruses": "walrus", "octopuses": "octopus", "circuses": "circus",
    "irises": "iris", "canvases": "canvas", "bonuses": "bonus", "crocuses": "crocus", "cactuses": "cactus", "campuses": "campus",
    "caches": "cache", "headaches": "headache", "avalanches": "avalanche", "axles": "axle", "quizzes": "quiz",
}  # fmt: skip
"""Plurals that the rules get wrong."""
KEPT = frozenset(
    [
        "glasses",
        "sunglasses",
        "eyeglasses",
        "goggles",
        "scissors",
        "pants",
        "underpants",
        "sweatpants",
        "jeans",
        "shorts",
        "trousers",
        "tights",
        "leggings",
        "overalls",
        "pajamas",
        "pyjamas",
        "clothes",
        "binoculars",
        "pliers",
        "tweezers",
        "tongs",
        "headquarters",
        "barracks",
        "crossroads",
        "series",
        "species",
        "news",
        "mathematics",
        "gymnastics",
        "athletics",
        "electronics",
        "outdoors",
        "suds",
        "swiss",
        "lens",
        "gas",
        "canvas",
        "iris",
        "atlas",
        "christmas",
        "texas",
        "kansas",
        "paris",
        "dallas",
        "chaos",
        "bias",
        "alias",
        "pancreas",
        "molasses",
        "always",
        "perhaps",
        "yes",
        "us",
        "this",
        "his",
        "its",
        "has",
        "was",
        "is",
        "as",
        "plus",
        "thus",
        "pus",
        "bus",
    ]
)
"""Nouns that stay as they are: their singular means something else, or they only look like plurals."""


@lru_cache(maxsize=1 << 17)
def singular(noun: str) -> str:
    """The singular of a noun in lower case; of one that is singular, itself.

    >>> [singular(noun) for noun in ("cars", "children", "glasses", "boxes", "cherries", "grass", "dress")]
    ['car', 'child', 'glasses', 'box', 'cherry', 'grass', 'dress']
    """
    if noun in KEPT or (not noun.endswith(("s", "men", "children")) and noun not in IRREGULAR):
        return noun
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    return _compound(noun) if noun.endswith(("men", "children")) else _without_s(noun)


def _compound(noun: str) -> str:
    """firemen, snowwomen, stepchildren; but specimen."""
    if noun.endswith("children"):
        return noun[: -len("ren")]
    return noun if noun in ("specimen", "semen", "omen", "abdomen", "ramen") else f"{noun[:-2]}an"


def _without_s(noun: str) -> str:
    if noun.endswith(("ss", "us", "is")) or len(noun) < 3 or noun[-2] in "'.":
        return noun
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    if noun.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return noun[:-2]
    return noun[:-1]
