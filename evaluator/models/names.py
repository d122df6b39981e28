"""Names of models that can be refused without loading a model library, which takes seconds."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

from generator.base.errors import UserError, did_you_mean
from generator.base.extras import check_installed

BLIND_KINDS = ("ngram", "length", "lm")
"""The kinds of `blind:`; `lm` needs the name of a language model."""
LEAST_RATE = 0.5
"""The smallest rate of right answers of `oracle:RATE`: below it the opposite answers are better."""
_DEVICES = ("cpu", "cuda", "mps", "xpu", "hpu", "npu", "xla", "mtia", "privateuseone")
"""Kinds of devices that torch knows and models run on."""


def rate_of_oracle(name: str) -> float:
    """The rate of right answers in the name of an oracle.

    Raises:
        UserError: It is not a number from 0.5 to 1.

    >>> rate_of_oracle(""), rate_of_oracle("0.9")
    (1.0, 0.9)
    """
    try:
        rate = float(name or 1)
    except ValueError:
        rate = float("nan")
    if not LEAST_RATE <= rate <= 1:
        raise UserError(
            f"Expected oracle, or oracle:RATE with a rate of right answers from 0.5 to 1, such as "
            f"oracle:0.9, got 'oracle:{name}'."
        )
    return rate


def check_blind(name: str) -> None:
    """Raise UserError for a name that no model of `blind:` has."""
    kind, _, rest = name.partition(":")
    if kind == "lm":
        if not rest:
            raise UserError(
                "blind:lm names no language model: add : and a folder or a name on the Hub, such "
                "as blind:lm:openai-community/gpt2."
            )
        return
    if name not in BLIND_KINDS:
        raise UserError(f"Unknown blind model '{name}': {did_you_mean(kind, list(BLIND_KINDS))}")


def parse_place(name: str) -> tuple[str, str]:
    """The URL and the model in URL@MODEL. The URL stays as the user writes it, so that it can be
    recorded.

    Raises:
        UserError: Another form, or a URL with a password or a query, because URLs are recorded.

    >>> parse_place("http://localhost:8000/v1@owner/model@x")
    ('http://localhost:8000/v1', 'owner/model@x')
    """
    url, _, model = name.partition("@")
    parts = urlsplit(url)
    # A host and a port alone: a name and a password before the host would be recorded with it.
    plain = re.fullmatch(r"([\w.-]+|\[[\da-f:]+\])(:\d+)?", parts.netloc) and not (
        parts.query or parts.fragment
    )
    if not (model and parts.scheme in ("http", "https") and plain):
        raise UserError(
            "Expected api:URL@MODEL, such as api:http://localhost:8000/v1@MODEL, with the key in "
            "OPENAI_API_KEY and neither key nor query in the URL."
        )
    return url.rstrip("/"), model


def check_endpoint(name: str) -> None:
    """Raise UserError for another form than URL@MODEL, and if the client is not installed."""
    parse_place(name)
    check_installed("openai")


def check_device(name: str | None) -> None:
    """Raise UserError for a device whose kind torch does not know, such as `gpu`.

    Whether a known device is there shows when the model is loaded.
    """
    if name is None:
        return
    kind, colon, number = name.partition(":")
    if kind not in _DEVICES or (colon and not number.isdigit()):
        raise UserError(
            f"Unknown device '{name}': {did_you_mean(kind, list(_DEVICES[:4]))} Or leave --device "
            f"out to take the best device."
        )


CHECKS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {"oracle": rate_of_oracle, "blind": check_blind, "api": check_endpoint}
)
"""{family: the function that refuses names that no model of the family has}."""
