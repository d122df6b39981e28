"""Jobs of Slurm: paths that it would change are refused."""

from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.base.slurm import Slurm


def test_a_path_that_slurm_would_replace_is_refused(tmp_path: Path) -> None:
    """Slurm and submitit write the number of the job for %j."""
    with pytest.raises(UserError, match="choose a path without '%'"):
        Slurm(cluster="debug").executor(tmp_path / "50%job" / "logs")
    Slurm(cluster="debug").executor(tmp_path / "logs")
