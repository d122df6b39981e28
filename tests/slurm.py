"""Programs that stand in for those of Slurm: jobs run here, at once, and submissions are kept."""

import os
import shlex
import sys
from pathlib import Path

import pytest

SBATCH = """
import os, pathlib, re, subprocess, sys
here, script = pathlib.Path(__file__).parent, pathlib.Path(sys.argv[1]).read_text()
number = 100
while True:
    try:
        with open(here / f"script-{number}", "x") as kept:
            kept.write(script)
        break
    except FileExistsError:
        number += 1
array = re.search(r"--array=0-([0-9]+)", script)
for task in range(int(array[1]) + 1 if array else 1):
    own = {"SLURM_ARRAY_JOB_ID": str(number), "SLURM_ARRAY_TASK_ID": str(task)} if array else {}
    started = subprocess.Popen(
        ["bash", sys.argv[1]], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "SLURM_JOB_ID": str(number), "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1",
             "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_JOB_NODELIST": "node", **own},
    )
    (here / f"pid-{number}{f'_{task}' if array else ''}").write_text(str(started.pid))
print(f"Submitted batch job {number}")
"""
SRUN = """
import os, sys
command = next(i for i, word in enumerate(sys.argv) if word == sys.executable)
os.execv(sys.argv[command], sys.argv[command:])
"""
SACCT = """
import pathlib
print("JobID|State|NodeList")
for pid in pathlib.Path(__file__).parent.glob("pid-*"):
    try:
        runs = ") Z" not in pathlib.Path(f"/proc/{pid.read_text()}/stat").read_text()
    except OSError:
        runs = False
    print(f"{pid.name[4:]}|{'RUNNING' if runs else 'FAILED'}|node")
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the programs, in which sbatch keeps each script and the process of each
    task."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, code in {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT}.items():
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
        command = (
            f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(folder / name))}.py "
            f'"$@"\n'
        )
        (folder / name).write_text(command, encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder
