"""The JSON that a structured description has: its schema, and an example for the prompt."""

import json
from typing import Any

from .json_reader import WordsAllowed
from .vocabulary import Vocabulary


def answer_schema(
    vocabulary: Vocabulary,
    *,
    relations: bool = False,
    words: WordsAllowed = "closed",
    may_lack: bool = False,
) -> dict[str, Any]:
    """Make the JSON schema of an answer, for a prompt or an endpoint's structured output.

    Args:
        vocabulary: the words of the image's world.
        relations: whether the answer names relations.
        words: `closed` to allow only the world's words, `open` for any.
        may_lack: whether null may stand for a category or a value that is not known.

    Returns:
        A JSON schema.

    Example:
        >>> tables = '[objects]\\ncube = {}\\n[attributes.color]\\nred = {}\\nblue = {}\\n'
        >>> schema = answer_schema(Vocabulary.from_toml('category = "shape"\\n' + tables))
        >>> schema["properties"]["objects"]["items"]["properties"]["color"]
        {'type': 'string', 'enum': ['red', 'blue']}
    """

    def word(names: list[str]) -> dict[str, Any]:
        types: Any = ["string", "null"] if may_lack else "string"
        if words == "open":
            return {"type": types}
        allowed: list[str | None] = [*names, None] if may_lack else [*names]
        return {"type": types, "enum": allowed}

    properties = {"category": word(list(vocabulary.nouns))}
    for kind in vocabulary.judged_kinds:
        properties[kind] = word(list(vocabulary.values[kind]))
    tables = {"objects": _list_of(properties)}
    if relations:
        # Words of relations too: an endpoint that enforces the schema then cannot give an unknown
        # one.
        index = {"type": "integer", "minimum": 0}
        named: dict[str, Any] = {"type": "string"}
        if words == "closed":
            named["enum"] = list(vocabulary.relations)
        ends = {"subject": index, "relation": named, "object": index}
        tables["relations"] = _list_of(ends)
    return _object_of(tables)


def example_answer(vocabulary: Vocabulary, *, relations: bool = False) -> str:
    """Write an example of an answer for a prompt. Its values are placeholders, which are unread,
    so that a model that copies it earns nothing.

    Args:
        vocabulary: the words of the image's world.
        relations: whether the answer names relations.

    Returns:
        One line of JSON.
    """
    described = {"category": f"<{vocabulary.category}>"}
    for kind in vocabulary.judged_kinds:
        described[kind] = f"<{kind}>"
    document: dict[str, Any] = {"objects": [described, described]}
    if relations:
        document["relations"] = [{"subject": 0, "relation": "<relation>", "object": 1}]
    return json.dumps(document)


def _list_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object_of(properties)}


def _object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        # Structured output of chat endpoints demands that every key is required and no other is
        # allowed.
        "required": list(properties),
        "additionalProperties": False,
    }
