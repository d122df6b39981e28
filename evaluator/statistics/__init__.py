"""Means and differences with intervals by cluster, and regression with errors by cluster."""
