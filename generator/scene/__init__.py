"""A scene and its geometry: objects, camera, lamps, relations in space, layouts and stacks."""
