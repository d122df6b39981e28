"""`score suite` (docs/suite.md): what models are asked in a suite, by stages as those of
experiments, and the table and the pages of their results."""
