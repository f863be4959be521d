"""A stranger's folder for transformers asks for no code and no other files, and its weights are safetensors in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jostle.untrusted.hugging_face import checked_hugging_face
from security.damage import refusals
from security.model_payloads import HUGGING_FACE_PAYLOADS, hugging_face, malicious_hugging_face
from soaking import only_in_soak


def test_a_plain_folder_passes_and_tells_what_it_is(tmp_path: Path) -> None:
    path = hugging_face(tmp_path, **{"own.py": b"import os", "pytorch_model.bin": b"pickle", "README.md": b"#"})
    checked = checked_hugging_face(path)
    assert (checked.architectures, checked.quantised) == (("BertModel",), None)


def test_weights_in_parts_pass_and_each_is_looked_at(tmp_path: Path) -> None:
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name in names:
        path = hugging_face(tmp_path, weights=name)
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": names[0], "b": names[1]}}))
    checked_hugging_face(path)
    (path / names[1]).write_bytes(b"damaged")
    with pytest.raises(ValueError, match=names[1]):
        checked_hugging_face(path)


def test_a_quantised_model_tells_by_which_method(tmp_path: Path) -> None:
    path = hugging_face(tmp_path, {"quantization_config": {"quant_method": "torchao"}})
    assert checked_hugging_face(path).quantised == "torchao"


@pytest.mark.slow
def test_what_transformers_saves_passes(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    configs = [
        transformers.BertConfig(**sizes, vocab_size=20),
        transformers.ViTConfig(**sizes, image_size=8, patch_size=4),
        transformers.LlamaConfig(**sizes, vocab_size=20),
        transformers.CLIPConfig(text_config={**sizes, "vocab_size": 20}, vision_config={**sizes, "image_size": 8}),
    ]
    for number, config in enumerate(configs):
        path = tmp_path / str(number)
        transformers.AutoModel.from_config(config).save_pretrained(path, max_shard_size="2KB" if number else "1GB")
        assert checked_hugging_face(path).architectures


@only_in_soak
@pytest.mark.slow
def test_the_payload_runs_where_transformers_trusts_it(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    path, home = malicious_hugging_face(tmp_path), {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    script = f"from transformers import AutoModel; AutoModel.from_pretrained({str(path)!r}, trust_remote_code=True)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env={**os.environ, **home})
    assert done.returncode and (tmp_path / "canary").exists()


@pytest.mark.parametrize("name", HUGGING_FACE_PAYLOADS)
def test_code_downloads_and_other_files_are_refused(name: str, tmp_path: Path) -> None:
    path = HUGGING_FACE_PAYLOADS[name](tmp_path)
    with pytest.raises(ValueError, match=r"asks for|cannot be|kind of numbers|adapter|names |pickled|is a link"):
        checked_hugging_face(path)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", b"[]", "no JSON object"),
        ("config.json", b"{}", "model_type is missing"),
        ("config.json", b"[" * 10**5, "nested too deeply"),
        ("config.json", b'{"a":' + b"[" * 90 + b"]" * 90 + b"}", "nested more than 50"),
        ("config.json", b"\xff", "decode"),
        ("model.safetensors", b"\xff" * 100, "model.safetensors: its header claims"),
        ("model.safetensors", b"", "is empty"),
        ("tokenizer_config.json", b"[]", "no JSON object"),
    ],
)
def test_a_damaged_file_is_named(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    path = hugging_face(tmp_path)
    (path / name).write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        checked_hugging_face(path)


def test_a_folder_without_weights_or_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"not a folder with a config\.json"):
        checked_hugging_face(tmp_path)
    with pytest.raises(ValueError, match=r"has no model\.safetensors"):
        checked_hugging_face(hugging_face(tmp_path, weights=""))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "model.safetensors.index.json"])
def test_a_damaged_folder_is_refused_or_passes(name: str, tmp_path: Path) -> None:
    path = hugging_face(tmp_path)
    if name.endswith("index.json"):
        path = hugging_face(tmp_path, weights="part.safetensors")
        (path / "model.safetensors").unlink()
        (path / name).write_text(json.dumps({"weight_map": {"w": "part.safetensors"}}))
    content = (path / name).read_bytes()
    assert 100 < refusals(path / name, content, 900, lambda one: checked_hugging_face(one.parent)) < 900
