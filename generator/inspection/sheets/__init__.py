"""Sheets of images that show a dataset or a family: contact sheets, grids of combinations, swatches."""
