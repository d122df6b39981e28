from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from generator.judge.plan import plan_faults


def write(path: Path, ids: list[str], clusters: list[str] | None = None) -> None:
    names = {
        "scene_id": ids,
        "cluster_id": clusters or ["a|b"] * len(ids),
        "twin_of": pa.array([None] * len(ids), pa.string()),
    }
    pq.write_table(pa.table(names), path)


def test_a_world_has_the_scenes_of_its_plan(tmp_path: Path) -> None:
    ids = [f"{i:06d}" for i in range(6)]
    write(tmp_path / "scenes.parquet", ids[::-1])
    assert list(plan_faults(tmp_path, None)) == []
    write(tmp_path / "plan.parquet", ids)
    assert list(plan_faults(tmp_path, None)) == []
    write(tmp_path / "scenes.parquet", ids[1::3])
    assert list(plan_faults(tmp_path, (2, 3))) == []
    assert len(list(plan_faults(tmp_path, (1, 3)))) == 1


def test_missing_extra_and_changed_scenes_are_found(tmp_path: Path) -> None:
    write(tmp_path / "plan.parquet", ["000000", "000001"])
    for ids, clusters in (
        (["000000"], None),
        (["000000", "000001", "000002"], None),
        (["000000", "000001"], ["a|b", "c|d"]),
    ):
        write(tmp_path / "scenes.parquet", ids, clusters)
        (found,) = plan_faults(tmp_path, None)
        assert found["fault"] == "not as planned"
        assert "differ in 1 scenes" in found["what"]


def test_a_damaged_plan_is_a_finding(tmp_path: Path) -> None:
    write(tmp_path / "scenes.parquet", ["000000"])
    (tmp_path / "plan.parquet").write_bytes(b"PAR1")
    (found,) = plan_faults(tmp_path, None)
    assert found["fault"] == "damaged file"
