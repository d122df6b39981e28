"""The most frequent part of speech of each English word, from the lexicon that the package textblob installs."""

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from generator.base.extras import check_installed
from generator.base.files import read_text

_FILE = "en/en-lexicon.txt"


@lru_cache(maxsize=1)
def parts_of_speech() -> dict[str, str]:
    """Tags of the Penn Treebank by word, of those that are written in lower case as such.

    The lexicon is that of Brill's tagger (Brill 1992; Brown corpus and Penn Treebank), MIT licence. Raises UserError where
    textblob is not installed. The package is not imported: only its file is read.
    """
    check_installed("textblob")
    spec = find_spec("textblob")
    folder = Path(next(iter(spec.submodule_search_locations or ()))) if spec else Path()
    tags: dict[str, str] = {}
    for line in read_text(folder / _FILE).splitlines():
        word, _, tag = line.partition(" ")
        if tag and not word.startswith(";;;"):
            if word.islower():
                tags[word] = tag
            else:
                tags.setdefault(word.lower(), tag)
    return tags
