"""Renders blender_assets/example.zip, the dataset that comes with the package: `python
docs/make_example.py`.

It is small enough to be shipped, and large enough for a tiny model to learn from in a minute
(docs/tour.ipynb).
"""

import tempfile
import zipfile
from pathlib import Path

from generator.api import render

SCENES = "train=600,val=30,seen=120,partial=120,unseen=120"
OUT = Path(__file__).parents[1] / "blender_assets" / "example.zip"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "example"
        render(
            holdout="3x3", scenes=SCENES, resolution="64x64", quality="draft", pairs=False, out=root
        )
        with zipfile.ZipFile(OUT, "w", zipfile.ZIP_DEFLATED) as files:
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                files.write(path, path.relative_to(folder))
    print(f"{OUT}: {OUT.stat().st_size / 1e6:.1f} MB")
