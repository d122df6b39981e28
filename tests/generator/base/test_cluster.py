"""Connecting to a cluster: from a folder without code, and soon refused where none answers."""

import socket
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.base.extras import connecting


def test_what_is_connected_runs_outside_the_working_directory() -> None:
    before = Path.cwd()
    with connecting(None):
        assert Path.cwd() == Path("/")
    assert Path.cwd() == before


def test_a_cluster_that_answers_is_left_to_ray() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, connecting(f"ray://127.0.0.1:{server.getsockname()[1]}"):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:port"])
def test_an_address_where_none_answers_is_said(address: str) -> None:
    with pytest.raises(UserError, match=rf"--address {address}: no Ray cluster answers there"), connecting(address):
        pytest.fail("was not connected")
