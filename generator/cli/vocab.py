"""The commands `gen vocab` and `gen assets`: families, and the meshes and panoramas that they
name."""

from dataclasses import asdict
from pathlib import Path

import click

from generator.base.commands import Commands, result, say
from generator.cli.options import JSON, NEW_FILE, NEW_PNG


@click.group(cls=Commands)
def vocab() -> None:
    """Inspect world families and check your own."""


@vocab.command(examples=["vocab check zoo.toml"])
@click.argument("family")
@JSON
def check(family: str, as_json: bool) -> None:
    """Check FAMILY, a name or the path of a TOML file, and list its mistakes.

    Mistakes inside tables are listed together. Those across tables, such as a word with two
    meanings, appear once each table is right, so check again after fixing them.

    Also warns of wrong English plurals and articles, of colours closer than a CIEDE2000 of 10, of
    objects whose masks overlap by more than 95%, and of textures that are hardly visible on an
    object (it renders them). Notes say which values and objects of a shipped family need larger
    images (docs/vocabularies.md).

    The exit code is 2 if the family cannot be used, 1 if there are only warnings.
    """
    # Within the commands: these imports load NumPy and more, and `gen --help` needs none of it.
    from generator.inspection.family_check import check_family

    say(
        f"Checking {family}: its words, colours and masks first, then a few small renders, for "
        f"some seconds."
    )
    findings = check_family(family)
    for finding in findings:
        say(f"{finding.level}: {finding.message}")
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    data = {
        "family": family,
        "errors": errors,
        "warnings": warnings,
        "findings": [asdict(finding) for finding in findings],
    }
    counts = f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"
    result(data, as_json, f"{family}: {counts}")
    # Warnings have a code of their own: a script may accept them and must not miss errors.
    raise SystemExit(2 if errors else 1 if warnings else 0)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@vocab.command(examples=["vocab show zoo.toml"])
@click.argument("family")
@click.option("--out", type=NEW_PNG, help="PNG to write.  [default: NAME-swatches.png]")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Number of render processes.  [default: one per core]",
)
@JSON
def show(family: str, out: Path | None, workers: int | None, as_json: bool) -> None:
    """Render a labelled sheet of FAMILY: every attribute value on one object, every object, every
    texture on each."""
    from generator.inspection.swatches import draw_swatches
    from generator.render.farm import default_workers

    path = draw_swatches(
        family, out or Path(f"{Path(family).stem}-swatches.png"), workers or default_workers()
    )
    result({"swatches": str(path)}, as_json, str(path))


@vocab.command(examples=["vocab new mine.toml --extends pug"])
@click.argument("out", type=NEW_FILE)
@click.option(
    "--extends",
    default="clevr",
    help="Family to extend: a name, or the path of your own TOML file.",
)
@JSON
def new(out: Path, extends: str, as_json: bool) -> None:
    """Write a starter family to OUT, a .toml file. It adds a colour to another family; its comments
    show what else to add."""
    from generator.vocabulary.starter import write_starter

    path, holdout = write_starter(out, extends)
    say(
        f"Next: gen vocab check {path}, gen vocab show {path}, gen render --family {path} "
        f"--holdout {holdout}"
    )
    result({"family": str(path)}, as_json, str(path))


DIRECTION = click.Choice(["x", "-x", "y", "-y", "z", "-z"])


@click.group(cls=Commands)
def assets() -> None:
    """List, import and install sets of meshes and panoramas (docs/assets.md)."""


@assets.command("list", examples=["assets list"])
@click.option("--set", "chosen", help="List only this set.  [default: all installed sets]")
@JSON
def list_sets(chosen: str | None, as_json: bool) -> None:
    """List the installed asset sets with their meshes and licences."""
    from generator.assets.sets import asset_licence, asset_names, asset_sets

    names = [chosen] if chosen else asset_sets()
    sets = {}
    lines = []
    for name in names:
        meshes, licence = asset_names(name), asset_licence(name)
        sets[name] = {"meshes": meshes, "licence": licence}
        lines.append(f"{name} ({licence}): {', '.join(meshes)}")
    result(sets, as_json, "\n".join(lines))


@assets.command("show", examples=["assets show fox", "assets show --set mine"])
@click.argument("name", required=False)
@click.option("--set", "chosen", default="builtin", help="The set that has the mesh.")
@click.option("--out", type=NEW_PNG, help="PNG to write.  [default: NAME.png, or SET.png]")
@JSON
def show_meshes(name: str | None, chosen: str, out: Path | None, as_json: bool) -> None:
    """Render the mesh NAME, or every mesh of a set, from eight sides; or draw the panorama NAME
    with its angles."""
    from generator.assets.sets import asset_names, check_asset, is_panorama
    from generator.inspection.swatches import draw_meshes, draw_panorama

    out = out or Path(f"{name or chosen}.png")
    if name is not None:
        check_asset(chosen, name)
    names = [asset for asset in asset_names(chosen) if name is None or asset == name]
    # A set may have both; panoramas have no sides to draw.
    meshes = [asset for asset in names if not is_panorama(chosen, asset)]
    if meshes:
        path = draw_meshes(meshes, chosen, out)
    else:
        path = draw_panorama(f"{chosen}/{names[0]}", out)
    result({"picture": str(path), "meshes": names}, as_json, str(path))


@assets.command(
    "import", examples=["assets import jackalope.glb --name jackalope --licence Apache-2.0"]
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name in its set and in families.")
@click.option(
    "--set", "chosen", default="mine", help="Set to import into; created if it does not exist."
)
@click.option(
    "--licence", default="", help="Licence and author. Datasets with this mesh quote the text."
)
@click.option(
    "--facing",
    type=DIRECTION,
    help=(
        "Direction of the file in which the mesh faces.  [default: z for .obj, .gltf and .glb, "
        "else -y]"
    ),
)
@click.option(
    "--up",
    type=DIRECTION,
    help=(
        "Direction of the file in which the mesh's top points.  [default: y for .obj, .gltf and "
        ".glb, else z]"
    ),
)
@click.option("--replace", is_flag=True, help="Replace a mesh of the same name.")
@JSON
def import_(
    file: Path,
    name: str,
    chosen: str,
    licence: str,
    facing: str | None,
    up: str | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Import the mesh in FILE (.glb, .gltf, .obj, .ply, .stl, .fbx, .blend) into one of your
    sets.

    The mesh is scaled, placed on the ground and turned to face +x. Scripts in the file are never
    run. An .exr or .hdr FILE is a panorama of all directions, twice as wide as high.
    """
    from generator.assets.importing import import_asset
    from generator.assets.sets import is_panorama
    from generator.inspection.swatches import draw_meshes, draw_panorama

    imported = import_asset(
        file,
        name=name,
        assets=chosen,
        licence=licence,
        facing=facing,
        up=up,
        replace=replace,
    )
    picture = imported.path.with_suffix(".png")
    if is_panorama(chosen, name):
        draw_panorama(f"{chosen}/{name}", picture)
        advice = (
            "The picture shows the panorama's angles in degrees; choose sectors from them "
            "(docs/worlds.md)."
        )
    else:
        draw_meshes([name], chosen, picture)
        advice = (
            "Check the picture: in the first view the mesh should face right. If not, add "
            "--replace and --facing."
        )
    for repair in imported.mended:
        say(f"{file}: {repair}.")
    # Said at once, since the publisher has to find it out later (generator/dataset/licences.py).
    if not licence:
        say(
            f"No --licence was given: datasets that use '{name}' will say that its licence is not "
            f"declared."
        )
    say(advice)
    data = {"mesh": str(imported.path), "picture": str(picture), "mended": imported.mended}
    result(data, as_json, str(picture))


@assets.command(examples=["assets install 0ad --from public.zip"])
@click.argument("name", type=click.Choice(["0ad"]))
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help=(
        "The game's public.zip, or a folder of its .pmd files.  [default: where Debian's package "
        "0ad-data has it]"
    ),
)
@JSON
def install(name: str, source: Path | None, as_json: bool) -> None:
    """Install the asset set NAME: 0ad is the animals of the free game 0 A.D. (CC BY-SA 3.0)."""
    from generator.assets.sets import set_folder
    from generator.assets.zeroad import LICENCE
    from generator.assets.zeroad import install as install_0ad

    installed, missing = install_0ad(source)
    not_found = f" Not found: {', '.join(missing)}." if missing else ""
    say(f"{len(installed)} animals: {', '.join(installed)}.{not_found}")
    say(
        f"Licence: {LICENCE}. Images of these meshes are adaptations: to publish them, name the "
        f"author and keep the licence."
    )
    folder = str(set_folder(name))
    result(
        {"set": name, "folder": folder, "meshes": installed, "missing": missing}, as_json, folder
    )
