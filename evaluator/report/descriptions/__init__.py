"""The page of runs of descriptions: measures beside their floors, and every description with its
atoms coloured by their verdicts (docs/descriptions.md)."""
