"""Faults that only making the dataset again finds, one for each kind of file that can differ.

Every file is compared byte by byte with the one that is made again from the recorded request, so one
change to each kind shows that all are compared. Where the recorded data decides something, such as
the poses of a twin, a fault shows that it decides no more.
"""

import io
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq

from generator.dataset.records import PACKED
from tests.generator.judge.faults.catalogue import NOT_REPRODUCED, fault
from tests.generator.judge.faults.edits import edited_record, set_object
from tests.generator.judge.faults.worlds import FIRST, TARS
from tests.generator.judge.planted import Fault, Planted


@fault(FIRST)
def a_scene_is_in_another_split_than_it_was_planned_for(data: Planted) -> Fault:
    data.move({"val"}, {"seen"})
    data.recount()
    return NOT_REPRODUCED, f"{FIRST[1]}/splits.parquet has"


@fault()
def a_scene_is_not_what_was_planned(data: Planted) -> Fault:
    """Poses are taken from the record, objects and materials from the plan."""
    row = data.scene("train")
    obj = row["objects"][0]
    material = dict(obj["attributes"])["material"]
    set_object(row, 0, obj["category"], material="rubber" if material == "metal" else "metal")
    return NOT_REPRODUCED, "world/scenes.parquet has"


@fault()
def a_twin_stands_elsewhere_than_its_scene(data: Planted) -> Fault:
    """A twin is made from the first scene of its pair, not from its own record."""
    with edited_record(data.choose(row for row in data.scenes if row["twin_of"])) as scene:
        scene["camera"]["position"][0] += 0.001
    return NOT_REPRODUCED, "world/scenes.parquet has"


def _edit_in_tar(data: Planted, file: str, replacements: dict[bytes, bytes]) -> None:
    """Change the content of a file in the first tar, and list the new places of all its files."""
    tar_path = data.root / "world/shards/000000.tar"
    with tarfile.open(tar_path) as tar:
        members = [(info, tar.extractfile(info).read()) for info in tar.getmembers()]  # type: ignore[union-attr]
    with tarfile.open(tar_path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in members:
            if info.name == file:
                for old, new in replacements.items():
                    content = content.replace(old, new)
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    with tarfile.open(tar_path) as tar:
        offset_of_file = {info.name: info.offset_data for info in tar.getmembers()}

    index_path = data.root / "world/packed.parquet"
    rows = pq.read_table(index_path).to_pylist()
    for row in rows:
        if row["tar"] == "shards/000000.tar":
            row["offset"] = offset_of_file[row["path"].rpartition("/")[2]]
    pq.write_table(pa.Table.from_pylist(rows, schema=PACKED), index_path)


@fault()
def a_key_of_the_manifest_is_changed(data: Planted) -> Fault:
    data.manifest["scenes"]["seen"] = 1
    return NOT_REPRODUCED, "all/manifest.json has"


@fault()
def a_file_that_nothing_writes_is_added(data: Planted) -> Fault:
    (data.folder / "notes.txt").write_text("see here")
    return NOT_REPRODUCED, "all/notes.txt is not among the files"


@fault()
def a_sentence_of_the_card_is_changed(data: Planted) -> Fault:
    card = data.root / "README.md"

    def change() -> None:
        text = card.read_text()
        card.write_text(text.replace("Declared leaks: none.", "Proven by others.", 1))

    data.after = change
    return NOT_REPRODUCED, "'Proven by others.'; made again, it has 'Declared leaks: none.'"


@fault(TARS)
def a_sample_in_a_tar_is_changed(data: Planted) -> Fault:
    _edit_in_tar(data, "000000.json", {b"rubber": b"metal", b"small": b"large"})
    return NOT_REPRODUCED, "world/SHA256SUMS has"


@fault()
def the_holdout_names_a_value_that_the_vocabulary_lacks(data: Planted) -> Fault:
    """A benchmark that cannot be made again is a finding, too."""
    bindings = [["plaid", category] for _, category in data.block["bindings"]]
    data.hold_out(bindings=bindings, values=["plaid"])
    return NOT_REPRODUCED, "all cannot be made again: holdout.json names"
