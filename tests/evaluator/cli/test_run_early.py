"""`score run`: what the arguments alone show to be wrong is said before models and tables are
loaded."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--protocol", "binry"], "Unknown protocol 'binry'; did you mean 'binary'?"),
        (["--out", "used"], "used is not empty and holds no run; choose another --out."),
    ],
)
def test_a_wrong_argument_is_refused_before_torch_or_pandas_are_loaded(
    wrong: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "notes.txt").write_text("mine", "utf-8")
    arguments = ["run", "example", "--model", "blind:ngram", *wrong]
    code = (
        "import sys; from evaluator.cli.main import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit as ended: print(ended.code, sorted({'torch', 'pandas', 'scipy'} & "
        "sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "2 []\n"
    assert message in done.stderr
