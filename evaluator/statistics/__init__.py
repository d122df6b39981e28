"""Means and differences with intervals by cluster, regression with errors by cluster, paired tests and their power."""
