"""Whether images show what they hold: a small classifier, trained on half of them, names animal and colour on the other
half.

`python -m bench.legibility FOLDER` renders into FOLDER, continues there where it was stopped, and prints a report.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
from PIL import Image

from bench.naming import Shown, learn, named, report
from generator.base.streams import Stream
from generator.render.farm import Farm
from generator.render.settings import read_quality
from generator.scene.planned import Planned
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary, with_assets

_ABOUT = 50  # images between two lines of progress


def family(name: str, assets: str | None) -> Vocabulary:
    """A family with its usual paint, its meshes from a set."""
    vocabulary = read_vocabulary(name)
    vocabulary = vocabulary.painted_with(vocabulary.tested)
    return vocabulary if assets is None else parse_vocabulary(with_assets(vocabulary.toml(), assets), name)


def singles(vocabulary: Vocabulary, rounds: int) -> list[Planned]:
    """Scenes of one object: in each round every object of every value in every place, in random order."""
    kind, stream = vocabulary.tested, Stream("legibility")
    every = list(product(vocabulary.environments, vocabulary.objects, vocabulary.values(kind)))
    usual = {other: vocabulary.values(other)[0] for other in vocabulary.attributes}
    drawn = [one for _ in range(rounds) for one in stream.shuffled(every)]
    return [
        Planned(f"{i:06d}", "", ((thing, {**usual, kind: value}),), (0,), where)
        for i, (where, thing, value) in enumerate(drawn)
    ]


def render(vocabulary: Vocabulary, scenes: list[Planned], side: int, folder: Path) -> Shown:
    """Images of scenes, those that are not yet in the folder rendered into it. Raises RuntimeError for one that
    cannot be."""
    setup: dict[str, Any] = {
        "vocabulary": vocabulary.toml(),
        "seed": 0,
        "width": side,
        "height": side,
        "folder": str(folder),
        "outputs": [],
        "quality": read_quality("draft").model_dump(),
        "device": "cpu",
    }
    # Beside its image each scene has its box, written last, so that what has a box is done.
    boxes = [folder / "boxes" / f"{scene.scene_id}.json" for scene in scenes]
    boxes[0].parent.mkdir(parents=True, exist_ok=True)
    missing = [scene for scene, path in zip(scenes, boxes, strict=True) if not path.exists()]
    for done, answer in enumerate(Farm().render(missing, len(missing), setup), start=1):
        if "scene" not in answer:
            raise RuntimeError(answer["failed"])
        record = answer["scene"]
        (folder / "boxes" / f"{record['scene_id']}.json").write_text(json.dumps(record["objects"][0]["amodal_box"]))
        if done % _ABOUT == 0:
            click.echo(f"{done} of {len(missing)} rendered", err=True)
    objects, values = list(vocabulary.objects), vocabulary.values(vocabulary.tested)
    return Shown(
        np.stack([np.asarray(Image.open(folder / "images" / f"{one.scene_id}.png").convert("RGB")) for one in scenes]),
        np.array([json.loads(path.read_text()) for path in boxes]),
        np.array([objects.index(scene.objects[0][0]) for scene in scenes]),
        np.array([values.index(scene.objects[0][1][vocabulary.tested]) for scene in scenes]),
    )


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--family", "name", default="pug", show_default=True, help="World family.")
@click.option("--assets", help="Asset set of the meshes.  [default: the family's own]")
@click.option(
    "--rounds", default=4, show_default=True, help="Images of each object, value and place, half to learn from."
)
@click.option("--side", default=128, show_default=True, help="Pixels a side.")
@click.option("--epochs", default=30, show_default=True, help="How often each image is learnt from.")
def main(folder: Path, name: str, assets: str | None, rounds: int, side: int, epochs: int) -> None:
    """Render single objects into FOLDER, learn from half of the images, report on the other half."""
    vocabulary = family(name, assets)
    shown = render(vocabulary, singles(vocabulary, rounds), side, folder)
    objects, values = list(vocabulary.objects), vocabulary.values(vocabulary.tested)
    half = rounds // 2 * (len(shown.images) // rounds)
    first, second = (Shown(*(each[part] for each in shown)) for part in (slice(half), slice(half, None)))
    things, paints = named(learn(first, (len(objects), len(values)), epochs), second)
    click.echo(f"{vocabulary.category}: {report(objects, second.things, things)}\n")
    click.echo(f"{vocabulary.tested}: {report(values, second.values, paints)}")


if __name__ == "__main__":
    main()
