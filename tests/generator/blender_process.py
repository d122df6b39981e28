"""One Blender process for all tests: a test hands it a function of its own file and asserts what it
returns.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.paths import CHECKOUT


@pytest.fixture(scope="session")
def in_blender() -> Iterator[Callable[..., Any]]:
    """Calls a function of a test file in the Blender process, with arguments and a result that JSON
    can hold.

    The function imports bpy itself, since its file is also imported where Blender is not.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=CHECKOUT,
        )
        assert process.stdin is not None
        assert process.stdout is not None

        def call(function: Callable[..., Any], *arguments: Any) -> Any:
            process.stdin.write(
                json.dumps([function.__module__, function.__name__, arguments]) + "\n"
            )
            process.stdin.flush()
            answer = process.stdout.readline()
            if not answer:
                errors.seek(0)
                pytest.fail(f"Blender ended: {errors.read()[-2000:]}")
            result, error = json.loads(answer)
            assert error is None, error
            return result

        yield call
        process.kill()  # Blender may hang when it ends by itself after rendering
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Blender talks
    importlib.import_module("bpy")  # mathutils and bmesh can be imported only after it
    for line in sys.stdin:
        module, function, arguments = json.loads(line)
        try:
            answer = (getattr(importlib.import_module(module), function)(*arguments), None)
        except Exception:  # handed to the test, which fails with it
            answer = (None, traceback.format_exc())
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
