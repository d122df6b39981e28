"""`Evaluation`: what `evaluate` returns."""

import html
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import mark_of, training_said
from evaluator.report.cells import confidence
from evaluator.report.overview import read_lines, side_by_side
from evaluator.report.table import plain
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure_protocols
from evaluator.runs.parts import limit_said
from evaluator.runs.tables import COLUMNS, item_rows
from generator.base.errors import UserError, did_you_mean


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results of a model on a dataset. Notebooks show its table.

    folder: the run's folder, which `score report` and `score compare` read. results: the contents of its
    results.json, empty in processes other than the main one.
    """

    folder: Path
    results: Results

    def to_pandas(self) -> pd.DataFrame:
        """The long table of results (evaluator.protocols.records.Row): a row for each metric, group of items and
        split or gap."""
        return pd.DataFrame(self.results["rows"])

    @cached_property
    def items(self) -> pd.DataFrame:
        """A row for each question with its words, all candidates, scores and margin (evaluator.runs.tables)."""
        run = open_run(self.folder)
        return pd.DataFrame(item_rows(run, measure_protocols(run)), columns=list(COLUMNS))

    def table(self, protocol: str | None = None) -> pd.DataFrame:
        """The table that `score run` prints, as text: of one protocol, or of all. Raises UserError for one that was
        not measured."""
        known = list(dict.fromkeys(str(row["protocol"]) for row in self.results["rows"]))
        if protocol not in (None, *known):
            raise UserError(f"The evaluation has no protocol '{protocol}'; {did_you_mean(str(protocol), known)}")
        entries = pool_runs([self.results])
        table = side_by_side(entries, read_lines(entries, lambda row: protocol in (None, row["protocol"])))
        letters = table.letters()
        rows = [
            [*line.labels, *(f"{plain(cell, letters)} {cell.interval}".strip() for cell in line.cells)]
            for line in table.lines
        ]
        return pd.DataFrame(rows, columns=[*table.labels, *(column.head for column in table.columns)])

    def __repr__(self) -> str:
        if not self.results:
            return "<Evaluation of another process>"
        return "\n".join([*self._said, self.table().to_string(index=False)])

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(line)}</p>" for line in self._said) if self.results else ""
        return said + (self.table().to_html(index=False) if self.results else html.escape(repr(self)))

    @property
    def _said(self) -> list[str]:
        """What stands above the table."""
        results = self.results
        head = (
            f"{results['model']} on {results['benchmark']} (dataset {results['certificate']}), "
            f"{confidence(results)} intervals"
        )
        limit = results.get("limit")
        return [head, *(limit_said(limit) if limit else ()), mark_of(results) or training_said(results)]
