"""Pictures to look a dataset or a family over: contact sheets, grids of combinations, swatches."""
