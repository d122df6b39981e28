"""The command-line interface `score`: parses options and prints results."""
