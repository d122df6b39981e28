"""Nouns made singular, as BindSplit matches objects (appendix B.3): rules, irregular plurals, and nouns that stay as
they are."""

from functools import lru_cache

IRREGULAR = {
    "children": "child",
    "men": "man",
    "women": "woman",
    "people": "person",
    "teeth": "tooth",
    "feet": "foot",
    "geese": "goose",
    "mice": "mouse",
    "dormice": "dormouse",
    "lice": "louse",
    "oxen": "ox",
    "dice": "die",
    "knives": "knife",
    "wives": "wife",
    "lives": "life",
    "leaves": "leaf",
    "loaves": "loaf",
    "halves": "half",
    "calves": "calf",
    "shelves": "shelf",
    "wolves": "wolf",
    "elves": "elf",
    "scarves": "scarf",
    "hooves": "hoof",
    "thieves": "thief",
    "selves": "self",
    "dwarves": "dwarf",
    "wharves": "wharf",
    "cacti": "cactus",
    "fungi": "fungus",
    "octopi": "octopus",
    "hippopotami": "hippopotamus",
    "platypi": "platypus",
    "alumni": "alumnus",
    "nuclei": "nucleus",
    "stimuli": "stimulus",
    "radii": "radius",
    "antennae": "antenna",
    "larvae": "larva",
    "algae": "alga",
    "vertebrae": "vertebra",
    "axes": "axe",
    "movies": "movie",
    "cookies": "cookie",
    "rookies": "rookie",
    "brownies": "brownie",
    "smoothies": "smoothie",
    "hoodies": "hoodie",
    "beanies": "beanie",
    "ties": "tie",
    "neckties": "necktie",
    "bowties": "bowtie",
    "pies": "pie",
    "potpies": "potpie",
    "magpies": "magpie",
    "veggies": "veggie",
    "selfies": "selfie",
    "zombies": "zombie",
    "birdies": "birdie",
    "doggies": "doggie",
    "collies": "collie",
    "budgies": "budgie",
    "calories": "calorie",
    "prairies": "prairie",
    "hippies": "hippie",
    "foodies": "foodie",
    "cuties": "cutie",
    "pixies": "pixie",
    "genies": "genie",
    "talkies": "talkie",
    "onesies": "onesie",
    "shoes": "shoe",
    "canoes": "canoe",
    "toes": "toe",
    "tiptoes": "tiptoe",
    "hoes": "hoe",
    "oboes": "oboe",
    "does": "doe",
    "foes": "foe",
    "floes": "floe",
    "aloes": "aloe",
    "joes": "joe",
    "busses": "bus",
    "lenses": "lens",
    "rhinoceroses": "rhinoceros",
    "caches": "cache",
    "aches": "ache",
    "headaches": "headache",
    "toothaches": "toothache",
    "mustaches": "mustache",
    "moustaches": "moustache",
    "quiches": "quiche",
    "brioches": "brioche",
    "niches": "niche",
    "avalanches": "avalanche",
    "axles": "axle",
    "quizzes": "quiz",
    "skiis": "ski",
}
"""Plurals that the rules get wrong."""
_LAST = (
    "shelves",
    "knives",
    "wolves",
    "leaves",
    "loaves",
    "wives",
    "thieves",
    "hooves",
    "scarves",
    "shoes",
    "teeth",
    "people",
)
"""Those that also end compounds, such as bookshelves."""
_SINGULAR_IS = frozenset(
    [
        "aegis",
        "amaryllis",
        "ambergris",
        "axis",
        "cannabis",
        "clematis",
        "clitoris",
        "dais",
        "debris",
        "dermis",
        "digitalis",
        "epidermis",
        "glottis",
        "hubris",
        "ibis",
        "iris",
        "kris",
        "lapis",
        "loris",
        "mantis",
        "orchis",
        "orris",
        "pastis",
        "pelvis",
        "penis",
        "portcullis",
        "proboscis",
        "pubis",
        "tennis",
        "testis",
        "tetris",
        "trellis",
        "verdigris",
        "adonis",
        "alexis",
        "atlantis",
        "boris",
        "chablis",
        "chris",
        "curtis",
        "davis",
        "dennis",
        "doris",
        "ellis",
        "elvis",
        "francis",
        "harris",
        "jarvis",
        "lewis",
        "louis",
        "marquis",
        "memphis",
        "morris",
        "norris",
        "osiris",
        "otis",
        "paris",
        "phyllis",
        "travis",
        "capris",
        "khakis",
        "levis",
        "is",
        "this",
        "his",
    ]
)
"""Nouns in -is that are no plurals, and trousers. Others in -is are plurals of nouns in -i, such as skis."""
_PLURAL_US = frozenset(
    [
        "bantus",
        "bayous",
        "caribous",
        "cpus",
        "ecus",
        "emus",
        "flus",
        "gnus",
        "gpus",
        "gurus",
        "haikus",
        "hindus",
        "kudus",
        "menus",
        "parvenus",
        "snafus",
        "thous",
        "tiramisus",
        "tofus",
        "tutus",
        "zebus",
        "zulus",
    ]
)
"""Plurals of nouns in -u. Others in -us are no plurals, such as bus."""
_USES = frozenset(["abuses", "excuses", "fuses", "muses", "recluses", "refuses", "ruses", "uses"])
"""Plurals of nouns in -use. Others in -uses are those of nouns in -us, but those in -auses, -euses and -ouses."""
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
        "panties",
        "undies",
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
        "upstairs",
        "downstairs",
        "suds",
        "swiss",
        "lens",
        "gas",
        "canvas",
        "atlas",
        "christmas",
        "texas",
        "kansas",
        "dallas",
        "wales",
        "thames",
        "adidas",
        "mercedes",
        "rhinoceros",
        "asbestos",
        "cosmos",
        "thermos",
        "chaos",
        "bias",
        "alias",
        "pancreas",
        "molasses",
        "always",
        "perhaps",
        "yes",
        "its",
        "has",
        "was",
        "as",
    ]
)
"""Nouns that stay as they are: their singular means something else, or they only look like plurals."""


_MEN = frozenset(
    [
        "specimen",
        "semen",
        "omen",
        "abdomen",
        "ramen",
        "hymen",
        "stamen",
        "regimen",
        "acumen",
        "bitumen",
        "cyclamen",
        "yemen",
        "carmen",
    ]
)


@lru_cache(maxsize=1 << 17)
def singular(noun: str) -> str:
    """The singular of a noun in lower case; of one that is singular, itself.

    >>> nouns = "cars", "children", "glasses", "boxes", "cherries", "grass", "skis", "tennis", "t-shirts"
    >>> [singular(noun) for noun in nouns]
    ['car', 'child', 'glasses', 'box', 'cherry', 'grass', 'ski', 'tennis', 't-shirt']
    """
    head, dash, last = noun.rpartition("-")
    if dash:
        return head + dash + singular(last)
    if noun in KEPT or noun in _MEN:
        return noun
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    for plural in _LAST:
        if noun.endswith(plural):
            return noun.removesuffix(plural) + IRREGULAR[plural]
    if noun.endswith("children"):
        return noun[: -len("ren")]
    if noun.endswith("men"):
        return f"{noun[:-2]}an"
    return _without_s(noun) if noun.endswith("s") else noun


def _without_s(noun: str) -> str:
    if len(noun) < 3 or noun[-2] in "'." or not _plural(noun):
        return noun
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    if noun.endswith(("sses", "shes", "ches", "xes", "zzes", "tzes", "oes")):
        return noun[:-2]
    if noun.endswith("es") and (noun[:-2] in KEPT or noun[:-2] in _SINGULAR_IS):
        return noun[:-2]
    if noun.endswith("uses") and not noun.endswith(("auses", "euses", "ouses")) and noun not in _USES:
        return noun[:-2]
    return noun[:-1]


def _plural(noun: str) -> bool:
    """Whether the last s of a noun can be that of a plural."""
    if noun.endswith("is"):
        return noun not in _SINGULAR_IS and not noun.endswith(("sis", "itis", "polis", "ois"))
    if noun.endswith("us"):
        return noun in _PLURAL_US or (noun.endswith("aus") and not noun.endswith("laus"))
    return not noun.endswith("ss")
