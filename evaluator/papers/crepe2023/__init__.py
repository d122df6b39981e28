"""Ma et al. 2023 (CREPE): recipe of the experiment, tables, figures."""
