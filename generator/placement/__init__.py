"""Places planned scenes: positions, headings, camera and lamps."""
