"""Models of transformers by folder or by name on the Hugging Face Hub: one loader for all families."""
