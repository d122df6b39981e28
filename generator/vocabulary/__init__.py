"""What a world can hold: attributes, objects, relations, materials, environments; read from TOML."""
