"""What must be true of a stranger's OpenVINO model before OpenVINO opens it.

An `.xml` tells the layers, and a `.bin` beside it holds the numbers of constants. No part of the XML may stand for
something outside of it, every constant lies inside the `.bin`, and every layer is OpenVINO's own, which no library has
to bring along.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from jostle.untrusted.files import named_file, read_bounded

XML_LIMIT = 256 * 2**20  # bytes
DEPTH_LIMIT = 100
ELEMENT_LIMIT = 5_000_000
OPSET = re.compile(r"opset\d{1,3}", re.ASCII)
NUMBER = re.compile(r"\d{1,18}", re.ASCII)
OTHER_FILES = re.compile(r"(__)?weights_path|cache_dir", re.IGNORECASE)  # where OpenVINO notes which files it read


def checked_openvino(path: Path) -> Path | None:
    """The `.bin` of an `.xml`, None if it needs none; ValueError says why OpenVINO may not open them."""
    found = _Found()
    _parse(read_bounded(path, XML_LIMIT), found)
    if not found.layers:
        raise ValueError("it is not an OpenVINO model: it has no layers; export it again")
    return _weights(path, found)


def _weights(path: Path, found: _Found) -> Path | None:
    """Beside the model, under its name, as OpenVINO looks for it."""
    if not found.ends:
        return None
    name = path.with_suffix(".bin").name
    if not path.with_name(name).exists() and not path.with_name(name).is_symlink():
        raise ValueError(f"its weights {name!r} are missing: put them beside the model")
    weights = named_file(path.parent, name)
    end, layer = max((end, layer) for layer, end in found.ends.items())
    if end > weights.stat().st_size:
        size = weights.stat().st_size
        raise ValueError(f"its constant {layer[:100]!r} ends at byte {end} of {name!r}, which has {size}")
    return weights


@dataclass
class _Found:
    """What was seen of the XML so far."""

    layers: int = 0
    ends: dict[str, int] = field(default_factory=dict)  # where in the .bin a layer's numbers end, by its name
    names: list[str] = field(default_factory=list)  # of the elements around, with the layer's name for a layer
    count: int = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > ELEMENT_LIMIT or len(self.names) > DEPTH_LIMIT:
            raise ValueError(f"its XML has more than {ELEMENT_LIMIT} elements, or is nested over {DEPTH_LIMIT} deep")
        if not self.names and tag != "net":
            raise ValueError(f"it is not an OpenVINO model but XML of {tag[:100]!r}; export it again")
        if any(OTHER_FILES.fullmatch(name) for name in (tag, *attributes, attributes.get("name", ""))):
            raise ValueError("it names other files that it was made of")
        if tag == "layer":
            self.layers += 1
            _check_layer(attributes)
        if "offset" in attributes and "size" in attributes:
            self._note_end(attributes)
        self.names.append(attributes.get("name", tag))

    def _note_end(self, attributes: dict[str, str]) -> None:
        layer, offset, size = self.names[-1] if self.names else "", attributes["offset"], attributes["size"]
        if not (NUMBER.fullmatch(offset) and NUMBER.fullmatch(size)):
            raise ValueError(f"its constant {layer[:100]!r} lies at {offset[:100]!r} and has {size[:100]!r} bytes")
        if int(size):
            self.ends[layer] = max(self.ends.get(layer, 0), int(offset) + int(size))


def _check_layer(attributes: dict[str, str]) -> None:
    kind, opset = attributes.get("type", ""), attributes.get("version", "")
    if not OPSET.fullmatch(opset):
        named = f"its layer {attributes.get('name', '')[:100]!r} is a {kind[:100]!r}"
        raise ValueError(f"{named} of {opset[:100]!r}, which is not OpenVINO's own and needs a library")


def _parse(content: bytes, found: _Found) -> None:
    if b"\0" in content[:64]:  # OpenVINO would take it for UTF-16 or UTF-32
        raise ValueError("it is not XML in UTF-8; export it again")
    parser = expat.ParserCreate()
    parser.StartElementHandler = found.start
    parser.EndElementHandler = lambda tag: found.names.pop()
    parser.XmlDeclHandler = _check_encoding
    parser.StartDoctypeDeclHandler = _refuse_declarations
    parser.EntityDeclHandler = _refuse_declarations
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is not XML, or is damaged: {error}; export it again") from error


def _check_encoding(version: str, encoding: str | None, standalone: int) -> None:
    if (encoding or "utf-8").lower() not in ("utf-8", "us-ascii"):
        raise ValueError("it is not XML in UTF-8; export it again")


def _refuse_declarations(*declared: object) -> None:
    raise ValueError("its XML declares a document type or entities, which no OpenVINO model needs")
