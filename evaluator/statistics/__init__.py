"""Means and differences with cluster-aware intervals, cluster-robust regression, paired tests and
their power."""
