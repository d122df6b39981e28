"""The models that are evaluated: families of models behind one registry."""
