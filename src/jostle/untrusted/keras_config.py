"""What the configuration of a stranger's Keras model may hold.

Keras makes objects of it by name, and imports what the names are in. Its own safe mode had ways around it: functions of
Keras that download, classes of other packages, layers that read a file when they are made. So a name must be one that
is known to compute and nothing else. What is not known is a custom object, and what is code is named as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

NESTING_LIMIT = 200
# Run code that the file holds, or load another file.
CODE = ("Lambda", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "__lambda__", "__typespec__")
LAYERS = """
    Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D
    AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add AdditiveAttention AlphaDropout Attention
    AugMix AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D
    BatchNormalization Bidirectional CategoryEncoding CenterCrop Concatenate
    ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D
    Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D Convolution1DTranspose Convolution2D
    Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D CutMix Dense
    DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Equalization Flatten
    GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
    GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D
    GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization
    GroupQueryAttention HashedCrossing Hashing Identity InputLayer IntegerLookup LSTM LSTMCell
    LayerNormalization LeakyReLU Masking MaxNumBoundingBoxes MaxPool1D MaxPool2D MaxPool3D MaxPooling1D
    MaxPooling2D MaxPooling3D Maximum MelSpectrogram Minimum MixUp MultiHeadAttention Multiply Normalization
    PReLU Permute Pipeline RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration
    RandomColorJitter RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip
    RandomGaussianBlur RandomGrayscale RandomHue RandomInvert RandomPerspective RandomPosterization
    RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation RandomZoom ReLU RepeatVector
    Rescaling Reshape Resizing ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D
    SeparableConvolution1D SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax Solarization SpatialDropout1D
    SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells StringLookup Subtract
    TextVectorization TimeDistributed UnitNormalization UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D
    ZeroPadding2D ZeroPadding3D
"""
# Models, initializers, regularizers, constraints, losses, metrics, optimizers, and types of numbers.
OTHERS = """
    Functional Model Sequential
    AUC AWQConfig AWQDTypePolicy AbsMaxQuantizer Accuracy Adadelta Adafactor Adagrad Adam AdamW Adamax
    BinaryAccuracy BinaryCrossentropy BinaryFocalCrossentropy BinaryIoU CTC CategoricalAccuracy
    CategoricalCrossentropy CategoricalFocalCrossentropy CategoricalGeneralizedCrossEntropy CategoricalHinge
    Circle ConcordanceCorrelation Constant CosineDecay CosineDecayRestarts CosineSimilarity DTypePolicy
    DTypePolicyMap Dice ExponentialDecay F1Score FBetaScore FalseNegatives FalsePositives
    Float8QuantizationConfig FloatDTypePolicy Ftrl GPTQConfig GPTQDTypePolicy GlorotNormal GlorotUniform
    HeNormal HeUniform Hinge Huber IdentityInitializer Int4DTypePolicy Int4QuantizationConfig
    Int8QuantizationConfig InverseTimeDecay IoU KLDivergence L1 L1L2 L2 Lamb LecunNormal LecunUniform Lion
    LogCosh LogCoshError LossScaleOptimizer MaxNorm Mean MeanAbsoluteError MeanAbsolutePercentageError MeanIoU
    MeanMetricWrapper MeanSquaredError MeanSquaredLogarithmicError MinMaxNorm MultiOptimizer Muon Nadam NonNeg
    OneHotIoU OneHotMeanIoU Ones Orthogonal OrthogonalInitializer OrthogonalRegularizer PearsonCorrelation
    PiecewiseConstantDecay Poisson PolynomialDecay Precision PrecisionAtRecall QuantizedDTypePolicy
    QuantizedFloat8DTypePolicy R2Score RMSprop RandomNormal RandomUniform Recall RecallAtPrecision
    RootMeanSquaredError SGD STFT STFTInitializer ScheduleFreeAdamW SeedGenerator SensitivityAtSpecificity
    SparseCategoricalAccuracy SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy
    SpecificityAtSensitivity SquaredHinge Sum TopKCategoricalAccuracy TrueNegatives TruePositives
    TruncatedNormal Tversky UnitNorm VarianceScaling Zeros
"""
KNOWN = frozenset((LAYERS + OTHERS).split())
ROOMS = "layers|models|initializers|regularizers|constraints|losses|metrics|optimizers|dtype_policies|quantizers|random"
MODULE = re.compile(rf"keras|keras(\.src)?\.({ROOMS}|engine)(\.\w+)*|keras\.src\.backend\.\w+\.optimizers(\.\w+)*")
OPERATIONS = re.compile(r"keras(\.src)?\.ops(\.\w+)*")
FUNCTIONS = re.compile(r"builtins|keras(\.src)?\.(activations|losses|metrics|ops)(\.\w+)*")
FUNCTION = re.compile(r"(?!get$|serialize$|deserialize$)[a-z]\w*", re.ASCII)
VALUES = ("__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__", "__tuple__")
NUMBERS = re.compile(r"bool|string|(b?float|u?int|complex)\d{1,3}(_\w+)?", re.ASCII)  # numpy takes "V999999999" too
LOOKUPS = ("StringLookup", "IntegerLookup", "IndexLookup", "TextVectorization")
READ = ("vocabulary", "idf_weights")  # a text is taken for the name of a file, or its address
NAME = re.compile(r"(?!\.\.?$)[^/\\\x00-\x1f\x7f]*")
SLASHED = re.compile(r"(?!/|(.*/)?\.\.?(/|$))[^\\\x00-\x1f\x7f]*")


@dataclass(frozen=True)
class KerasObject:
    """What the configuration asks Keras to make: `class_name`, from `module`."""

    name: str
    module: str | None
    registered: str | None
    config: Any


def custom_objects(config: Any, slashes: bool) -> tuple[str, ...]:
    """Names of what is code or not Keras' own; ValueError for what reads a file. `slashes`: names may have them."""
    found: dict[str, None] = {}
    for one in _objects(config):
        _check_reading(one)
        _check_name(one, slashes)
        if not _is_own(one):
            found[one.name[:100]] = None
    return tuple(found)


def check_trusted(found: tuple[str, ...]) -> None:
    """What cannot be loaded unless the file's origin is trusted."""
    if found:
        kind = f"a {found[0]} layer, which is code" if found[0] in CODE else f"{found[0]!r}, which is not Keras' own"
        raise ValueError(f"it holds {kind}: add --trust-model if you trust its origin")


def _objects(config: Any) -> Iterator[KerasObject]:
    """Also those inside others, whatever they are inside of."""
    waiting = [(config, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > NESTING_LIMIT:
            raise ValueError(f"its configuration is nested more than {NESTING_LIMIT} deep")
        if isinstance(value, dict):
            if "class_name" in value:
                yield _object(value)
            waiting.extend((inner, depth + 1) for inner in value.values())
        elif isinstance(value, list):
            waiting.extend((inner, depth + 1) for inner in value)


def _object(value: dict[str, Any]) -> KerasObject:
    texts = [value.get(key) for key in ("class_name", "module", "registered_name")]
    if not isinstance(texts[0], str) or not all(isinstance(text, str | None) for text in texts):
        raise ValueError("its configuration has an object whose name is no text")
    return KerasObject(texts[0], texts[1], texts[2], value.get("config"))


def _is_own(one: KerasObject) -> bool:
    """An operation of Keras, known to compute and nothing else."""
    if one.name in VALUES:
        return one.module is None
    if one.name == "function":
        return _is_own_function(one)
    if one.name in CODE or one.registered not in (None, one.name):
        return False
    if one.module is not None and OPERATIONS.fullmatch(one.module):
        return re.fullmatch(r"[A-Z]\w*", one.name) is not None
    return one.name in KNOWN and (one.module is None or MODULE.fullmatch(one.module) is not None)


def _is_own_function(one: KerasObject) -> bool:
    named = isinstance(one.config, str) and FUNCTION.fullmatch(one.config) and one.registered in (None, one.config)
    return bool(named and one.module is not None and FUNCTIONS.fullmatch(one.module))


def _check_reading(one: KerasObject) -> None:
    match one:
        case KerasObject(name=name, config=dict() as config) if name in LOOKUPS:
            for key in READ:
                if isinstance(config.get(key), str):
                    raise ValueError(f"its layer {name} reads the {key} from another file: save it with the values")
        case KerasObject(name="__numpy__" | "__tensor__", config=dict() as config):
            if not NUMBERS.fullmatch(str(config.get("dtype"))):
                raise ValueError(f"it holds an array of {str(config.get('dtype'))[:100]!r}")


def _check_name(one: KerasObject, slashes: bool) -> None:
    """Keras makes paths of names, to find weights and other files by."""
    name = one.config.get("name") if isinstance(one.config, dict) else None
    if isinstance(name, str) and not (SLASHED if slashes else NAME).fullmatch(name):
        raise ValueError(f"its layer {name[:100]!r} has a path for a name")
