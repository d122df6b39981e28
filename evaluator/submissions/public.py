"""What of a run is passed on to others: nothing of the user's machine, such as paths, hosts and
keys."""

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from generator.base.errors import UserError

_PATH = re.compile(r"(?<![\w.])(?:~?/|\.{1,2}/)[^\s,;:'\"@]+")
"""An absolute path, one of the home folder, or a relative one that says so, within a text."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s,;'\"]+")
"""An address within a text."""
_ARGUMENTS = re.compile(r",(?=\w+=)")
"""Where the arguments of a SPEC begin."""
_OF_PATHS = ("jackalope",)
"""Families whose names are always folders."""
_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
"""Names of environment variables that hold secrets."""
_SHORTEST_SECRET = 8
"""Shorter values of such variables are placeholders, and occur in any text."""
_SHORTEST_NAME = 4
"""Shorter names of machines and folders occur in any text."""
_NOT_PASSED_ON = frozenset({"endpoint", "scores", "device_name"})
"""Entries of a model's description that name hosts and files."""

RECORD_ENTRIES = (
    "benchmark",
    "benchmark_name",
    "world",
    "certificate",
    "protocols",
    "channel",
    "image_channel",
    "channels",
    "python",
    "versions",
    "raw_retrieval",
    "sampled_pools",
    "indistinct_texts",
    "left_out",
    "level",
    "tie_tolerance",
    "not_asked",
    "split",
    "limit",
    "under_limit",
    "training",
    "words",
    "form",
    "rules",
    "question",
    "batch",
    "precision",
    "processes",
    "counts",
)
"""Entries of run.json that are passed on. `model`, `dataset` and `info` are passed on in public
words."""


def public_spec(spec: str) -> str:
    """Name a model without paths and hosts.

    Args:
        spec: A SPEC, or a name that the user gave.

    Returns:
        The SPEC with the last part of each path, and without URLs.

    Example:
        >>> public_spec("api:http://gpu-7.lab:8000/v1@qwen"), public_spec("hf:owner/name@v1")
        ('api:qwen', 'hf:owner/name@v1')
        >>> public_spec("jackalope:/home/ada/models/turn0"), public_spec("python:my/code.py:Model")
        ('jackalope:turn0', 'python:code.py:Model')
    """
    family, colon, rest = spec.partition(":")
    name, *arguments = _ARGUMENTS.split(rest)
    # An address names a machine of the user's network.
    if family == "api" and "@" in name:
        name = name.rpartition("@")[2]
    if family == "python" and ":" in name:
        place, _, factory = name.rpartition(":")
        name = f"{PurePath(place).name}:{factory}"
    if family in _OF_PATHS:
        name = PurePath(name).name
    return public_text(",".join([f"{family}{colon}{name}", *arguments]))


def public_text(text: str) -> str:
    """Remove paths and hosts from a text.

    Args:
        text: Any text.

    Returns:
        The text with the last part of each path, and `URL` in place of each URL.

    Example:
        >>> public_text("weights of /home/ada/clip.pt"), public_text("http://host:80/v1")
        ('weights of clip.pt', 'URL')
    """
    # URLs first, or their paths would be shortened and the host stay.
    without_urls = _URL.sub("URL", text)
    return _PATH.sub(lambda match: PurePath(match[0]).name, without_urls)


def public_value(value: Any) -> Any:
    """Remove paths and hosts from JSON data.

    Args:
        value: JSON data.

    Returns:
        A copy. Entries that name hosts or files are missing.
    """
    if isinstance(value, str):
        return public_text(value)
    if isinstance(value, Mapping):
        public = {}
        for name, entry in value.items():
            if name in _NOT_PASSED_ON:
                continue
            is_spec = name in ("model", "weights") and isinstance(entry, str)
            public[name] = public_spec(entry) if is_spec else public_value(entry)
        return public
    if isinstance(value, list | tuple):
        return [public_value(entry) for entry in value]
    return value


def public_record(record: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Make the run.json of a submission.

    Args:
        record: The contents of run.json.
        dataset: What to call the dataset in place of its path.

    Returns:
        The entries that others need, without paths and hosts.
    """
    public = {}
    for name in RECORD_ENTRIES:
        if name in record:
            public[name] = record[name]
    # The words of a prompt and the sentences on training are the user's own, and are needed whole.
    public["training"] = public_value(record.get("training") or {})
    public["info"] = public_value(record.get("info") or {})
    public["model"] = public_spec(str(record["model"]))
    public["dataset"] = dataset
    public["external"] = None
    return public


def check_public(text: str, what: str) -> None:
    """Check that a text names nothing of this machine.

    Args:
        text: A text that is passed on.
        what: What it is, for the message.

    Raises:
        UserError: It has the home folder, the working folder, the name of this machine, or the
            value of an environment variable that holds a secret.
    """
    for reason, secret in _private_texts().items():
        # As a whole word: a machine named "lab" is not meant in "label".
        pattern = rf"(?<!\w){re.escape(secret)}(?!\w)"
        if re.search(pattern, text):
            raise UserError(
                f"{what} has {reason}, and is not passed on; name the model with --name, or remove "
                f"that from the run's run.json."
            )


def _private_texts() -> dict[str, str]:
    """By what they are, texts that must not be passed on."""
    private = {
        "your home folder": str(Path.home()),
        "your working folder": str(Path.cwd()),
        "the name of this machine": platform.node(),
    }
    known = {
        reason: text
        for reason, text in private.items()
        if len(text) >= _SHORTEST_NAME and text != "localhost"
    }
    for name, value in os.environ.items():
        if _SECRET_NAMES.search(name.upper()) and len(value) >= _SHORTEST_SECRET:
            known[f"the value of {name}"] = value
    return known
