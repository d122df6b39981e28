"""The rendered dataset in three shards."""

from pathlib import Path

import pytest

from tests.generator.worlds import rewrite


@pytest.fixture(scope="module")
def parts(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    return [
        rewrite(rendered, folder / str(i), slice(i - 1, None, 3), shard=[i, 3]) for i in (1, 2, 3)
    ]
