"""What a world can hold: attribute kinds and their values, objects, relation rules, materials, environments. Read from TOML."""
