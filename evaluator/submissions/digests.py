"""Digests of data, which identify models, openings and receipts."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest_of(data: Mapping[str, Any]) -> str:
    """Compute the SHA-256 of JSON data.

    Args:
        data: The data. The order of its keys does not matter.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
        True
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
