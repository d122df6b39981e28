"""What is found in a file of labels."""

import json
from typing import Any

import pytest

from generator.judge.foreign.verify import verify_splits
from tests.generator.judge.foreign.label_files import Judged


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """What is found in labels of one task: the text of a table, or data for JSON."""

    def judged(labels: str | list | dict, *columns: str, **more: Any) -> dict[str, Any]:
        path = tmp_path_factory.mktemp("labels") / (
            "a.csv" if isinstance(labels, str) else "a.json"
        )
        path.write_text(labels if isinstance(labels, str) else json.dumps(labels), encoding="utf-8")
        (found,) = verify_splits(path, columns, **more).values()
        return found

    return judged
