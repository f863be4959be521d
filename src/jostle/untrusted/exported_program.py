"""Loading a torch.export archive (`.pt2`) written by a stranger.

torch.export.load unpickles, evaluates and imports what the archive tells it to: example inputs fall back to
full pickle, size expressions go through sympy's `eval`, names and guards are pasted into Python source that
is run, input structures name modules to import, compiled members are opened as shared libraries. So torch
never sees the file. It gets a new archive of raw tensors and of JSON in which every string was recognised as
harmless in its place; an unknown member or an unknown string refuses the file.
"""

from __future__ import annotations

import ast
import io
import logging
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from jostle.errors import ModelRefused
from jostle.untrusted.files import check_regular, stored_members
from jostle.untrusted.json_text import OF_MODELS, parsed_json
from jostle.untrusted.torch_archive import load_plain

JSON_LIMIT = 256 * 2**20  # bytes per JSON member
FIX = "re-export it with torch.export.save, without custom operators, custom classes or compiled code"

GRAPH = "models/model.json"
TENSORS = ("data/weights/model_weights_config.json", "data/constants/model_constants_config.json")
EXAMPLES = "data/sample_inputs/model.pt"
REQUIRED = {"archive_format", "archive_version", GRAPH, *TENSORS}
COPIED = re.compile(r"archive_(format|version)|data/(weights/weight|constants/tensor)_\d+|\.data/version|byteorder")
LEFT_OUT = re.compile(r"extra/.*|\.data/serialization_id")
TALKATIVE = (
    *("torch.export", "torch._subclasses.fake_tensor"),
    *("torch.fx.experimental.sym_node", "torch.fx.experimental.symbolic_shapes"),
)
BROKEN = (OSError, EOFError, ValueError, RuntimeError, struct.error, zipfile.BadZipFile)

# aten::from_file and aten::save open files that the archive names.
OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed)\.(?!(from_file|save)\.)\w+\.[A-Za-z]\w*"
    r"|torch\.ops\.torchvision\.(nms|deform_conv2d|(ps_)?roi_(align|pool))\.default"
    r"|torch\.ops\.higher_order\.(cond|while_loop|scan|associative_scan|map_impl|flex_attention|out_dtype"
    r"|wrap_with_autocast|wrap_with_set_grad_enabled)"
    r"|_operator\.(getitem|add|sub|mul|truediv|floordiv|mod|pow|neg|pos|abs|eq|ne|lt|le|gt|ge|and_|or_|not_"
    r"|lshift|rshift)|math\.(ceil|floor|trunc)|torch\._?sym_[a-z0-9_]+|torch\._C\._set_grad_enabled"
    r"|torch\.amp\.autocast_mode\._(enter|exit)_autocast"
    r"|torch\._functorch\.predispatch\.(_[a-z_]+|lazy_load_decompositions)",
    re.ASCII,
)
# What size expressions and guards may mention: sympy's and torch's arithmetic, and the shapes of the inputs.
VOCABULARY = re.compile(
    r"Symbol|Integer|Float|Rational|Add|Mul|Pow|Max|Min|Mod|Abs|floor|ceiling|And|Or|Not|true|false"
    r"|Equality|Unequality|(Strict)?(Greater|Less)Than|FloorDiv|ModularIndexing|Where|PythonMod|CleanDiv"
    r"|CeilDiv|LShift|RShift|PowByNatural|FloatPow|(Float|Int)TrueDiv|IsNonOverlappingAndDenseIndicator"
    r"|(Ceil|Floor|Trunc|Round)ToInt|(TruncTo|To)Float|RoundDecimal|Identity"
    r"|L|size|stride|storage_offset|max|min|abs|float|int|round|math|ceil|trunc|sqrt|pow|log2|inf"
)
POWERS = ("Pow", "PowByNatural", "FloatPow", "LShift", "pow")
LARGEST_EXPONENT = 64
SYNTAX = (
    *(ast.Expression, ast.BoolOp, ast.boolop, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop),
    *(ast.Compare, ast.cmpop, ast.Call, ast.keyword, ast.Subscript, ast.Attribute, ast.Name),
    *(ast.Constant, ast.expr_context),
)
CONTAINERS = ("builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict")
WORD = re.compile(r"([A-Za-z_]\w*)?", re.ASCII)
NUMBER = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?", re.ASCII)
DOTTED = re.compile(r"(?!(.*\.)?__)[\w@:/ -]*(\.[\w@:/ -]+)*", re.ASCII)
KEY = re.compile(r"[\w@:/. -]*", re.ASCII)
SYMBOLS = re.compile(r"(?!.*\d{7})[\w +*/(),-]*", re.ASCII)  # torch counts up to the number in "u12"
MODULES = re.compile(r"(?!.*[.,]__(?!main__))[^\x00-\x1f\x7f\"\\]*")  # names and types of nested modules
TEXT = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]*")
UNQUOTED = re.compile(r"[^\x00-\x1f\x7f'\"\\]*")  # pasted between quotes by the guards of .module()


def load_exported(path: Path) -> torch.export.ExportedProgram:
    """The program in the file, of which nothing was executed; ModelRefused where that cannot be promised."""
    try:
        check_regular(path)
    except (OSError, ValueError) as error:
        raise ModelRefused(f"cannot load {path}: {_first_line(error)}; check the path of the .pt2 file") from error
    try:
        archive, examples = _harmless_copy(path)
    except BROKEN as error:
        raise ModelRefused(f"cannot load {path}: {_first_line(error)}; {FIX}") from error
    with _noted_failures() as noted:
        try:
            program = torch.export.load(archive)
            program.example_inputs = examples
        except Exception as error:
            reason = _first_line(noted.cause or error)
            raise ModelRefused(f"cannot load {path}: torch says {reason!r}; {FIX}") from error
    return program


@contextmanager
def _noted_failures() -> Iterator[_Noted]:
    """Torch logs what went wrong with a traceback and then raises an error that says nothing."""
    logs, noted = [logging.getLogger(name) for name in TALKATIVE], _Noted()
    for log in logs:
        log.addFilter(noted)
    try:
        yield noted
    finally:
        for log in logs:
            log.removeFilter(noted)


class _Noted(logging.Filter):
    cause: BaseException | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        self.cause = self.cause or (error and error.__cause__) or error
        return False


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def _harmless_copy(path: Path) -> tuple[io.BytesIO, object]:
    """A new archive without pickles, and the example inputs that were pickled in the old one.

    A copy, because torch and Python may read a crafted zip differently, and the file may change meanwhile.
    """
    copy = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        members = _members(source, path.stat().st_size)
        for name, info in members.items():
            if name in (GRAPH, *TENSORS):
                content = source.read(info)
                _check_json(name, parsed_json(content, OF_MODELS), members)
                target.writestr(f"model/{name}", content)
            elif COPIED.fullmatch(name):
                target.writestr(f"model/{name}", source.read(info))
        target.writestr(f"model/{EXAMPLES}", b"")
        examples = _unpickled(source.read(members[EXAMPLES])) if EXAMPLES in members else None
    copy.seek(0)
    return copy, examples


def _unpickled(examples: bytes) -> object:
    """Without torch.export's fallback to the unrestricted unpickler."""
    try:
        return load_plain(io.BytesIO(examples), len(examples)) if examples else None
    except Exception as error:
        raise ValueError("its example inputs are not just tensors and plain values") from error


def _members(source: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    if "serialized_exported_program.json" in source.namelist():
        raise ValueError("it has the format of torch 2.7 and before, which is made of pickles")
    members = stored_members(source, size)
    if missing := REQUIRED - members.keys():
        raise ValueError(f"it is not a torch.export archive, it has no {min(missing)}")
    for name, info in members.items():
        if not (name in {*REQUIRED, EXAMPLES} or COPIED.fullmatch(name) or LEFT_OUT.fullmatch(name)):
            raise ValueError(f"its member {name[:100]!r} may hold code")
        if name.endswith(".json") and info.file_size > JSON_LIMIT:
            raise ValueError(f"its member {name[:100]!r} is larger than {JSON_LIMIT} bytes")
    return members


def _check_json(name: str, content: object, members: dict[str, zipfile.ZipInfo]) -> None:
    _check_strings(content, "")
    match content:
        case {"config": dict() as tensors} if name in TENSORS:
            sizes = {member.rpartition("/")[2]: info.file_size for member, info in members.items()}
            for fqn, tensor in tensors.items():
                _check_tensor(str(fqn), tensor, sizes)
        case {"graph_module": dict()} if name == GRAPH:
            pass
        case _:
            raise ValueError(f"its member {name} is damaged")


def _check_tensor(name: str, tensor: object, sizes: dict[str, int]) -> None:
    """Stored as raw bytes: torch unpickles a tensor that says otherwise and makes up one without bytes."""
    match tensor:
        case {"use_pickle": False, "path_name": str() as record, "tensor_meta": {"sizes": [*shape]}}:
            if not sizes.get(record) and {"as_int": 0} not in shape:
                raise ValueError(f"the values of {name[:100]!r} are missing")
        case _:
            raise ValueError(f"{name[:100]!r} is not a plain tensor but a pickled object")


def _check_strings(value: object, field: str, in_node: bool = False) -> None:
    if isinstance(value, dict):
        named = NAMED_BY.get(field)
        for key, inner in value.items():
            if named and not named.fullmatch(key):
                raise ValueError(f"the name {key[:100]!r} in {field} could become code")
            _check_strings(inner, f"{field}[]" if named else key, in_node or (key == "nodes" and not named))
    elif isinstance(value, list):
        for inner in value:
            _check_strings(inner, field, in_node)
    elif isinstance(value, str):
        harmless = TEXT.fullmatch if in_node and field == "as_string" else HARMLESS.get(field)
        if not (harmless and harmless(value)):
            raise ValueError(f"its {field[:100] or 'text'} {value[:100]!r} is unknown or could become code")


def _harmless_code(text: str) -> bool:
    if not (text.isascii() and text.isprintable()) or "#" in text:
        return False
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return all(isinstance(node, SYNTAX) and _harmless_leaf(node) and _harmless_power(node) for node in nodes)


def _harmless_power(node: ast.AST) -> bool:
    """Python and sympy would compute 9**9**9 to its last digit."""
    match node:
        case ast.BinOp(op=ast.Pow() | ast.LShift(), right=exponent):
            return _is_small(exponent)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[_, exponent, *_]) if name in POWERS:
            return _is_small(exponent)
    return True


def _is_small(exponent: ast.AST) -> bool:
    match exponent:
        case ast.Constant(value=int() | float() as value):
            return abs(value) <= LARGEST_EXPONENT
        case ast.UnaryOp(operand=inner):
            return _is_small(inner)
        case ast.Call(func=ast.Name(id="Integer" | "Float" | "Rational"), args=[*inner]):
            return all(map(_is_small, inner))
    return False


def _harmless_leaf(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            return VOCABULARY.fullmatch(word) is not None
        case ast.Constant(value=str() as text):  # sympy evaluates strings again
            return bool(WORD.fullmatch(text) or NUMBER.fullmatch(text))
        case ast.Constant(value=value):
            return value is None or isinstance(value, int | float)
    return True


def _harmless_tree(spec: object) -> bool:
    """Built-in containers with plain keys; torch imports the module of any enum or default factory."""
    match spec:
        case [1, root]:  # the version of the notation
            return _harmless_tree(root)
        case {"type": None, "context": None, "children_spec": []}:
            return True
        case {"type": kind, "context": str() as context, "children_spec": [*inner]} if kind in CONTAINERS:
            keys = parsed_json(context) or []
            plain = isinstance(keys, list) and all(isinstance(key, int | str) for key in keys)
            return plain and all(KEY.fullmatch(str(key)) for key in keys) and all(map(_harmless_tree, inner))
    return False


NAMED_BY = {
    **dict.fromkeys(("tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values"), WORD),
    **dict.fromkeys(("opset_version", "as_string_to_argument"), WORD),
    **dict.fromkeys(("config", "treespec_namedtuple_fields"), DOTTED),
    "range_constraints": SYMBOLS,
}
HARMLESS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("name", "as_name", "user_input_name", "forward_arg_names"), WORD.fullmatch),
    **dict.fromkeys(("parameter_name", "buffer_name", "tensor_constant_name", "fqn"), DOTTED.fullmatch),
    **dict.fromkeys(("stack_trace", "source_fn_stack", "torch_fn", "custom", "from_node"), TEXT.fullmatch),
    **dict.fromkeys(("as_strings", "torch_version", "field_names"), TEXT.fullmatch),
    **dict.fromkeys(("as_float", "as_floats", "real", "imag"), re.compile("-?Infinity|NaN").fullmatch),
    **dict.fromkeys(("target", "as_operator"), OPERATOR.fullmatch),
    **dict.fromkeys(("in_spec", "out_spec"), lambda text: _harmless_tree(parsed_json(text))),
    **dict.fromkeys(("expr_str", "guards_code"), _harmless_code),
    "as_string": UNQUOTED.fullmatch,
    "nn_module_stack": MODULES.fullmatch,
    "type": re.compile("[a-z]+").fullmatch,
    "path_name": re.compile(r"(weight|tensor)_\d+").fullmatch,
    "verifiers": re.compile("ATEN|TRAINING").fullmatch,
}
