"""Reads a description in JSON, strictly.

The document is a list of objects, or an object with `objects` and, if wanted, `relations`:

    {"objects": [{"category": "cube", "color": "red"}, {"category": "sphere"}],
     "relations": [{"subject": 0, "relation": "left", "object": 1}]}

Attribute kinds stand beside `category` or under `attributes`. What is not of this form is one
unread part; so is an object whose values cannot be one choice each, such as "red or blue".
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .description import (
    MOST_OBJECTS,
    DescribedObject,
    DescribedRelation,
    Description,
    Span,
    UnreadPart,
)
from .lexicon import Lexicon

WordsAllowed = Literal["closed", "open"]
"""Whether the question named the world's words. Then another word for a category is a wrong object;
otherwise it is unread, since it may be a synonym that the family does not have."""
_BRACKET = re.compile(r"[\[{]")
_MOST_DIGITS = 18
"""Digits of an integer that is read: no index or count is longer."""
_REPEATED = object()
"""Stands for the value of a key that a JSON object has twice."""
_KEYS = ("category", "attributes", "id", "count")
_HEDGES = ("/", ",", "|", ";")


def read_json(
    text: str, span: Span, lexicon: Lexicon, words: WordsAllowed = "closed"
) -> Description:
    """Read the one JSON document in a part of an answer.

    Args:
        text: the whole answer.
        span: the part without reasoning and code fences.
        lexicon: of the image's world.
        words: whether the question named the world's words.

    Returns:
        The description; without objects and with an unread part if there is no document of this
        form, or more than one.
    """
    body = text[span[0] : span[1]]
    try:
        document, start, end = _find_document(body)
        objects, relations, faults = _read_document(document, lexicon, words)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Description(unread=(UnreadPart(*span, reason),), form="json")
    place = (span[0] + start, span[0] + end)
    unread = [UnreadPart(*place, fault) for fault in faults]
    if body[end:].strip():
        unread.append(UnreadPart(place[1], span[1], "text after the JSON document"))
    return Description(tuple(objects), tuple(relations), tuple(unread), form="json")


def _find_document(body: str) -> tuple[Any, int, int]:
    """The only list or object in a text, with its place. A sentence may stand before it.

    It begins at the first bracket. A later one may be inside a document that is cut off, of which
    a part would be read as the whole.
    """
    match = _BRACKET.search(body)
    if match is None:
        raise ValueError("no JSON document")
    decoder = json.JSONDecoder(
        object_pairs_hook=_without_repeats, parse_constant=_refuse, parse_int=_short_integer
    )
    try:
        document, end = decoder.raw_decode(body, match.start())
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    # Two lists may be two descriptions, of which the better one must not be chosen.
    if _BRACKET.search(body, end) is not None:
        raise ValueError("more than one JSON document")
    return document, match.start(), end


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in pairs:
        # Python keeps the last of two values; an answer must not say both and be right with one.
        data[key] = _REPEATED if key in data else value
    return data


def _refuse(constant: str) -> Any:
    raise ValueError(f"JSON has no {constant}")


def _short_integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"an integer of {len(digits):,} digits")
    return int(digits)


def _read_document(
    document: Any, lexicon: Lexicon, words: WordsAllowed
) -> tuple[list[DescribedObject], list[DescribedRelation], list[str]]:
    """The objects, relations and faults of a document. Raises ValueError for another form."""
    rows, relation_rows = document, []
    faults = []
    # Faults do not end the reading: one bad key must not cost the whole answer.
    if isinstance(document, dict):
        rows, relation_rows = document.get("objects"), document.get("relations", [])
        for key in document.keys() - {"objects", "relations"}:
            faults.append(f"unknown key '{key:.40}'")
    if not isinstance(rows, list) or not isinstance(relation_rows, list):
        raise ValueError("expected a list of objects, or an object with the list 'objects'")
    if len(rows) > MOST_OBJECTS:
        raise ValueError(f"more than {MOST_OBJECTS:,} objects")

    objects: list[DescribedObject] = []
    place_of: dict[Any, int | None] = {}
    # Relations name objects by their ids where all have one, else by their places.
    has_ids = all(isinstance(row, dict) and "id" in row for row in rows)
    for number, row in enumerate(rows):
        name = row["id"] if has_ids else number
        try:
            described, count = _read_object(row, lexicon, words=words, faults=faults)
        except ValueError as error:
            faults.append(f"object {number}: {error}")
            continue
        if len(objects) + count > MOST_OBJECTS:
            raise ValueError(f"more than {MOST_OBJECTS:,} objects")
        if isinstance(name, (int, str)):
            # An id that two objects have, or that stands for several, names none of them.
            place_of[name] = len(objects) if count == 1 and name not in place_of else None
        objects += [described] * count

    relations = []
    for number, row in enumerate(relation_rows):
        try:
            relations.append(_read_relation(row, place_of, lexicon))
        except ValueError as error:
            faults.append(f"relation {number}: {error}")
    return objects, relations, faults


def _read_object(
    row: Any, lexicon: Lexicon, *, words: WordsAllowed, faults: list[str]
) -> tuple[DescribedObject, int]:
    """An object and how many like it are described. Raises ValueError if it is unread as a
    whole; single values that are not words of the world are added to `faults`."""
    vocabulary = lexicon.vocabulary
    if not isinstance(row, dict):
        raise ValueError("expected a JSON object")
    known = {**row}
    # Models write "shape" as often as "category".
    if vocabulary.category not in vocabulary.values and vocabulary.category in known:
        if "category" in known:
            raise ValueError(f"both 'category' and '{vocabulary.category}'")
        known["category"] = known.pop(vocabulary.category)
    nested = known.pop("attributes", {})
    if not isinstance(nested, dict):
        raise ValueError("expected the attributes as a JSON object")
    if nested.keys() & known.keys():
        raise ValueError("an attribute stands twice")
    count = known.pop("count", 1)
    known.pop("id", None)
    category = _read_category(known.pop("category", None), lexicon, words)
    # Not isinstance: True is an int in Python.
    if type(count) is not int or not 1 <= count <= MOST_OBJECTS:
        raise ValueError("expected the count as a whole number")

    attributes = {}
    for kind, word in {**known, **nested}.items():
        if kind not in vocabulary.values:
            faults.append(f"unknown key '{kind:.40}'")
            continue
        if word is None:
            continue
        spelled = _one_word(word)
        value = lexicon.values[kind].get(spelled)
        if value is None:
            faults.append(f"'{spelled:.40}' is not a {kind} of this world")
        else:
            attributes[kind] = value
    return DescribedObject(category, attributes), count


def _read_category(word: Any, lexicon: Lexicon, words: WordsAllowed) -> str | None:
    # null is the way to leave out a value that the schema demands.
    if word is None:
        return None
    spelled = _one_word(word)
    category = lexicon.categories.get(spelled)
    if category is not None:
        return category
    # The word of the schema's example, and anything else that is not a plain word, names nothing.
    is_word = all(part.isalpha() for part in spelled.split())
    if words == "open" or not is_word or len(spelled) > 40:
        raise ValueError(f"'{spelled:.40}' is not a category of this world")
    return spelled


def _one_word(word: Any) -> str:
    """A value in small letters. Raises ValueError unless it is one choice."""
    if not isinstance(word, str):
        raise ValueError("expected one word for each value")
    spelled = " ".join(word.casefold().replace("grey", "gray").split())
    if " or " in f" {spelled} " or any(mark in spelled for mark in _HEDGES):
        raise ValueError(f"'{spelled:.40}' is not one choice")
    return spelled


def _read_relation(
    row: Any, place_of: Mapping[Any, int | None], lexicon: Lexicon
) -> DescribedRelation:
    if isinstance(row, list) and len(row) == 3:
        subject, relation, target = row
    elif isinstance(row, dict) and row.keys() == {"subject", "relation", "object"}:
        subject, relation, target = row["subject"], row["relation"], row["object"]
    else:
        raise ValueError("expected subject, relation and object")
    places = []
    for end in (subject, target):
        # In Python True is the key 1 too.
        is_name = isinstance(end, (int, str)) and not isinstance(end, bool)
        place = place_of.get(end) if is_name else None
        if place is None:
            raise ValueError("it names no single described object")
        places.append(place)
    name = lexicon.relations.get(_one_word(relation))
    if name is None:
        raise ValueError(f"'{_one_word(relation):.40}' is not a relation of this world")
    if places[0] == places[1]:
        raise ValueError("it joins an object with itself")
    return DescribedRelation(places[0], name, places[1])


def write_json(description: Description) -> str:
    """Write a description as the JSON document that `read_json` reads.

    Args:
        description: objects and relations.

    Returns:
        One line of JSON: a list of objects if there are no relations.
    """
    objects = []
    for described in description.objects:
        objects.append({"category": described.category, **described.attributes})
    if not description.relations:
        return json.dumps(objects)
    relations = []
    for relation in description.relations:
        relations.append(
            {"subject": relation.subject, "relation": relation.relation, "object": relation.target}
        )
    return json.dumps({"objects": objects, "relations": relations})
