"""Folders of config.json and safetensors: texts and images, and what is refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch

from jostle.errors import ModelRefused
from jostle.subjects.instrument import layers_on_one
from jostle.subjects.registry import load
from jostle.subjects.subject import Watch
from jostle.subjects.tokenizer import TextEncoder
from making import batch_of
from model_files import write_text_classifier, write_vision_transformer

TOKENS = torch.randint(0, 40, (5, 12), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text_classifier(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def copied(bert: Path, tmp_path: Path) -> Path:
    """A folder of its own to break."""
    return Path(shutil.copytree(bert, tmp_path / "copied"))


def with_config(folder: Path, **changes: object) -> str:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    return str(folder)


def test_it_answers_as_transformers_does_and_shows_its_layers(bert: Path) -> None:
    from transformers import BertForSequenceClassification

    own = BertForSequenceClassification.from_pretrained(bert).eval()
    subject = load(str(bert))
    with torch.no_grad():
        expected = own(TOKENS).logits
    assert torch.allclose(subject.target().predict(TOKENS), expected, atol=1e-6)
    assert not torch.allclose(expected[0], expected[1], atol=1e-3)
    names = [layer.name for layer in layers_on_one(subject, TOKENS[:1])]
    assert "bert.encoder.layer.0.attention.self.query" in names and names[-1] == "classifier"
    trace = subject.target(Watch(["classifier"])).run(batch_of(TOKENS))
    assert torch.allclose(trace.activations["classifier"], expected, atol=1e-6)
    assert torch.equal(subject.embedding(TOKENS), own.bert.embeddings.word_embeddings.weight)  # type: ignore[arg-type]


def test_texts_reach_it_as_tokens_with_the_mask_that_it_takes(bert: Path) -> None:
    """Padding counts for nothing once the mask says that it is padding."""

    def reading(length: int) -> torch.Tensor:
        encoder = TextEncoder(lambda texts: [[ord(sign) % 40 for sign in text] for text in texts], length, 0)
        return load(str(bert)).reading(encoder).target().predict(codes)

    codes = torch.tensor([[ord(sign) for sign in "abcdef"], [ord(sign) for sign in "fedcba"]])
    assert torch.allclose(reading(8), reading(20), atol=1e-5)
    assert not torch.allclose(reading(8), reading(3), atol=1e-3)


def test_it_tells_what_it_takes(bert: Path, tmp_path: Path) -> None:
    (tokens,) = load(str(bert)).described().inputs
    assert (tokens.name, tokens.dtype, tokens.shape) == ("input_ids", "int64", (None,))
    (pixels,) = load(str(write_vision_transformer(tmp_path))).described().inputs
    assert (pixels.name, pixels.dtype, pixels.shape) == ("pixel_values", "float32", (1, 28, 28))


def test_weights_that_are_missing_are_not_drawn_anew(copied: Path) -> None:
    weights = safetensors.torch.load_file(copied / "model.safetensors")
    del weights["classifier.weight"]
    safetensors.torch.save_file(weights, copied / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelRefused, match=r"lacks weights of BertForSequenceClassification: classifier\.weight"):
        load(str(copied))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"auto_map": {"AutoModel": "modeling.Net"}}, "asks for Python code"),
        ({"architectures": ["NoSuchModel"]}, "NoSuchModel, which transformers .* does not have"),
        ({"architectures": ["Trainer"]}, "Trainer, which transformers .* does not have"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "quantised by bitsandbytes"),
        ({"vocab_size": 50}, "cannot be loaded"),
        ({"model_type": None}, "model_type is missing"),
    ],
)
def test_what_transformers_cannot_or_may_not_load_is_one_line(
    copied: Path, changes: dict[str, object], why: str
) -> None:
    with pytest.raises(ModelRefused, match=why) as refused:
        load(with_config(copied, **changes))
    assert len(str(refused.value).splitlines()) == 1


def test_pickled_weights_are_refused(copied: Path) -> None:
    (copied / "model.safetensors").rename(copied / "pytorch_model.bin")
    with pytest.raises(ModelRefused, match="its weights are pickled"):
        load(str(copied))


def test_a_missing_library_is_named_with_what_installs_it(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelRefused, match=r"pip install 'jostle\[transformers\]'"):
        load(str(bert))


def test_nothing_is_said_while_it_loads(bert: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load(str(bert))
    assert capfd.readouterr() == ("", "")
