"""Papers by name."""

import pytest

from evaluator.report.tables.papers.registry import find_paper, paper_names
from generator.base.errors import UserError


def test_every_paper_has_tables_of_distinct_numbers() -> None:
    for name in paper_names():
        numbers = [table.number for table in find_paper(name).tables]
        assert len(set(numbers)) == len(numbers) > 0
    with pytest.raises(UserError, match="bindsplit2026"):
        find_paper("bindsplit")
