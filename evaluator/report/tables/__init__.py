"""Tables of results: one model of a table, its writers, and the tables of protocols and of papers."""
