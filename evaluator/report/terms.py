"""What the names of metrics and kinds mean, for readers who do not know the protocols."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "R@1": "the true caption scores above every false one",
        "accuracy": "the true caption scores above one false caption",
        "matching": "two captions are given to the right two images",
        "text": "for each of two images the right one of two captions scores higher",
        "image": "for each of two captions the right one of two images scores higher",
        "group": "text and image are both right",
        "follows the viewer": "the caption that is true for the camera alone scores highest",
        "follows the object": "the caption that is true for the object alone scores highest",
        "follows neither": "neither caption scores above the other",
        "original accuracy": "the caption scores above a false one",
        "R@1 composed": "the whole caption scores above every caption with one changed atom",
        "GZSL": "the true label scores above all wrong labels",
        "ZSL": "the true label scores above the wrong labels that are unseen too",
    }
)
"""{metric: when a question counts as right} (docs/protocols.md)."""
_KINDS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("retrieval", "grid"): "the false captions are all others of the world",
        ("binary", "swap"): "the false caption exchanges two words",
        ("binary", "replace"): "the false caption has one other word",
        ("binary", "flip"): "the false caption has the opposite relation",
        ("pairs", "attribute"): "the images differ in exchanged values",
        ("pairs", "relation"): "the images differ in exchanged positions",
        ("pairs", "turn"): "the images show the same objects from two sides",
        ("frames", "viewer"): "each caption is true of one of two sides of a world",
        ("frames", "object"): "a caption of an object's own left or right is true of both sides",
        ("views", "same-scene"): "which of two images shows the scene of the first one",
        ("views", "quarter-turns"): "how far the camera moved between two images",
        ("views", "taken-from"): "on which side of an object the camera of the second image stood",
        ("frames", "assumed"): "captions do not say whose left they mean",
    }
)
"""{(protocol, kind): what is compared}."""


def terms_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Define the metrics and kinds of rows.

    Args:
        rows: Rows of results.

    Returns:
        A definition of each metric and kind that has one, in the order of the rows.

    Example:
        >>> terms_of([{"protocol": "retrieval", "metric": "R@1", "kind": None}])
        ['R@1: the true caption scores above every false one']
    """
    definitions: dict[str, None] = {}
    for row in rows:
        metric, kind = row["metric"], row["kind"] or ""
        if metric in _METRICS:
            definitions[f"{metric}: {_METRICS[metric]}"] = None
        if (row["protocol"], kind) in _KINDS:
            definitions[f"{kind}: {_KINDS[row['protocol'], kind]}"] = None
    return list(definitions)
