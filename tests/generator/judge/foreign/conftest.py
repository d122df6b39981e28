"""What is found in a table of labels."""

from typing import Any

import pytest

from generator.judge.foreign.verify import verify_splits
from tests.generator.judge.foreign.label_files import Judge


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """Judges the text of a table."""

    def judge(text: str, *columns: str, **options: Any) -> dict[str, Any]:
        path = tmp_path_factory.mktemp("labels") / "a.csv"
        path.write_text(text, encoding="utf-8")
        return verify_splits(path, columns, **options)

    return judge
