"""Checks the files at the root of a dataset: dataset.json, README.md and croissant.json say what the components are."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.limits import read_text
from generator.dataset.card import card
from generator.judge.components import format_faults
from generator.judge.findings import Finding, finding

_KEYS = {"format", "world", "benchmarks"}


def index_findings(root: Path) -> Iterator[Finding]:
    """A dataset.json that names other components, and cards that are not what the manifests give.

    The cards state nothing of their own: they put manifests and sums, which are judged, into words. They are made again
    by the format's code (generator.dataset.card), and compared byte by byte.
    """
    try:
        index = read_json(root / "dataset.json")
    except (UserError, OSError) as error:
        yield finding("wrong index", f"dataset.json cannot be read: {error}")
        return
    yield from format_faults("dataset.json", index)
    manifests = {path.parent.name: path for path in sorted(root.glob("benchmarks/[!.]*/manifest.json"))}
    try:
        due = {name: read_json(path).get("sums") for name, path in manifests.items()}
        world = read_json(root / "world" / "manifest.json").get("sums")
    except UserError as error:
        yield finding("damaged file", error.message)
        return
    if index.get("world") != world:
        yield finding("wrong index", "dataset.json names another world than world/manifest.json")
    listed = index.get("benchmarks")
    if listed != due:
        listed = listed if isinstance(listed, dict) else {}
        named = sorted(name for name in {*listed, *due} if listed.get(name) != due.get(name))
        yield finding("wrong index", f"dataset.json does not name the benchmarks that are there: {', '.join(named)}")
    for key in sorted(set(index) - _KEYS):
        yield finding("wrong index", f"dataset.json has the key '{key}', which none has")
    yield from _card_findings(root)


def _card_findings(root: Path) -> Iterator[Finding]:
    try:
        cards = card(root)
    except (UserError, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        yield finding("wrong card", f"README.md and croissant.json cannot be made from the manifests: {error!r}")
        return
    for name, text in cards.items():
        try:
            found = read_text(root / name)
        except (OSError, ValueError) as error:
            yield finding("wrong card", f"{name} cannot be read: {error}")
            continue
        if found != text:
            lines = enumerate(zip_longest(found.splitlines(), text.splitlines(), fillvalue=""), 1)
            number, one, other = next(((n, *both) for n, both in lines if both[0] != both[1]), (0, "", ""))
            yield finding(
                "wrong card",
                f"{name}, line {number}: it says '{one.strip()[:120]}', the manifests give '{other.strip()[:120]}'",
            )
