"""Rewards as users import them: quickly, and without a heavy library."""

import subprocess
import sys


def test_rewards_need_no_heavy_library() -> None:
    code = (
        "import sys; import evaluator.rewards; "
        "heavy = {'torch', 'scipy', 'numpy', 'pandas', 'pyarrow', 'pydantic', 'bpy'}; "
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
