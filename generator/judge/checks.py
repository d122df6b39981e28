"""The checks of a benchmark. A check takes a Benchmark and yields what it finds wrong; to add one, add it to CHECKS."""

from collections.abc import Callable, Iterator

from generator.judge.balance import balance_findings
from generator.judge.benchmark import Benchmark
from generator.judge.benchmark_manifest import manifest_findings
from generator.judge.class_lists import class_findings
from generator.judge.declared_leaks import undeclared_findings
from generator.judge.duplicates import duplicate_findings
from generator.judge.findings import Finding, finding
from generator.judge.foils import foil_findings
from generator.judge.grid import grid_findings
from generator.judge.item_forms import form_findings
from generator.judge.items import item_findings
from generator.judge.leaks import leak_findings
from generator.judge.names import name_findings
from generator.judge.pools import pool_findings
from generator.judge.positives import positive_findings
from generator.judge.recorded_labels import label_findings
from generator.judge.split_membership import split_findings
from generator.judge.symmetry import symmetry_findings
from generator.judge.texts import text_findings
from generator.judge.training import training_findings
from generator.judge.truth import truth_findings
from generator.judge.words import word_findings


def world_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """A world whose files are not those that the benchmark was made over."""
    if benchmark.manifest.get("world") != benchmark.world.digest:
        yield finding("another world", "the benchmark was made over a world with other files; run `gen split` again")


CHECKS: tuple[Callable[[Benchmark], Iterator[Finding]], ...] = (
    world_findings,  # the world is the one that the benchmark names
    name_findings,  # names that become names of files are plain
    manifest_findings,  # manifest, holdout.json and vocabulary agree
    text_findings,  # texts have their ids, forms and counts
    split_findings,  # scenes are in the splits that the holdout gives them
    class_findings,  # class lists (design gzsl): labels are of the list of their split
    item_findings,  # items are in their scenes' split and ask something
    training_findings,  # training data are those of split train, by every reading
    form_findings,  # ids, kinds and slots of items are those of their protocol
    foil_findings,  # false texts are made from a true one as listed
    positive_findings,  # training positives say their captions otherwise, as listed
    word_findings,  # words of evaluation are in training, or declared
    duplicate_findings,  # nothing counts twice
    leak_findings,  # training neither shows nor names what is held out
    undeclared_findings,  # deviations from a clean benchmark are declared
    truth_findings,  # true texts are true, false texts are false
    symmetry_findings,  # true and false texts of an item are equally familiar
    pool_findings,  # pools list all their true texts
    grid_findings,  # the pool of the grid is the grid
    label_findings,  # groups, held-out facts and counts are as listed
    balance_findings,  # values and objects are as balanced as the manifest says
)
