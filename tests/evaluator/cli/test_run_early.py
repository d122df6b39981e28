"""What the arguments alone show to be wrong is said before models and tables are loaded."""

import subprocess
import sys
from pathlib import Path

RUN = ["run", "example", "--model"]
TRAIN = ["train", "finetune", "example", "--out", "out", "--model"]
SCRATCH = ["train", "scratch"]
ASK = ["ask", "example", "--model"]
CASES = {
    "run: protocol": ([*RUN, "oracle", "--protocol", "binry"], "did you mean 'binary'?"),
    "run: used folder": (
        [*RUN, "oracle", "--out", "used"],
        "used is not empty and holds no run; choose another --out.",
    ),
    "run: rate of an oracle": ([*RUN, "oracle:0.3"], "a rate of right answers from 0.5 to 1"),
    "run: blind model": ([*RUN, "blind:ngrm"], "did you mean 'ngram'?"),
    "run: missing weights": ([*RUN, "jackalope:./none"], "There is no file or folder './none'"),
    "run: benchmark": ([*RUN, "oracle", "--benchmark", "other"], "has no benchmark 'other'"),
    "run: device": ([*RUN, "oracle", "--device", "gpu"], "Unknown device 'gpu'"),
    "ask: protocol": ([*ASK, "api:http://x/v1@m", "--protocol", "pair"], "did you mean 'pairs'?"),
    "ask: used folder": ([*ASK, "api:http://x/v1@m", "--out", "used"], "used is not empty"),
    "ask: no answers in words": ([*ASK, "blind:ngram"], "Models of blind: do not answer in words"),
    "ask: endpoint": ([*ASK, "api:localhost@m"], "Expected api:URL@MODEL"),
    "ask: missing weights": ([*ASK, "vqa:./none"], "There is no file or folder './none'"),
    "train: dataset": ([*SCRATCH, "used", "--out", "out"], "it has no folder 'world'"),
    "train: used folder": ([*SCRATCH, "example", "--out", "used"], "used is not empty"),
    "train: benchmark": (
        [*SCRATCH, "example", "--out", "out", "--benchmark", "other"],
        "has no benchmark 'other'",
    ),
    "train: device": ([*SCRATCH, "example", "--out", "out", "--device", "gpu"], "Unknown device"),
    "train: missing weights": ([*TRAIN, "jackalope:./none"], "There is no file or folder './none'"),
    "train: family": ([*TRAIN, "opn_clip:ViT-B-32"], "did you mean 'open_clip'?"),
    "train: preset": (
        [*TRAIN, "open_clip:ViT-B-32@openai", "--preset", "neg-clip"],
        "Unknown preset 'neg-clip'",
    ),
    "experiment: name": (["experiment", "bindsplit206"], "did you mean 'bindsplit2026'?"),
    "experiment: scale": (["experiment", "bindsplit2026", "--scale", "tyni"], "'tyni'"),
}


def test_a_wrong_argument_is_refused_before_torch_or_pandas_are_loaded(tmp_path: Path) -> None:
    """All cases in one process: what an earlier case had loaded would show in all that follow."""
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "notes.txt").write_text("mine", "utf-8")
    code = f"""
import sys
from evaluator.cli.main import main
for name, arguments in {[(name, arguments) for name, (arguments, _) in CASES.items()]!r}:
    print("=", name, file=sys.stderr)
    try: main(arguments)
    except SystemExit as ended: status = ended.code
    print(name, status, sorted({{'torch', 'pandas', 'scipy'}} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines() == [f"{name} 2 []" for name in CASES]
    messages = dict(part.split("\n", 1) for part in done.stderr.split("= ")[1:])
    assert {
        name: messages[name]
        for name, (_, message) in CASES.items()
        if message not in messages[name]
    } == {}
