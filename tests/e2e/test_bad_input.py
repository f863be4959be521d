"""Whatever the user gets wrong: one line that names the fix, exit 4, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from running import Ended

from jostle.cli.terminal import Exit

ZOO = "jostle.zoo:lenet5"
GOOD = f"{ZOO} --seeds ok.npy"
Run = Callable[..., Ended]

# Arguments, then what the line must say: the cause, and the fix.
MODELS = [
    ("nothere.pt2 --seeds ok.npy", "nothere.pt2 does not exist", "give a model file or FILE.py:function"),
    ("gone.py:build --seeds ok.npy", "gone.py does not exist", "check the path before the colon"),
    ("models.py:biuld --seeds ok.npy", "has no 'biuld'", "did you mean build"),
    ("models.py:zzzzqq --seeds ok.npy", "has no 'zzzzqq'", "check the name after the colon"),
    ("models.py --seeds ok.npy", "models.py names no function", "models.py:function"),
    ("note.txt --seeds ok.npy", "note.txt is no format", "give .onnx, .keras"),
    ("note.txt:build --seeds ok.npy", "cannot import note.txt", "give FILE.py:function"),
    ("digits --seeds ok.npy", "digits is no format", "give .onnx, .keras"),
    ("syntax.py:build --seeds ok.npy", "SyntaxError", "fix the file"),
    ("leaves.py:build --seeds ok.npy", "SystemExit", "fix the file"),
    ("models.py:leaving --seeds ok.npy", "models.py:leaving raised SystemExit", "7"),
    ("models.py:raising --seeds ok.npy", "raised RuntimeError in models.py:raising", "no weights here"),
    ("models.py:NUMBER --seeds ok.npy", "is a int", "it must be a torch module"),
    ("no.such.module:build --seeds ok.npy", "No module named 'no'", "install the package"),
    ("jostle.zoo:lenet6 --seeds ok.npy", "has no 'lenet6'", "lenet5"),
    ("canary.pt --seeds ok.npy", "can execute code", "--trust-model"),
    ("pickled.pt --seeds ok.npy", "can execute code", "torch.export.save"),
    ("weights.pth --trust-model --seeds ok.npy", "weights without a model", "give FILE.py:function"),
    ("weights.pth --seeds ok.npy", "weights without a model", "--weights weights.pth"),
    ("tensors.safetensors --seeds ok.npy", "weights without a model", "--weights tensors.safetensors"),
    ("truncated.pt2 --seeds ok.npy", "cannot load truncated.pt2", "re-export it"),
    ("models.py:Noisy --seeds ok.npy", "answers differently each time", "--force"),
    ("models.py:Noisy --seeds ok.npy --isolate", "answers differently each time", "remove dropout or noise"),
    ("models.py:Mixing --seeds ok.npy", "depends on the others in its batch", "not over the batch"),
    ("models.py:in_training --seeds ok.npy", "0 (BatchNorm2d) is in training mode", "fix the model's train()"),
    ("models.py:in_training --seeds ok.npy --isolate", "0 (BatchNorm2d) is in training mode", "fix the model"),
    ("models.py:Squeezed --seeds ok.npy", "batch of 1 has shape [10]", "return one row per input, with squeeze(1)"),
    ("models.py:Squeezed --seeds ok.npy --isolate", "batch of 1 has shape [10]", "return one row per input"),
    ("models.py:Constant --seeds ok.npy", "the output is the same for all 60 seeds", "--force"),
    ("models.py:chance --seeds ok.npz", "about chance", "check --range, --mean, --std and the labels"),
]
SEEDS = [
    (f"{ZOO}", "seeds is missing", "--seeds PATH"),
    ("--seeds ok.npy", "model is missing", "jostle fuzz MODEL"),
    (f"{ZOO} --seeds gone", "seeds gone do not exist", "give a folder of images"),
    (f"{ZOO} --seeds note.txt", "note.txt are texts", "--tokenizer"),
    (f"{ZOO} --seeds cropped.npy", "fails on seeds of shape [1, 20, 20]", "check the seeds' shape"),
    (f"{ZOO} --seeds cropped.npy --layers conv1", "fails on seeds of shape [1, 20, 20]", "check the seeds' shape"),
    (f"{ZOO} --seeds signed.npy", "from -1 to 1, outside the declared range 0 to 1", "give --range -1,1"),
    (f"{ZOO} --seeds bytes.npy", "from 0 to 255, outside the declared range 0 to 1", "give --range 0,255"),
    (f"{GOOD} --range 0,255", "seeds span only 0 to 1 of the declared 0 to 255", "real --range"),
    (f"{ZOO} --seeds words.npy", "holds <U3 values", "must be real numbers"),
    (f"{ZOO} --seeds complex.npy", "holds complex64 values", "must be real numbers"),
    (f"{ZOO} --seeds objects.npy", "without Python objects", "save numbers with np.save"),
    (f"{ZOO} --seeds garbage.npy", "not a readable array", "save numbers with np.save"),
    (f"{ZOO} --seeds truncated.npz", "not a readable array", "save numbers with np.save"),
    (f"{ZOO} --seeds unnamed.npz", "no array named x (found pixels)", "save it as"),
    (
        f"{ZOO} --seeds fractions.npz",
        "labels of shape [60] (fractions) fit no task",
        "classes have outputs [n, classes]",
    ),
    (f"{ZOO} --seeds none.npy", "[0, 1, 28, 28]", "give at least one seed"),
    (f"{ZOO} --seeds flat.npy", "has shape [5]", "as [seeds, ...]"),
    (f"{ZOO} --seeds nan.npy", "nan.npy[7] holds NaN", "remove it"),
    (f"{ZOO} --seeds empty", "empty holds no images", "put some there"),
    (f"{ZOO} --seeds corrupt", "cut.png is not a readable image", "remove or replace it"),
    (f"{ZOO} --seeds mixed", "images differ in size: a.png is 28×28, b.png is 20×30", "--size HEIGHT,WIDTH"),
    (f"{ZOO} --seeds digits --channels 3", "fails on seeds of shape [3, 28, 28]", "--channels"),
    (f"{ZOO} --seeds models.py:ragged", "gives no array", "return one [seeds, ...]"),
    (f"{ZOO} --seeds models.py:raising", "raised RuntimeError in models.py:raising", "no weights here"),
    (f"{ZOO} --seeds models.py:one_seed", "needs seeds that differ", "--threshold"),
    (f"{ZOO} --seeds models.py:shifted_labels", "about chance", "labels"),
    (f"{ZOO} --seeds models.py:large_labels", "label 19 but the model has 10 outputs", "check the labels"),
]
OPTIONS = [
    ("--layers cnv1", "'cnv1' matches no layer", "nearest names: conv1, conv2"),
    ("--recipe tensorfuz", "--recipe 'tensorfuz' is unknown", "did you mean tensorfuzz"),
    ("--oracle nan,flop", "--oracle 'flop' is unknown", "did you mean flip"),
    ("--oracle ,", "--oracle ,", "give names"),
    ("--oracle models.py:zzzqq", "models.py has no 'zzzqq'", "check the name after the colon"),
    ("--oracle models.py:NUMBER", "models.py:NUMBER", "is not a function"),
    ("--oracle models.py:broken_property", "AttributeError in models.py:broken_property", "fix that function"),
    ("--oracle agree", "compares two models", "name the second with --twin"),
    ("--agree argmax", "says when twins agree", "name the second model with --twin"),
    ("--executions 59", "the 60 seeds run first", "give at least as many"),
    ("--twin float61", "--twin 'float61' is unknown", "did you mean float16"),
    ("--twin gone.pt2", "gone.pt2 does not exist", "give a model file or FILE.py:function"),
    ("--twin int8 --agree most", "--agree 'most'", "give argmax, topK"),
    ("--twin int8 --agree nan", "--agree 'nan'", "give argmax, topK"),
    ("--twin int8 --agree top11", "--agree top11", "only 10 outputs"),
    ("--coverage neares", "--coverage 'neares' is unknown", "did you mean nearest"),
    ("--coverage nearest,tkcn", "--coverage 'tkcn' is unknown", "did you mean tknc"),
    ("--coverage nc,nc", "names a criterion twice", "name each once"),
    ("--mutator metamorfic", "--mutator 'metamorfic' is unknown", "did you mean metamorphic"),
    ("--recency 0.9", "--recency", "needs --scheduler smooth"),
    ("--recipe deephunter --sigma 0.1", "--sigma", "needs --mutator noise"),
    ("--scheduler fifo", "--scheduler 'fifo' is unknown", "choose from uniform, recent, smooth"),
    ("--units chanels", "--units 'chanels' is unknown", "did you mean channels"),
    ("--distance l2", "--distance 'l2' is unknown", "choose from euclidean, cosine"),
    ("--recipe random --coverage nearest", "--recipe random is unguided", "leave out --coverage"),
    ("--range 1,0", "--range 1,0", "give the lowest and the highest value"),
    ("--range 0", "--range 0", "give the lowest and the highest value"),
    ("--range low,high", "--range low,high", "give numbers"),
    ("--range 0,inf", "--range 0,inf", "give numbers"),
    ("--budget soon", "--budget soon", "give a time such as 60s"),
    ("--budget 0s", "--budget 0s", "give a time such as 60s"),
    ("--executions 0", "--executions 0", "at least 1"),
    ("--executions many", "--executions", "give a whole number"),
    ("--findings 0", "--findings 0", "at least 1"),
    ("--batch 0", "--batch 0", "at least 1"),
    ("--newest 0", "--newest 0", "at least 1"),
    ("--seed -1", "--seed -1", "a whole number from 0"),
    ("--sigma -1", "--sigma -1", "above 0"),
    ("--sigma inf", "--sigma inf", "give a number"),
    ("--radius 0", "--radius 0", "above 0"),
    ("--threshold 0", "--threshold 0", "leave it out to calibrate"),
    ("--scheduler smooth --recency 1", "--recency 1", "below 1"),
    ("--mean 0.5", "--mean has 1 numbers, --std has 0", "give both"),
    ("--std 0.5", "--mean has 0 numbers, --std has 1", "give both"),
    ("--mean 0.5 --std 0", "--std 0", "above 0"),
    ("--mean 0,0,0 --std 1,1,1", "--mean has 3 numbers", "the inputs' 1 channels"),
    ("--size 28", "--size 28", "such as 224,224"),
    ("--channels 2", "--channels 2", "1 channel (grey) or 3 (colour)"),
    ("--frobnicate", "No such option: --frobnicate", "jostle --help"),
    ("--sedes x", "No such option: --sedes", "--seeds"),
    ("more.npy", "unexpected extra argument", "jostle --help"),
    ("--gradients", "--gradients needs --metadata", "whose values it differentiates"),
    ("--metadata models.py", "--metadata models.py", "give FILE.py:function"),
    ("--metadata models.py:NUMBER", "models.py:NUMBER", "is not a function"),
    ("--metadata models.py:broken_loss", "KeyError in models.py:broken_loss", "fix that function"),
    ("--metadata models.py:no_mapping", "must return a dict", "fix that function"),
]
OTHERS = [
    ("models.py:build --seeds ok.npy --weights gone.pt", "it does not exist", "save the state dict"),
    ("models.py:build --seeds ok.npy --weights canary.pt --trust-model", "cannot be loaded", "save the state dict"),
    ("models.py:build --seeds ok.npy --weights tensors.safetensors", "unexpected: low", "missing: conv1.weight"),
    ("models.py:flip --seeds ok.npy --weights weights.pth", "is a function", "leave it out"),
    ("static.pt2 --seeds ok.npy --weights weights.pth", "is for a model given as", "FILE.py:function"),
    ("models.py:scalar --seeds ok.npy --oracle flip", "flip needs a model that gives class scores", "use nan"),
    ("models.py:flip --seeds ok.npy --twin int8", "the model has none", "choose another twin"),
    ("models.py:flip --seeds ok.npy --layers conv1", "no layers to watch", "leave it out"),
]
HUNT = f"fuzz {GOOD} --executions 100 --recipe deephunter"
COVER = f"coverage {ZOO} ok.npy"
# Whole commands of those that measure neurons; OUT stands for a place to write to.
NEURONS = [
    (f"{HUNT} --profile lenet1.safetensors", "is of another model", "make one of this model with jostle profile"),
    (f"{HUNT} --profile fc1.safetensors", "different: layers", "make one of this model with jostle profile"),
    (f"{HUNT} --profile lenet5.safetensors --units every", "different: units", "make one of this model"),
    (f"{HUNT} --profile lenet5.safetensors --layers conv1", "different: layers", "make one of this model"),
    (f"{HUNT} --profile garbage.safetensors", "garbage.safetensors is no saved profile", "jostle profile"),
    (f"{HUNT} --profile cut.safetensors", "cut.safetensors is no saved profile", "jostle profile"),
    (f"{HUNT} --profile tensors.safetensors", "tensors.safetensors is no saved profile", "jostle profile"),
    (f"{HUNT} --profile gone.safetensors", "gone.safetensors is no saved profile", "jostle profile"),
    (f"{HUNT} --profile gone.npy", "gone.npy", "give a folder of images"),
    (f"{HUNT} --profile cropped.npy", "shape [1, 20, 20]", "give data as the model takes it"),
    (f"{HUNT} --profile bytes.npy", "outside the declared range", "--range 0,255"),
    (f"{HUNT} --profile late_nan.npy", "late_nan.npy", "remove it"),
    (f"{HUNT} --profile mixed", "differ in size: a.png is 28×28, b.png is 20×30", "--size HEIGHT,WIDTH"),
    (f"{HUNT} --profile late", "differ in size: a0.png is 28×28, b.png is 20×30", "--size HEIGHT,WIDTH"),
    (f"{HUNT} --profile late --batch 4", "images in late differ in size", "--size HEIGHT,WIDTH"),
    (f"{HUNT} --profile late --batch 3", "differ in size", "--size HEIGHT,WIDTH"),
    (f"{HUNT} --layers cnv1", "'cnv1' matches no layer", "nearest names: conv1, conv2"),
    (f"{HUNT} --coverage kmnc,kmnc", "names a criterion twice", "name each once"),
    (f"{HUNT} --coverage tknc --top 0", "--top 0", "at least 1"),
    (f"{HUNT} --coverage tknc --top 9999", "--top 9999: the largest watched layer has", "give fewer"),
    (f"{HUNT} --top 3", "--top", "needs --coverage tknc or bknc"),
    (f"{HUNT} --sections 0", "--sections 0", "at least 1"),
    (f"{HUNT} --sections 100000000000", "--sections 100000000000", "at most 1048576"),
    (f"{HUNT} --coverage nbc --buckets 0", "--buckets 0", "at least 1"),
    *((f"{HUNT} --alpha {share}", f"--alpha {share}", "above 0 and below 1") for share in ("0", "1", "-1")),
    *((f"{HUNT} --beta {share}", f"--beta {share}", "above 0 and below 1") for share in ("0", "1", "-1")),
    (f"{HUNT} --alpha nan", "--alpha nan", "give a number"),
    (f"{HUNT} --tries 0", "--tries 0", "at least 1"),
    (f"{HUNT} --transforms rotatoin", "'rotatoin' is unknown", "did you mean rotation"),
    (f"{HUNT} --transforms noise,noise", "names noise twice", "name each once"),
    (f"{HUNT} --transforms noise,", "--transforms noise,", "give names"),
    (f"{HUNT} --transforms rotation=-400:10", "--transforms rotation=-400:10", "within -360:360"),
    (f"{HUNT} --transforms blur=0:6", "--transforms blur=0:6", "within 1:6"),
    (f"{HUNT} --transforms scaling=0:1", "--transforms scaling=0:1", "within 0.01:100"),
    (f"{HUNT} --transforms rotation=15:-15", "--transforms rotation=15:-15", "NAME=LOW:HIGH"),
    (f"{HUNT} --transforms rotation=15", "--transforms rotation=15", "NAME=LOW:HIGH"),
    (f"{HUNT} --ranges papr", "--ranges 'papr' is unknown", "did you mean paper"),
    (f"{HUNT} --border black", "--border 'black' is unknown", "dark"),
    (f"{HUNT} --transforms rotation=nan:5", "--transforms rotation=nan:5", "NAME=LOW:HIGH"),
    (
        "fuzz models.py:vectors --seeds vectors.npy --executions 100 --recipe deephunter --mutator metamorphic",
        "seeds of shape [20] are no images",
        "use --mutator noise",
    ),
    (
        "fuzz models.py:untrained --seeds channels_last.npy --executions 100 --recipe deephunter",
        "seeds of shape [28, 28, 1] have their channels last",
        "move them first",
    ),
    (
        f"fuzz {ZOO} --seeds channels_last.npy --executions 100 --recipe deephunter",
        "fails on seeds of shape [28, 28, 1]",
        "channels first",
    ),
    (f"{COVER} --profile lenet1.safetensors", "is of another model", "make one of this model with jostle profile"),
    (f"{COVER} --profile fc1.safetensors", "different: layers", "make one of this model with jostle profile"),
    (f"{COVER} --profile garbage.safetensors", "is no saved profile", "jostle profile"),
    (f"{COVER} --profile late --batch 4", "images in late differ in size", "--size HEIGHT,WIDTH"),
    (f"{COVER} --profile cropped.npy", "shape [1, 20, 20]", "give data as the model takes it"),
    (f"{COVER} --layers cnv1", "'cnv1' matches no layer", "nearest names: conv1, conv2"),
    (f"{COVER} --top 0", "--top 0", "at least 1"),
    (f"{COVER} --top 9999", "--top 9999: the largest watched layer has", "give fewer"),
    (f"{COVER} --top 9999 --profile lenet5.safetensors", "--top 9999: the largest watched layer has", "give fewer"),
    (f"{COVER} --sections 0", "--sections 0", "at least 1"),
    (f"{COVER} --sections 100000000000 --profile lenet5.safetensors", "--sections 100000000000", "at most 1048576"),
    (f"{COVER} --active 1", "--active 1", "give a number between"),
    (f"{COVER} --criteria kmnc", "measuring kmnc needs known data", "--profile"),
    (f"{COVER} --criteria nc,nc", "names a criterion twice", "name each once"),
    (f"{COVER} --criteria tkcn", "'tkcn' is unknown", "did you mean tknc"),
    (f"{COVER} --criteria nearest", "'nearest' is unknown", "choose from nc"),
    (f"{COVER} --criteria ,", ",", "give names"),
    (f"coverage {ZOO} mixed", "differ in size: a.png is 28×28, b.png is 20×30", "--size HEIGHT,WIDTH"),
    (f"coverage {ZOO} late --batch 4", "images in late differ in size", "--size HEIGHT,WIDTH"),
    (f"coverage {ZOO} late --batch 4 --profile lenet5.safetensors", "images in late differ", "--size HEIGHT,WIDTH"),
    (f"coverage {ZOO} late_nan.npy --batch 7", "late_nan.npy", "remove it"),
    (f"coverage {ZOO} channels_last.npy", "fails on inputs of shape [28, 28, 1]", "channels first"),
    (f"coverage {ZOO} cropped.npy", "fails on inputs of shape [1, 20, 20]", "check their shape"),
    (f"coverage {ZOO} gone", "gone do", "give a folder of images"),
    (f"coverage {ZOO} none.npy", "[0, 1, 28, 28]", "give at least one"),
    ("coverage models.py:flip ok.npy", "shows no layers", "no neurons to count"),
    (f"profile {ZOO} late --batch 4 --out OUT.safetensors", "images in late differ in size", "--size HEIGHT,WIDTH"),
    (f"profile {ZOO} mixed --out OUT.safetensors", "differ in size", "--size HEIGHT,WIDTH"),
    (f"profile {ZOO} channels_last.npy --out OUT.safetensors", "shape [28, 28, 1]", "channels first"),
    (f"profile {ZOO} ok.npy --layers cnv1 --out OUT.safetensors", "matches no layer", "conv1"),
    (f"profile {ZOO} ok.npy --out OUT.npy", "OUT.npy", "ends in .safetensors"),
    (f"profile {ZOO} ok.npy --out gone/OUT.safetensors", "cannot write gone", "give another --out"),
    (f"profile {ZOO} ok.npy --out note.txt/OUT.safetensors", "cannot write note.txt", "give another --out"),
    (f"profile {ZOO} ok.npy --out tensors.safetensors", "is no profile", "give another name"),
]


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every file with its content, every folder; Python's own caches aside."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if "__pycache__" not in path.parts
    }


def check_refused(ended: Ended, *said: str) -> None:
    assert ended.code == Exit.USAGE, ended
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("jostle: ")
    assert "Traceback" not in line
    for words in said:
        assert words in line


@pytest.mark.parametrize(
    ("arguments", "cause", "fix"),
    [*MODELS, *SEEDS, *((f"{GOOD} {option}", cause, fix) for option, cause, fix in OPTIONS), *OTHERS],
)
def test_a_mistake_gives_one_line_that_names_the_fix(
    arguments: str, cause: str, fix: str, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    before = snapshot(in_workshop)
    limit = [] if "--executions" in arguments else ["--executions", "100"]
    ended = jostle("fuzz", *arguments.split(), *limit, "--out", str(tmp_path / "out"))
    check_refused(ended, cause, fix)
    assert list(tmp_path.iterdir()) == []
    assert snapshot(in_workshop) == before


@pytest.mark.parametrize(("command", "cause", "fix"), NEURONS)
def test_a_mistake_about_neurons_or_transformations_gives_one_line(
    command: str, cause: str, fix: str, jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    before = snapshot(in_workshop)
    out = ["--out", str(tmp_path / "out")] if command.startswith("fuzz") else []
    check_refused(jostle(*command.replace("--out OUT", f"--out {tmp_path / 'OUT'}").split(), *out), cause, fix)
    assert list(tmp_path.iterdir()) == []
    assert snapshot(in_workshop) == before


@pytest.mark.parametrize(
    ("out", "cause"),
    [
        ("note.txt", "cannot use the output folder note.txt"),
        ("note.txt/below", "cannot use the output folder note.txt/below"),
        ("/proc/jostle", "cannot use the output folder /proc/jostle"),
        ("foreign", "foreign is not empty and holds no campaign"),
        ("other", "not of a campaign"),
    ],
)
@pytest.mark.parametrize("command", ["fuzz", "demo"])
def test_a_folder_that_is_not_ours_is_left_alone(
    command: str, out: str, cause: str, jostle: Run, in_workshop: Path
) -> None:
    before = snapshot(in_workshop)
    arguments = [*GOOD.split(), "--executions", "100"] if command == "fuzz" else ["--budget", "1s"]
    check_refused(jostle(command, *arguments, "--out", out), cause, "give another --out")
    assert snapshot(in_workshop) == before


def test_the_folder_of_another_configuration_is_left_alone(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    call = ["fuzz", *GOOD.split(), "--executions", "200", "--out", str(tmp_path)]
    assert jostle(*call).code == Exit.CLEAN
    before = snapshot(tmp_path)
    check_refused(jostle(*call, "--seed", "1", "--sigma", "0.2"), "changed: seed, sigma", "give another --out")
    check_refused(jostle("demo", "--budget", "1s", "--out", str(tmp_path)), "another", "give another --out")
    assert snapshot(tmp_path) == before


def test_a_model_file_that_changed_makes_another_configuration(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from jostle.zoo import lenet5 as build\n")
    call = ["fuzz", f"{file}:build", "--seeds", "ok.npy", "--executions", "200", "--out", str(tmp_path / "out")]
    assert jostle(*call).code == Exit.CLEAN
    file.write_text("from jostle.zoo import lenet1 as build\n")
    check_refused(jostle(*call), f"(changed: {file}:build)", "give another --out")


@pytest.mark.parametrize(
    ("file", "content", "cause", "fix"),
    [
        ("jostle.toml", 'sedes = "x"', "unknown setting 'sedes'", "did you mean 'seeds'"),
        ("jostle.toml", "qqqqqq = 1", "unknown setting 'qqqqqq'", "remove it"),
        ("jostle.toml", "seed = ", "jostle.toml cannot be read", "fix it"),
        ("jostle.toml", 'sigma = "big"', "--sigma big", "give a number"),
        ("jostle.toml", "threshold = nan", "--threshold nan", "give a number"),
        ("jostle.toml", "oracle = [1]", "--oracle 1", "give names"),
        ("jostle.toml", "oracle = 5", "--oracle 5", "give names"),
        ("jostle.toml", "batch = 2.5", "--batch 2.5", "give a whole number"),
        ("jostle.toml", "seed = true", "--seed True", "give a whole number"),
        ("jostle.toml", 'gradients = "yes"', "--gradients yes", "give true or false"),
        ("jostle.toml", "twin = 16", "--twin 16", "give names with commas between them"),
        ("jostle.toml", "mean = [[1]]", "--mean", "give numbers"),
        ("pyproject.toml", "[tool.jostle]\nexcutions = 5", "unknown setting 'excutions'", "did you mean 'executions'"),
        ("pyproject.toml", "[tool]\njostle = 3", "no table", "write [tool.jostle]"),
    ],
)
def test_a_mistake_in_a_file_gives_one_line(
    file: str, content: str, cause: str, fix: str, jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text(content + "\n")
    check_refused(
        jostle("fuzz", ZOO, "--seeds", "jostle.zoo:mnist_sample", "--executions", "600", "--out", "out"), cause, fix
    )
    assert [path.name for path in tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ("", "which command?"),
        ("fuz", "No such command 'fuz'"),
        ("doctor --fast", "No such option: --fast"),
        ("list everything", "unexpected extra argument"),
        ("demo --budget 0", "--budget 0: give a time"),
        ("demo --budget long", "--budget long: give a time"),
    ],
)
def test_a_wrong_command_gives_one_line(
    arguments: str, cause: str, jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refused(jostle(*arguments.split()), cause)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_pickle_does_not_run_but_a_trusted_one_is(
    jostle: Run, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["fuzz", str(workshop / "canary.pt"), "--seeds", str(workshop / "ok.npy"), "--executions", "100"]
    check_refused(jostle(*call), "can execute code", "--trust-model")
    assert not (tmp_path / "canary-fired").exists()
    check_refused(jostle(*call, "--trust-model", "--sandbox", "off"))
    assert (tmp_path / "canary-fired").exists()  # so the canary works
