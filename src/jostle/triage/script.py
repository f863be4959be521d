"""A script for one finding, which fails while its defect is there; made without loading the model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.held import was_held
from jostle.named_objects import names_object
from jostle.storage.campaign_record import CampaignRecord, held_names
from jostle.storage.finding_record import FindingRecord
from jostle.triage import script_code as code
from jostle.triage.causes import label_pair

PATIENCE = 300.0  # seconds for a model that may never end, where the campaign set no limit
IN_LIMITS = ("MemoryLimit",)  # errors that only a process with limits shows
OF_LABELS = ("classes", "binary")  # tasks whose answer is one label
A_LAYER = re.compile(r"\w+(\.\w+)*", re.ASCII)  # as named_modules names them
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Loader:
    """How the models of one kind are loaded and run."""

    imports: tuple[str, ...]
    code: str
    torch: bool = False  # layers can be looked into


PYTHON = Loader(
    ("import importlib", "import importlib.util", "import inspect", "import torch"),
    code.NAMED + code.OF_TORCH + code.PYTHON,
    torch=True,
)
BY_SUFFIX: Mapping[str, Loader] = {
    ".pt2": Loader(("import inspect", "import torch"), code.OF_TORCH + code.EXPORTED),
    ".pt": Loader(("import inspect", "import zipfile", "import torch"), code.OF_TORCH + code.PICKLED),
    ".onnx": Loader(("import onnxruntime",), code.ONNX),
    ".xml": Loader(("import openvino",), code.OPENVINO),
    ".tflite": Loader(("from ai_edge_litert.interpreter import Interpreter",), code.LITERT),
    ".keras": Loader(("import keras",), code.KERAS),
}
SAME = {".pth": ".pt", ".torchscript": ".pt", ".h5": ".keras"}
STANDARD = ("importlib", "inspect", "zipfile", "faulthandler", "sys", "os")
# Options that change how a model is built or called in ways that only Jostle knows.
ONLY_OURS = ("weights", "tokenizer", "shape", "input", "metadata")


@dataclass(frozen=True)
class Script:
    """The settings of a campaign as its scripts need them."""

    record: FindingRecord
    campaign: CampaignRecord
    title: str
    array: str  # the file with the input

    @property
    def text(self) -> str | None:
        """The whole script; None of a finding that no run of the model alone shows, or that needs an object."""
        if self.record.of_gradient or any(map(was_held, self._models)):
            return None
        own = self._own()
        if own is None and any(held_names(self.campaign.all_settings)):
            return None
        body, constants, loader = own if own is not None else self._by_replay()
        found = TEST.search(body)
        assert found is not None, "every body defines a test"
        parts = [code.HEAD, self._imports(loader, body), self._constants(constants)]
        parts += [code.WHERE, code.COMMON, loader.code] if loader is not None else []
        return "".join([*parts, body, code.END.replace("{test}", found[1])])

    @property
    def _models(self) -> list[str]:
        return [str(self._setting("model")), *self._twins]

    def _own(self) -> tuple[str, dict[str, Any], Loader] | None:
        """What shows the defect without Jostle; None where only Jostle can."""
        loader = self._loader(self._setting("model"))
        if loader is None or self.campaign.origin.layout is not None or any(map(self._setting, ONLY_OURS)):
            return None
        shown = self._shown(loader)
        if shown is None:
            return None
        body, constants = shown
        constants = {"MODEL": self._setting("model"), **constants, **self._calling()}
        return body, constants, loader

    def _shown(self, loader: Loader) -> tuple[str, dict[str, Any]] | None:
        record, family = self.record, self.record.kind.partition(" ")[0]
        pair, task = label_pair(record), self.campaign.origin.task
        cut = self.campaign.origin.cut if task == "binary" else None
        if family == "flip" and pair is not None and task in OF_LABELS:
            return code.LABEL + code.FLIP, {"LABEL": pair[0], "CUT": cut}
        if family == "agree" and pair is not None and task in OF_LABELS:
            twin = self._twin()
            same = twin is not None and self._loader(twin) is loader
            return (code.LABEL + code.TWINS, {"TWIN": twin, "CUT": cut}) if same else None
        if family == "nan":
            return self._not_finite(loader, str(record.details.get("place", "")))
        if family == "crash" and " of the twin " not in record.fingerprint:
            alone = record.details.get("error") not in IN_LIMITS
            return (code.CRASH, {"PATIENCE": self._patience}) if alone else None
        return None

    def _not_finite(self, loader: Loader, place: str) -> tuple[str, dict[str, Any]] | None:
        if place.startswith("output") and " of the " not in place:
            return code.NOT_FINITE, {}
        return (code.LAYER_NOT_FINITE, {"LAYER": place}) if loader.torch and A_LAYER.fullmatch(place) else None

    @property
    def _patience(self) -> float:
        """Seconds after which a model counts as one that never ends: as many as in the campaign."""
        limit = self._setting("timeout")
        return float(limit) if isinstance(limit, int | float) else PATIENCE

    def _by_replay(self) -> tuple[str, dict[str, Any], None]:
        return code.BY_REPLAY, {}, None

    def _loader(self, spec: Any) -> Loader | None:
        if not isinstance(spec, str):
            return None
        if names_object(spec):
            return PYTHON
        suffix = Path(spec).suffix
        if self._setting("engine") == "openvino":
            suffix = ".xml"
        return BY_SUFFIX.get(SAME.get(suffix, suffix))

    def _twin(self) -> str | None:
        """The twin that disagrees, where it is a model of its own and not made of the model by Jostle."""
        names = self._twins
        beside = self.record.kind.partition(" ")[2]
        return names[0] if len(names) == 1 else beside if beside in names else None

    @property
    def _twins(self) -> list[str]:
        twins = self._setting("twin") or ()
        return [twins] if isinstance(twins, str) else list(twins)

    def _calling(self) -> dict[str, Any]:
        """How the model is called."""
        return {
            "MEAN": list(self._setting("mean") or ()),
            "STD": list(self._setting("std") or ()),
            "CHANNELS_LAST": self._setting("layout") == "nhwc",
            "OUTPUT": self._setting("output"),
        }

    def _imports(self, loader: Loader | None, body: str) -> str:
        engine = self._setting("engine")
        before = [f"import os\n\nos.environ['KERAS_BACKEND'] = {engine!a}\n"] if engine in KERAS_ENGINES else []
        wanted = [*([] if before else ["import os"]), "import sys", *(loader.imports if loader else ())]
        wanted += ["import faulthandler"] if "faulthandler" in body else []
        standard = sorted(one for one in wanted if one.split()[1].split(".")[0] in STANDARD)
        others = sorted({"import numpy as np", *wanted} - set(standard), key=lambda one: one.split()[1])
        return "\n".join(["", *before, *standard, "from pathlib import Path", "", *others, ""])

    def _constants(self, constants: Mapping[str, Any]) -> str:
        known = {"WHAT": self.title, "ARRAY": self.array, **constants}
        lines = [f"{name} = {value!a}\n" for name, value in known.items()]  # so that nothing of it is code
        ran = f"RAN_IN = {self.campaign.origin.folder!a}  # the folder that names of files were relative to\n"
        return "".join(["\nHERE = Path(__file__).resolve().parent\n", ran, *lines, code.TRUST])

    def _setting(self, name: str) -> Any:
        return self.campaign.all_settings.get(name)


KERAS_ENGINES = ("tensorflow", "jax", "torch")
