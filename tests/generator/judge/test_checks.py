"""Every check is in the list of checks."""

import ast
from pathlib import Path

from generator.base.files import read_json, write_json, write_sums
from generator.judge import checks
from generator.judge.checks import CHECKS
from tests.generator.judge.datasets import judged


def test_a_benchmark_over_another_world(copied: Path) -> None:
    manifest = copied / "world/manifest.json"
    (copied / "world/images/000000.png").write_bytes((copied / "world/images/000001.png").read_bytes())
    world = read_json(manifest)
    world["sums"] = write_sums(copied / "world", {})
    write_json(manifest, world)
    assert "another world" in judged(copied)["faults"]


def test_a_check_is_a_function_with_a_docstring_that_stands_in_the_list_once() -> None:
    names = [check.__name__ for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(check.__doc__ for check in CHECKS)
    modules = Path(checks.__file__).parent.glob("*.py")
    written = {
        node.name
        for module in modules
        for node in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_findings") and len(node.args.args) == 1
        and ast.unparse(node.args.args[0].annotation or ast.Constant(None)) == "Benchmark"
    }  # fmt: skip
    assert written == set(names)
