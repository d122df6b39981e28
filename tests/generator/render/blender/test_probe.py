"""The probe prints one line of JSON, whatever Blender prints."""

import json
import subprocess
import sys

from tests.paths import CHECKOUT


def test_devices_are_printed_as_json() -> None:
    command = [sys.executable, "-m", "generator.render.blender.system", "devices"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=CHECKOUT)
    assert len(json.loads(done.stdout)["CPU"]) >= 1
    assert done.stdout.count("\n") == 1
