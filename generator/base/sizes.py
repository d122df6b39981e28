"""Sizes and times as options say them."""

import re

from generator.base.errors import UserError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def parse_size(spec: str) -> int:
    """Bytes from `256MB`, `1GB` or `500KB`, in powers of 1000. Raises UserError if malformed.

    >>> parse_size("256MB")
    256000000
    """
    found = re.fullmatch(r"([0-9]+)\s*([KMG]?)B?", spec.strip().upper())
    if not found or int(found[1]) == 0:
        raise UserError(f"Expected a size such as 256MB, 1GB or 500KB, got '{spec}'.")
    return int(found[1]) * _UNITS[found[2]]


def parse_time(spec: str) -> int:
    """Minutes, from `90`, `2:30:00` or `1-12:00:00`, as Slurm writes times. Raises UserError if malformed.

    >>> parse_time("90"), parse_time("2:30:00"), parse_time("1-12:00:00")
    (90, 150, 2160)
    """
    found = re.fullmatch(r"(?:(?:([0-9]{1,3})-)?([0-9]{1,3}):([0-5][0-9]):[0-5][0-9])|([0-9]{1,6})", spec)
    minutes = 0
    if found:
        days, hours, rest, alone = (int(part or 0) for part in found.groups())
        minutes = alone or (days * 24 + hours) * 60 + rest
    if not minutes:
        raise UserError(f"Expected --time to be minutes, H:MM:SS or D-HH:MM:SS, such as 2:00:00, got '{spec}'.")
    return minutes
