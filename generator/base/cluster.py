"""Connecting to a Ray cluster."""

import socket
from collections.abc import Iterator
from contextlib import chdir, contextmanager

from generator.base.errors import UserError

_TIMEOUT = 10.0  # seconds


@contextmanager
def connecting(address: str | None) -> Iterator[None]:
    """Context of `ray.init(address)`, None for a cluster that starts here. Raises UserError soon if none answers: Ray would wait long."""
    host, colon, port = (address or "").rpartition("//")[2].rpartition(":")
    try:
        if colon:
            socket.create_connection((host, int(port)), timeout=_TIMEOUT).close()
        with chdir("/"):  # workers import from the directory in which this is, which may be someone else's dataset
            yield
    except (OSError, ValueError) as error:
        raise UserError(
            f"--address {address}: no Ray cluster answers there ({error}); start one with `ray start --head`, or leave "
            f"--address out."
        ) from None
