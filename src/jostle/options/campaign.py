"""Options of a whole campaign, and those that parts of several rooms read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jostle.options.declaration import Theme, option
from jostle.options.kinds import (
    CHANNELS,
    COUNT_OR_ALL,
    DEVIATIONS,
    DURATION,
    FLAG,
    INPUTS,
    LARGEST,
    NAMES,
    NUMBERS,
    RANGE,
    SHAPES,
    SIZE,
    TEXT,
    WHOLES,
    choice,
    number,
    whole,
)

MODEL_HELP = "FILE.py:function, package.module:function, or a model file (.onnx, .keras, .tflite, .xml, .pt2 …)"
ENGINES = ("onnxruntime", "openvino", "tensorflow", "jax", "torch", "litert")
CHANNELS_FIRST, CHANNELS_LAST = LAYOUTS = ("nchw", "nhwc")
DATA_HELP = "Folder of images or texts, .npy/.npz/.csv/.parquet/.txt file, or FILE.py:function"
HOME = Path("jostle-runs")  # where campaigns live that were given no folder
USUAL_RANGE = (0.0, 1.0)  # of input values
CHANNEL_MEANS, EVERY_UNIT = UNITS = ("channels", "every")  # what a neuron is: the mean of a channel, or every unit
BEHIND_ACTIVATIONS, EVERY_LAYER = COUNTED_LAYERS = ("activated", "every")  # layers whose neurons are counted
TOKEN = whole(0, LARGEST)
LENGTH = whole(1, 10_000_000)
SAMPLES = whole(1, 1_000_000_000)
VOCABULARY = whole(1, 2**31)
SEED = whole(0, LARGEST, say="give a whole number from 0 to 2^63 - 1")


@dataclass(frozen=True)
class ModelOptions:
    """The model, and what it is compared with."""

    model: str = option(TEXT, MODEL_HELP, Theme.WHAT, names_file=True, names_python=True)
    weights: str | None = option(
        TEXT,
        "State dict (.safetensors; .pt, .pth, .bin, .ckpt) for the model of FILE.py:function",
        Theme.WHAT,
        names_file=True,
    )
    twin: tuple[str, ...] = option(
        NAMES,
        "What to compare with, one or several: a twin of `jostle list`, a model file or FILE.py:function",
        Theme.FIRST,
        default=(),
        names_file=True,
        names_python=True,
    )
    engine: str | None = option(
        choice(lambda: ENGINES),
        "What runs a model file, where several can: openvino for .onnx; tensorflow, jax or torch for Keras",
        Theme.WHAT,
    )
    shape: tuple[str, ...] = option(
        SHAPES,
        "Sizes of a model file's input without the batch, where the file leaves them open: image=3x224x224",
        Theme.WHAT,
        default=(),
    )
    trust_model: bool = option(
        FLAG,
        "Load a model that can execute code: pickles, TorchScript, Keras Lambda, SavedModels that read files",
        Theme.SAFETY,
        default=False,
        flags="--trust-model",
        consents=(True,),
    )


@dataclass(frozen=True)
class PanelOptions:
    """Other models that answer the same question."""

    models: tuple[str, ...] = option(
        NAMES,
        "Other models of the same task, for deepxplore",
        Theme.WHAT,
        default=(),
        names_file=True,
        names_python=True,
    )


@dataclass(frozen=True)
class InputOptions:
    """The inputs: where they come from, and what values they hold."""

    seeds: str = option(TEXT, DATA_HELP, Theme.FIRST, names_python=True)
    range: tuple[float, float] | None = option(
        RANGE,
        "Lowest and highest input value, or -inf,inf (0,1; of tables, what each column of the seeds holds)",
        Theme.FIRST,
    )
    domain: str | None = option(
        TEXT, "TOML file that says what inputs may be, such as a campaign's domain.toml", Theme.WHAT, names_file=True
    )
    label: str | None = option(TEXT, "Column of a table that holds the labels (label, target or y)", Theme.WHAT)
    mean: tuple[float, ...] = option(NUMBERS, "Per channel; subtracted before the model", Theme.WHAT, default=())
    std: tuple[float, ...] = option(DEVIATIONS, "Per channel; divided by before the model", Theme.WHAT, default=())
    layout: str = option(
        choice(lambda: LAYOUTS),
        "How the model takes images: channels first (nchw) or last (nhwc)",
        Theme.WHAT,
        default=CHANNELS_FIRST,
    )
    channels: int | None = option(CHANNELS, "Read image files as 1 (grey) or 3 (colour) channels", Theme.WHAT)
    size: tuple[int, int] | None = option(SIZE, "Resize image files to HEIGHT,WIDTH", Theme.WHAT)
    rate: int | None = option(SAMPLES, "Samples a second of waves; .wav files tell theirs", Theme.WHAT)
    length: int | None = option(
        LENGTH, "Pad and cut to so many: samples of waves, tokens of texts (texts: 128)", Theme.WHAT
    )
    input: tuple[str, ...] = option(
        INPUTS, "Of several inputs, one to change, and how: --input image=metamorphic", Theme.MUTATION, default=()
    )
    vocabulary: int | None = option(VOCABULARY, "How many tokens there are (the embedding's size)", Theme.WHAT)
    pad: int | None = option(TOKEN, "The token that fills rows up (what fills only tails of the seeds)", Theme.WHAT)
    special: tuple[int, ...] = option(
        WHOLES, "Tokens that stay where they are: 101,102 (what begins or ends every seed)", Theme.WHAT, default=()
    )
    tokenizer: str | None = option(
        TEXT,
        "What makes tokens of texts: a tokenizer.json, FILE.py:function of a text, or bytes",
        Theme.WHAT,
        names_file=True,
        names_python=True,
    )

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value, also where none is given; columns of tables are scaled to it."""
        return USUAL_RANGE if self.range is None else self.range


@dataclass(frozen=True)
class WatchOptions:
    """What is watched while the model runs."""

    layers: tuple[str, ...] = option(NAMES, "Layers to watch and to guide by: 'conv*,fc1'", Theme.WHAT, default=())
    output: str | None = option(
        TEXT, "The output that carries the answer, of a model that returns several: 1, logits, boxes", Theme.WHAT
    )
    units: str = option(
        choice(lambda: UNITS),
        "A neuron: the mean of a channel (channels), or every unit (every)",
        Theme.WHAT,
        default="channels",
    )
    metadata: str | None = option(
        TEXT,
        "FILE.py:function of (inputs, outputs, labels) to {name: a value per input}",
        Theme.DEFECTS,
        names_file=True,
        names_python=True,
    )
    gradients: bool = option(
        FLAG, "Watch the gradients of the metadata too", Theme.DEFECTS, default=False, flags="--gradients"
    )


@dataclass(frozen=True)
class FindingOptions:
    """What is made of findings."""

    as_images: bool = option(
        FLAG,
        "Findings must survive rounding to 8 bits (dlfuzz: yes)",
        Theme.DEFECTS,
        default=False,
        flags="--as-images/--not-as-images",
    )
    seeds_count: bool = option(
        FLAG,
        "Seeds that the model gets wrong are findings too",
        Theme.DEFECTS,
        default=False,
        flags="--seeds-count",
    )
    minimise: bool = option(
        FLAG,
        "Shrink what changed at the end (dlfuzz: yes)",
        Theme.OUTPUT,
        default=False,
        flags="--minimise/--no-minimise",
    )
    confirm: bool = option(
        FLAG,
        "Run findings again at the end, in a new process",
        Theme.OUTPUT,
        default=True,
        flags="--confirm/--no-confirm",
        may_change=True,
    )
    finishing: float = option(
        DURATION,
        "Longest time for confirming and minimising findings at the end",
        Theme.OUTPUT,
        default=60.0,
        may_change=True,
    )
    classes: str | None = option(
        TEXT,
        'File with the names of classes: one a line, a JSON list, or {"0": "cat"}',
        Theme.OUTPUT,
        may_change=True,
    )


@dataclass(frozen=True)
class FailingOptions:
    """How many of the inputs are kept that violate a property."""

    keep_failing: int | str = option(
        COUNT_OR_ALL,
        "Failing tests to keep besides the findings, each an input with its bug: so many, or all",
        Theme.OUTPUT,
        default=10_000,
        may_change=True,
    )

    @property
    def most(self) -> int | None:
        """How many, None where there is no bound."""
        return None if isinstance(self.keep_failing, str) else self.keep_failing


@dataclass(frozen=True)
class RunOptions:
    """How a campaign runs, and where it is kept."""

    seed: int = option(SEED, "Of all randomness; the same seed gives the same campaign", Theme.BUDGET, default=0)
    out: str | None = option(TEXT, "Campaign folder; the same command goes on in it", Theme.FIRST, may_change=True)
    report: bool = option(
        FLAG,
        "Write report.html into the campaign folder at the end",
        Theme.OUTPUT,
        default=False,
        flags="--report",
        may_change=True,
    )


@dataclass(frozen=True)
class DoubtOptions:
    """What is done about doubts."""

    force: bool = option(
        FLAG,
        "Fuzz although a pre-flight check has doubts",
        Theme.SAFETY,
        default=False,
        flags="--force",
        may_change=True,
    )


@dataclass(frozen=True)
class FolderOptions:
    """What commands on a campaign's folder take, besides what they share with `jostle fuzz`."""

    trust_folder: bool = option(
        FLAG,
        "Execute the Python that the folder names, whoever made it",
        Theme.SAFETY,
        default=False,
        flags="--trust-folder",
        consents=(True,),
    )


@dataclass(frozen=True)
class ChangeOptions:
    """How far image transformations may change values (Equation 1), which the batch pool reads too."""

    beta: float = option(
        number("give a share above 0 and below 1 (alpha 0.02, beta 0.2)", above=0, below=1),
        "Share of the range that all values may change by",
        Theme.MUTATION,
        default=0.2,
    )


@dataclass(frozen=True)
class ActivityOptions:
    """When a neuron is active, by neuron coverage and for gradient ascent."""

    active: float = option(
        number("give a number between 0 and 1, such as 0.75", above=0, below=1),
        "Scaled activation that counts as active (nc; dlfuzz 0.25)",
        Theme.GUIDES,
        default=0.75,
    )


@dataclass(frozen=True)
class CountedLayerOptions:
    """Whose neurons are counted, by criteria and for gradient ascent."""

    counted: str = option(
        choice(lambda: COUNTED_LAYERS),
        "Whose neurons count: layers behind their activations, as in papers (activated), or every layer's (every)",
        Theme.GUIDES,
        default=BEHIND_ACTIVATIONS,
    )


MOST_ITERATIONS = 1000  # made within one step of the campaign, after which alone its budget is looked at


@dataclass(frozen=True)
class StepOptions:
    """Steps along gradients, which the seed list counts too."""

    iterations: int = option(
        whole(1, MOST_ITERATIONS), "Gradient steps for each entry of the list", Theme.GRADIENTS, default=3
    )
    limit: float = option(
        number("give a number that is not negative", at_least=0),
        "Relative distance from the root below which mutants join the list",
        Theme.GRADIENTS,
        default=0.02,
    )
