"""Pickles that run code when they are loaded without restriction, and the files that carry them.

Each makes a file, the canary, which a test can see it do by loading it without restriction.
"""

from __future__ import annotations

import io
import marshal
import struct
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Named:
    """Whatever has this name, imported."""

    name: str


@dataclass(frozen=True)
class Call:
    """What a function gives; it is called when this is unpickled."""

    function: object
    arguments: tuple[object, ...]


def call(function: object, *arguments: object) -> Call:
    return Call(Named(function) if isinstance(function, str) else function, arguments)


def operations(value: object) -> bytes:
    """What puts the value on the stack of the unpickler."""
    match value:
        case Named(name):
            module, _, last = name.rpartition(".")
            return f"c{module}\n{last}\n".encode()
        case Call(function, arguments):
            return operations(function) + b"(" + b"".join(map(operations, arguments)) + b"tR"
        case bytes():
            return b"B" + struct.pack("<I", len(value)) + value
        case list():
            return b"](" + b"".join(map(operations, value)) + b"e"
        case dict():
            return b"}(" + b"".join(operations(one) for item in value.items() for one in item) + b"u"
        case None:
            return b"N"
        case bool():
            return b"\x88" if value else b"\x89"
        case int():
            return b"J" + struct.pack("<i", value)
    text = str(value).encode()
    return b"X" + struct.pack("<I", len(text)) + text


def pickled(value: object) -> bytes:
    return b"\x80\x03" + operations(value) + b"."


def payloads(folder: Path) -> dict[str, bytes]:
    """All make the file `canary` in the folder, which holds what some of them run."""
    canary = folder / "canary"
    code, shell = f"open({str(canary)!r}, 'w').close()", f"touch '{canary}'"
    for name, content in (("planted.py", code), ("hubconf.py", f"{code}\ndef net(): pass")):
        (folder / name).write_text(content + "\n")
    (folder / "nested").write_bytes(pickled(call("builtins.exec", code)))
    running, nested = call("builtins.exec", code), (folder / "nested").read_bytes()
    called = {
        "os.system": call("os.system", shell),
        "posix.system": call("posix.system", shell),
        "eval": call("builtins.eval", code),
        "exec": running,
        "exec by its own method": call(call("builtins.getattr", Named("builtins.exec"), "__call__"), code),
        "chain of getattr": call(call("builtins.getattr", call("builtins.__import__", "os"), "system"), shell),
        "popen": call("os.popen", shell),
        "another process": call("subprocess.Popen", ["touch", str(canary)]),
        "output of a command": call("subprocess.getoutput", shell),
        "script": call("runpy.run_path", str(folder / "planted.py")),
        "partial": call(call("functools.partial", Named("builtins.exec"), code)),
        "methodcaller": call(call("operator.methodcaller", "system", shell), call("builtins.__import__", "os")),
        "map": call("builtins.list", call("builtins.map", Named("builtins.exec"), [code])),
        "timeit": call("timeit.timeit", code, "pass", Named("time.perf_counter"), 1),
        "pager": call("pydoc.pipepager", "text", f"cat >/dev/null; {shell}"),
        "compiled code": call("builtins.exec", call("marshal.loads", marshal.dumps(compile(code, "x", "exec")))),
        "nested pickle": call("pickle.loads", nested),
        "nested pickle of C": call("_pickle.loads", nested),
        "bytes of a storage": call("torch.storage._load_from_bytes", nested),
        "array file": call("numpy.load", str(folder / "nested"), None, True),
        "hub": call("torch.hub._load_local", str(folder), "net"),
        "source of a graph": call("torch.fx.graph_module._exec_with_source", code, {"x": 1}),
        "reconstructed object": call("copyreg._reconstructor", Named("builtins.object"), running, None),
        "array of numpy": call("numpy.core.multiarray._reconstruct", Named("numpy.ndarray"), running, "b"),
        "rebuilt tensor": call("torch._utils._rebuild_tensor_v2", running),
        "rebuilt by type": call(
            "torch._tensor._rebuild_from_type_v2", Named("builtins.exec"), None, call("builtins.tuple", [code]), None
        ),
        "value of a dict": {"weight": running},
        "key of a dict": {running: 1},
        "one of many": [1, 2, {"state_dict": {"0.weight": running}}],
    }
    return {
        **{name: pickled(value) for name, value in called.items()},
        "name of Python 2": f"c__builtin__\neval\n(V{code}\ntR.".encode(),
        "oldest protocol": f"cos\nsystem\n(V{shell}\ntR.".encode(),
        "instance": f"(V{shell}\nios\nsystem\n.".encode(),
        "object": b"(" + operations(Named("os.system")) + operations(shell) + b"o.",
        "name from the stack": b"\x80\x04\x8c\x02os\x8c\x06system\x93(" + operations(shell) + b"tR.",
        "state of a dict": b"\x80\x03ccollections\nOrderedDict\n)R}" + operations("a") + operations(running) + b"sb.",
        "thrown away": b"\x80\x03" + operations(running) + b"0}.",
        "second pickle": b"\x80\x03" + operations({"a": running}) + b".\x80\x02}.",
    }


def _zipped(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def _archive(payload: bytes) -> bytes:
    return _zipped({"archive/data.pkl": payload, "archive/version": b"3\n", "archive/byteorder": b"little"})


def _in_another_member(payload: bytes) -> bytes:
    """An innocent data.pkl, and the payload where TorchScript keeps its constants."""
    return _zipped({"archive/data.pkl": b"\x80\x02}.", "archive/constants.pkl": payload, "archive/version": b"3\n"})


def _twice(payload: bytes) -> bytes:
    """Readers differ in which of two members of one name they take."""
    content = io.BytesIO(_archive(b"\x80\x02}."))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr("other/data.pkl", payload)
    return content.getvalue()


def _of_old(payload: bytes) -> bytes:
    """As torch.save wrote before 1.6: a magic number, a protocol, the system, then the object."""
    magic = b"\x80\x02\x8a\x0a" + (0x1950A86A20F9469CFC6C).to_bytes(10, "little") + b"."
    return magic + b"\x80\x02M\xe9\x03." + b"\x80\x02}." + payload


def _tar(payload: bytes) -> bytes:
    """As torch.save wrote before 0.2."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in ("storages", "tensors", "pickle", "sys_info"):
            info = tarfile.TarInfo(name)
            info.size = len(payload)
            archive.addfile(info, io.BytesIO(payload))
    return content.getvalue()


CARRIERS: dict[str, Callable[[bytes], bytes]] = {
    "bare": lambda payload: payload,
    "archive": _archive,
    "of old": _of_old,
    "tar": _tar,
    "another member": _in_another_member,
    "two roots": _twice,
}
FIRING = ("bare", "archive", "of old", "tar")  # when torch.load is asked to trust them
