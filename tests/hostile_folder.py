"""A working directory in which someone else put modules with the names of ours and of Blender."""

from pathlib import Path

MODULES = ("bpy", "generator", "evaluator", "numpy", "json", "sitecustomize")


def make_hostile(folder: Path) -> Path:
    """Write such modules into `folder`; returns the file that importing any of them would leave."""
    trace = folder / "trace"
    for name in MODULES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(
            f"open({str(trace)!r}, 'a').write({name!r})\nraise SystemExit(3)\n"
        )
    return trace
