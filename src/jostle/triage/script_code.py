"""The code that scripts of defects are made of: how each kind of model is loaded and run on a batch of arrays.

Every loader defines `load(name)`, which gives a function of a batch to {name: array}; nothing of it imports Jostle.
"""

from __future__ import annotations

HEAD = '''"""Shows one defect that Jostle found: fails while it is there, and passes once it is mended.

Run it with python or with pytest. It needs the model and the arrays beside it; copied with them into tests/, it is a
regression test.
"""
'''

WHERE = '''

def folder_with(name):
    """JOSTLE_MODEL_FOLDER if that is set; else where the campaign ran, or the nearest folder from here up with it."""
    if os.environ.get("JOSTLE_MODEL_FOLDER"):
        return Path(os.environ["JOSTLE_MODEL_FOLDER"]).resolve()
    place = name.rpartition(":")[0] or name
    module = place.replace(".", "/")
    files = [place] if place == name or place.endswith(".py") else [module, f"{module}.py"]
    folders = [Path(RAN_IN), HERE, *HERE.parents]
    return next((one for one in folders if any((one / file).exists() for file in files)), folders[0])


WORKED_IN = folder_with(MODEL)
'''

TRUST = """
# What can execute code when it is loaded is loaded only if whoever runs this says so.
TRUSTED = "--trust-model" in sys.argv[1:] or os.environ.get("JOSTLE_TRUST_MODEL", "") not in ("", "0")
"""

COMMON = '''

def leaves(value, name=""):
    """Every array in what a model returned, by the way to it."""
    if isinstance(value, np.ndarray):
        return {name: value}
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        return {name: (value.float() if value.is_floating_point() else value).numpy()}
    if hasattr(value, "items"):
        parts = value.items()
    elif hasattr(value, "__dataclass_fields__"):
        parts = vars(value).items()
    elif isinstance(value, (tuple, list)):
        parts = zip(getattr(value, "_fields", range(len(value))), value)
    else:
        return {name: np.asarray(value)} if hasattr(value, "__array__") else {}
    return {way: array for key, part in parts for way, array in leaves(part, f"{name}.{key}".strip(".")).items()}


def answer(outputs):
    """The output that carries the answer."""
    return outputs[OUTPUT] if OUTPUT in outputs else outputs.get("logits", next(iter(outputs.values())))


def prepared(inputs):
    """A batch as the model takes it."""
    if MEAN:
        shape = (1, -1) + (1,) * (inputs.ndim - 2)
        inputs = (inputs - np.reshape(MEAN, shape).astype(inputs.dtype)) / np.reshape(STD, shape).astype(inputs.dtype)
    return np.ascontiguousarray(np.moveaxis(inputs, 1, -1)) if CHANNELS_LAST else inputs


def filled(inputs, rows):
    """As many rows as a model takes that takes no other number of them."""
    return inputs if not isinstance(rows, int) or rows <= 1 else np.repeat(inputs, rows, 0)


def as_type(inputs, dtype):
    """Values in the type that a model takes."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and inputs.dtype.kind == "f":
        inputs = np.clip(np.round(inputs), np.iinfo(dtype).min, np.iinfo(dtype).max)
    return inputs.astype(dtype)
'''

NAMED = '''

def named(name):
    """The object of FILE.py:name or package.module:name, as Python finds it where the campaign ran."""
    place, _, attribute = name.rpartition(":")
    if place.endswith(".py"):
        file = WORKED_IN / place
        sys.path.insert(0, str(file.parent))
        spec = importlib.util.spec_from_file_location(f"under_test_{file.stem}", file)
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        sys.path.append(str(WORKED_IN))
        module = importlib.import_module(place)
    return getattr(module, attribute)


def made(found):
    """What a function without required parameters returns, else the object itself."""
    if isinstance(found, torch.nn.Module) or hasattr(found, "get_config") or not callable(found):
        return found
    try:
        parameters = inspect.signature(found).parameters.values()
    except ValueError:
        return found
    required = [one for one in parameters if one.default is one.empty and one.kind in (0, 1)]
    return found if required else found()
'''

OF_TORCH = '''

def runs_torch(model):
    """A function of a batch that runs a module or a function."""
    module = isinstance(model, torch.nn.Module)
    if module and hasattr(model, "eval"):
        try:
            model.eval()
        except NotImplementedError:  # of an exported program, which is in this mode already
            pass
    weights = next((one for one in (model.parameters() if module else ()) if one.is_floating_point()), torch.empty(0))

    def run(inputs):
        batch = torch.from_numpy(inputs)
        batch = batch.clone() if batch.dtype == torch.int64 else batch.to(weights.device, weights.dtype, copy=True)
        if MEAN:
            shape = (1, -1) + (1,) * (batch.ndim - 2)
            batch = (batch - batch.new_tensor(MEAN).view(shape)) / batch.new_tensor(STD).view(shape)
        batch = batch.movedim(1, -1).contiguous() if CHANNELS_LAST else batch
        with torch.no_grad():
            return leaves(model(batch.numpy() if not module and takes_numpy(model) else batch))

    run.model = model
    return run


def takes_numpy(function):
    """Whether the first parameter of a function is annotated as an array."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except ValueError:
        return False
    return first is not None and "ndarray" in str(first.annotation)
'''

PYTHON = '''

def load(name):
    """The model that Python code makes."""
    model = made(named(name))
    if hasattr(model, "get_config") and not isinstance(model, torch.nn.Module):  # of Keras
        return lambda inputs: leaves(model(prepared(inputs), training=False))
    return runs_torch(model)
'''

EXPORTED = '''

def load(name):
    """The program in a .pt2 file."""
    return runs_torch(torch.export.load(WORKED_IN / name).module())
'''

PICKLED = '''

def load(name):
    """The module in a file: TorchScript, or a pickle, which executes what it says."""
    if not TRUSTED:
        raise SystemExit(f"{name} can execute code: give --trust-model or set JOSTLE_TRUST_MODEL=1 if you trust it")
    sys.path.append(str(WORKED_IN))  # where the classes that it names are
    try:
        with zipfile.ZipFile(WORKED_IN / name) as archive:
            scripted = any(Path(one).name == "constants.pkl" for one in archive.namelist())
    except zipfile.BadZipFile:  # a pickle as torch wrote it before 1.6
        scripted = False
    if scripted:
        return runs_torch(torch.jit.load(WORKED_IN / name, map_location="cpu"))
    return runs_torch(torch.load(WORKED_IN / name, map_location="cpu", weights_only=False))
'''

ONNX = '''

TYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}


def load(name):
    """An ONNX file, run by ONNX Runtime."""
    session = onnxruntime.InferenceSession(str(WORKED_IN / name), providers=["CPUExecutionProvider"])
    slot = session.get_inputs()[0]
    dtype = TYPES.get(slot.type) or slot.type.removeprefix("tensor(").removesuffix(")")

    def run(inputs):
        batch = filled(as_type(prepared(inputs), dtype), slot.shape[0])
        names = [one.name for one in session.get_outputs()]
        return dict(zip(names, session.run(names, {slot.name: batch})))

    return run
'''

OPENVINO = '''

def load(name):
    """A model file, run by OpenVINO."""
    compiled = openvino.Core().compile_model(str(WORKED_IN / name), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    slot = compiled.inputs[0]

    def run(inputs):
        rows = slot.partial_shape[0]
        batch = as_type(prepared(inputs), slot.element_type.to_dtype())
        batch = filled(batch, rows.get_length() if rows.is_static else 1)
        given = compiled([batch])
        return {min(one.names, default=str(number)): given[one] for number, one in enumerate(compiled.outputs)}

    return run
'''

LITERT = '''

def load(name):
    """A LiteRT file."""
    interpreter = Interpreter(model_path=str(WORKED_IN / name))

    def run(inputs):
        slot = interpreter.get_input_details()[0]
        batch = as_type(prepared(inputs), slot["dtype"])
        interpreter.resize_tensor_input(slot["index"], batch.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(slot["index"], batch)
        interpreter.invoke()
        return {one["name"]: interpreter.get_tensor(one["index"]) for one in interpreter.get_output_details()}

    return run
'''

KERAS = '''

def load(name):
    """A Keras file."""
    model = keras.saving.load_model(WORKED_IN / name, compile=False, safe_mode=not TRUSTED)

    def run(inputs):
        returned = model(prepared(inputs), training=False)
        flat = returned.values() if hasattr(returned, "values") else keras.tree.flatten(returned)
        names = getattr(model, "output_names", range(len(flat)))
        return {str(name): keras.ops.convert_to_numpy(value) for name, value in zip(names, flat)}

    return run
'''

LABEL = '''

def said(run, inputs):
    """The class that a model says of one input, and all its scores."""
    scores = np.asarray(answer(run(inputs)))[0].reshape(-1)
    return int(scores.argmax()) if CUT is None else int(scores[0] > CUT), scores
'''

FLIP = """

def test_the_label_is_kept():
    label, scores = said(load(MODEL), np.load(HERE / ARRAY)[None])
    print("the model says", label, "where", LABEL, "is right; scores", scores)
    assert label == LABEL, f"{WHAT}: the model says {label} instead of {LABEL}"
"""

NOT_FINITE = """

def test_everything_is_finite():
    outputs = load(MODEL)(np.load(HERE / ARRAY)[None])
    named = {f"output {name}".strip(): values for name, values in outputs.items()}  # the only one may have no name
    for name, values in named.items():
        print(name, "holds", values.reshape(-1)[:8])
    wrong = [name for name, values in named.items() if values.dtype.kind == "f" and not np.isfinite(values).all()]
    assert not wrong, f"{WHAT}: NaN or infinity in {wrong[0]}"
"""

LAYER_NOT_FINITE = """

def test_everything_is_finite():
    run, wrong = load(MODEL), []

    def look(name, output):
        for values in leaves(output).values():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                wrong.append(name)

    model = getattr(run, "model", None)
    layers = dict(model.named_modules()) if hasattr(model, "named_modules") else {}
    assert LAYER in layers, f"the model has no layer {LAYER} to look into: use jostle replay"
    layers[LAYER].register_forward_hook(lambda layer, inputs, output: look(LAYER, output))
    look("output", list(run(np.load(HERE / ARRAY)[None]).values()))
    print("not finite:", wrong or "nothing")
    assert not wrong, f"{WHAT}: NaN or infinity in {wrong[0]}"
"""

CRASH = """

def test_the_model_does_not_fail():
    run, inputs = load(MODEL), np.load(HERE / ARRAY)[None]
    faulthandler.dump_traceback_later(PATIENCE, exit=True)  # a model that never ends fails too
    try:
        outputs = run(inputs)
    finally:
        faulthandler.cancel_dump_traceback_later()
    print("the model gives", {name: values.shape for name, values in outputs.items()})
"""

TWINS = """

def test_model_and_twin_agree():
    inputs = np.load(HERE / ARRAY)[None]
    (ours, scores), (theirs, others) = said(load(MODEL), inputs), said(load(TWIN), inputs)
    print("the model says", ours, scores)
    print("the twin says", theirs, others)
    assert ours == theirs, f"{WHAT}: the model says {ours}, the twin {theirs}"
"""

BY_REPLAY = """

def test_the_finding_shows_no_more():
    from jostle.commands.replay import replay
    from jostle.composition.settle import ON_FOLDER

    # Whoever runs this script runs the Python that campaign.json names, as it is now.
    (result,) = replay([HERE], ON_FOLDER.parsed({"trust_model": TRUSTED, "trust_folder": True}))
    print(result.status, *(violation.summary for violation in result.shown))
    assert result.ran, f"{WHAT}: {result.status}"
    assert not result.still_wrong, f"{WHAT}: {result.status}"
"""

END = """

if __name__ == "__main__":
    {test}()
    print("the defect is not there")
"""
