"""Findings run again: from anywhere, many at once, on the model that they were found in or on another."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from running import Ended

from jostle.cli.terminal import Exit

Run = Callable[..., Ended]
NETS = '''
import os
from pathlib import Path

import torch
from torch import nn


def build():
    """Classes are where the largest value is."""
    with Path(__file__).with_name("loaded.txt").open("a") as file:
        file.write("once\\n")
    model = nn.Linear(3, 3)
    with torch.no_grad():
        model.weight.copy_(torch.eye(3))
        model.bias.zero_()
    return model


def always_first(x):
    return torch.tensor([1.0, 0.0, 0.0]).expand(len(x), 3)


def always_second(x):
    return torch.tensor([0.0, 1.0, 0.0]).expand(len(x), 3)


def always_third(x):
    return torch.tensor([0.0, 0.0, 1.0]).expand(len(x), 3)


def failing(x):
    if len(x) and bool((x.argmax(1) != 0).any()):
        raise ArithmeticError("not the first")
    return x


def dying(x):
    if bool((x[:, 0] > 0.9).any()):
        os.abort()
    return x * 2


def off_centre(batch):
    """The reference of an image whose dot is not in the middle."""
    return batch.reference[:, 0, 6:9, 6:9].flatten(1).sum(1) < 0.5


def dots(x):
    return x.flatten(1)[:, :10]
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models, seeds, and a campaign that found flips from the first class and from others."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "nets.py").write_text(NETS)
    inputs = torch.rand(20, 3, generator=torch.Generator().manual_seed(0))
    np.savez(folder / "seeds.npz", x=inputs.numpy(), y=inputs.argmax(1).numpy())
    images = np.zeros((4, 1, 15, 15), np.float32)
    images[:, 0, 7, 7] = 1
    np.save(folder / "dots.npy", images)
    return folder


@pytest.fixture(scope="module")
def campaign(project: Path) -> Path:
    from running import in_this_process

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        call = "fuzz nets.py:build --seeds seeds.npz --oracle flip --sigma 0.5 --radius 1 --executions 400 --out out"
        assert in_this_process(*call.split()).code == Exit.FINDINGS
    return project / "out"


def finding_of(campaign: Path, before: int, after: int) -> Path:
    """A finding whose label became another one."""
    return sorted(campaign.glob(f"findings/*-flip-*-{before}-{after}"))[0]


def test_a_finding_needs_neither_its_campaign_nor_seeds_nor_working_folder(
    jostle: Run, project: Path, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finding_of(campaign, 0, 1), tmp_path / "sent")
    monkeypatch.chdir(tmp_path)
    (project / "seeds.npz").rename(project / "seeds away.npz")
    try:
        ended = jostle("replay", "sent")
    finally:
        (project / "seeds away.npz").rename(project / "seeds.npz")
    recorded = json.loads((tmp_path / "sent" / "finding.json").read_text())["fingerprint"]
    assert ended.code == Exit.FINDINGS, ended.err
    assert ended.out.splitlines()[0].strip() == f"shown again: {recorded}"
    assert "changed" not in ended.out
    assert Path.cwd() == tmp_path


@pytest.mark.slow
def test_where_the_working_folder_is_gone_names_are_looked_for_here(
    jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = shutil.copytree(finding_of(campaign, 0, 1), tmp_path / "sent")
    record = json.loads((sent / "campaign.json").read_text())
    record["origin"]["working folder"] = str(tmp_path / "gone")
    (sent / "campaign.json").write_text(json.dumps(record))
    monkeypatch.chdir(tmp_path)
    ended = jostle("replay", "sent")
    assert ended.code == Exit.USAGE and "nets.py does not exist" in ended.err
    (tmp_path / "nets.py").write_text(NETS.replace("torch.eye(3)", "torch.eye(3) * 2"))
    asked = jostle("replay", "sent")
    assert asked.code == Exit.USAGE and "nets.py:build (no run of yours did)" in asked.err
    ended = jostle("replay", "sent", "--trust-folder")
    assert ended.code == Exit.FINDINGS and ended.out.startswith("shown again")
    assert "model or code have changed since it was found" in ended.out


@pytest.mark.parametrize("option", ["mutator", "coverage", "scheduler"])
def test_a_part_that_came_with_a_finding_is_not_run(
    option: str, jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search needs it, and a replay does not."""
    sent = shutil.copytree(finding_of(campaign, 0, 1), tmp_path / "sent")
    (sent / "evil.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').close()\nclass Part: ...\n")
    record = json.loads((sent / "campaign.json").read_text())
    spec = f"{sent / 'evil.py'}:Part"
    (sent / "campaign.json").write_text(json.dumps({**record, option: spec if option == "scheduler" else [spec]}))
    monkeypatch.chdir(tmp_path)
    ended = jostle("replay", "sent")
    assert "Traceback" not in ended.err and not (tmp_path / "canary").exists()


def test_a_record_cannot_have_its_model_run_in_our_process(
    jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = shutil.copytree(finding_of(campaign, 0, 1), tmp_path / "sent")
    record = json.loads((sent / "campaign.json").read_text())
    spec = tmp_path / "theirs.py"
    spec.write_text(f"import os\nopen({str(tmp_path / 'process')!r}, 'w').write(str(os.getpid()))\n{NETS}")
    changed = {**record, "model": f"{spec}:build", "twin": ["jostle.held:x"]}
    (sent / "campaign.json").write_text(json.dumps(changed))
    monkeypatch.chdir(tmp_path)
    ended = jostle("replay", "sent", "--trust-folder")
    assert ended.code == Exit.USAGE and "Traceback" not in ended.err
    ran_in = tmp_path / "process"
    assert not ran_in.exists() or int(ran_in.read_text()) != os.getpid()


@pytest.mark.parametrize(
    ("model", "code", "line"),
    [
        ("always_first", Exit.CLEAN, "not shown again: "),
        ("always_second", Exit.FINDINGS, "shown again: "),
        ("always_third", Exit.FINDINGS, "still wrong, in another way: flip:"),
        ("failing", Exit.FINDINGS, "still wrong, in another way: crash:ArithmeticError"),
    ],
)
def test_another_wrong_answer_is_not_mended(
    model: str,
    code: Exit,
    line: str,
    jostle: Run,
    project: Path,
    campaign: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    finding = finding_of(campaign, 0, 1)
    shutil.copy(project / "nets.py", tmp_path / "mended.py")
    ended = jostle("replay", str(finding), "--model", f"mended.py:{model}")
    assert (ended.code, ended.out.startswith(line)) == (code, True), ended


def test_a_campaign_is_compared_with_a_new_version_of_its_model(
    jostle: Run, project: Path, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new version that always says the second class mends what became another, and makes new what should be one."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(project / "nets.py", tmp_path / "mended.py")
    ended = jostle("replay", str(campaign), "mended.py:always_second", "--json")
    told = ended.json()
    assert ended.code == Exit.FINDINGS, ended.err
    for finding in told["findings"]:
        before, after = finding["recorded"].split(":")[2:]
        expected = "mended" if before == "1" else "still there" if after == "1" else "new"
        assert finding["verdict"] == expected, finding
    assert told["still_there"] and told["new"] and told["mended"]
    *_, counts, changed = jostle("replay", str(campaign), "mended.py:always_second").out.splitlines()
    assert f"{told['mended']} mended" in counts and "changed" in changed
    twice = jostle("replay", str(campaign), "mended.py:always_second", "--model", "mended.py:always_third")
    assert twice.code == Exit.USAGE and "both name a model" in twice.err


@pytest.mark.slow
def test_a_model_of_a_module_in_this_folder_is_found(
    jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mended_package").mkdir()
    (tmp_path / "mended_package" / "nets.py").write_text(NETS)
    ended = jostle("replay", str(finding_of(campaign, 0, 1)), "--model", "mended_package.nets:always_first")
    assert ended.code == Exit.CLEAN, ended.err


def test_other_weights_are_taken(jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    safetensors.torch.save_file({"weight": torch.zeros(3, 3), "bias": torch.tensor([1.0, 0, 0])}, "first.safetensors")
    one, other = finding_of(campaign, 0, 1), finding_of(campaign, 1, 0)
    assert jostle("replay", str(one), "--weights", "first.safetensors").code == Exit.CLEAN
    ended = jostle("replay", str(one), str(other), "--weights", "first.safetensors", "--json")
    told = ended.json()
    assert ended.code == Exit.FINDINGS and told["still_wrong"] == 1
    assert [finding["status"] for finding in told["findings"]] == ["not shown again", "shown again"]
    assert all(finding["changed"] for finding in told["findings"])


def test_a_campaign_stands_for_all_its_findings_and_loads_its_model_once(
    jostle: Run, project: Path, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = sorted(path.name for path in (campaign / "findings").iterdir())
    assert len(names) > 3
    for place in (campaign, campaign / "findings"):
        (project / "loaded.txt").unlink()
        ended = jostle("replay", str(place))
        *lines, last = ended.out.splitlines()
        assert ended.code == Exit.FINDINGS
        assert [line.split()[0] for line in lines] == names
        assert all("shown again: flip:" in line for line in lines)
        assert last.strip() == f"{len(names)} findings: {len(names)} still there"
        assert (project / "loaded.txt").read_text().splitlines() == ["once"]


def test_of_a_finding_that_is_not_there_the_nearest_is_named(jostle: Run, campaign: Path) -> None:
    finding = finding_of(campaign, 0, 1)
    ended = jostle("replay", str(finding.with_name(f"{finding.name}0")))
    assert ended.code == Exit.USAGE and f"did you mean {finding.name}?" in ended.err


def test_damaged_findings_of_a_campaign_are_named_and_the_others_run(
    jostle: Run, campaign: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(campaign, tmp_path / "out")
    first, second, third, *others = sorted((copy / "findings").iterdir())
    (first / "finding.json").write_text("{")
    (second / "input.npy").write_bytes(b"no")
    (third / "finding.json").unlink()
    ended = jostle("replay", str(copy), "--json")
    told = ended.json()
    assert ended.code == Exit.FINDINGS, ended.err
    assert [Path(one["folder"]).name for one in told["findings"]] == [place.name for place in others]
    assert {Path(one["folder"]).name for one in told["unreadable"]} == {first.name, second.name, third.name}
    said = jostle("replay", str(copy)).out
    assert "3 findings cannot be read and left out:" in said and f"  {second.name}: " in said
    for place in others:
        shutil.rmtree(place)
    refused = jostle("replay", str(copy))
    assert refused.code == Exit.USAGE and "nor can 2 others" in refused.err and refused.err.count("\n") == 1


def test_a_campaign_without_findings_has_nothing_wrong(
    jostle: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    call = "fuzz nets.py:build --seeds seeds.npz --oracle nan --executions 40 --out"
    assert jostle(*call.split(), str(tmp_path / "out")).code == Exit.CLEAN
    ended = jostle("replay", str(tmp_path / "out"), "--json")
    counts = dict.fromkeys(("still_there", "new", "mended", "not_run", "still_wrong"), 0)
    assert ended.code == Exit.CLEAN and ended.json() == {"findings": [], **counts, "unreadable": []}
    assert "0 findings" in jostle("replay", str(tmp_path / "out")).out


@pytest.mark.slow
def test_a_file_that_says_what_inputs_may_be_is_not_needed(
    jostle: Run, project: Path, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    domain = shutil.copy(campaign / "domain.toml", tmp_path / "domain.toml")
    call = "fuzz nets.py:build --seeds seeds.npz --oracle flip --sigma 0.5 --radius 1 --executions 400 --domain"
    assert jostle(*call.split(), str(domain), "--out", str(tmp_path / "out")).code == Exit.FINDINGS
    domain.unlink()
    finding = sorted((tmp_path / "out" / "findings").iterdir())[0]
    assert jostle("replay", str(finding)).out.startswith("shown again")


@pytest.mark.slow
def test_a_property_is_the_same_from_elsewhere_and_sees_the_reference_that_was_moved(
    jostle: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    call = "fuzz nets.py:dots --seeds dots.npy --oracle nets.py:off_centre --mutator metamorphic --recipe random"
    call += " --transforms translation --ranges paper --border edge --executions 200 --force --out"
    ended = jostle(*call.split(), str(tmp_path / "out"))
    assert ended.code == Exit.FINDINGS, ended.err
    (finding,) = (tmp_path / "out" / "findings").iterdir()
    assert np.load(finding / "placement.npy").shape == (2, 3)
    monkeypatch.chdir(tmp_path)
    ended = jostle("replay", str(finding))
    assert ended.code == Exit.FINDINGS and ended.out.startswith("shown again: property:nets.py:off_centre"), ended


@pytest.mark.slow
def test_a_seed_that_ends_the_process_is_shown_again(
    jostle: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    inputs = torch.rand(8, 3, generator=torch.Generator().manual_seed(0)) * 0.8
    inputs[5, 0] = 1
    np.save(tmp_path / "deadly.npy", inputs.numpy())
    call = f"fuzz nets.py:dying --seeds {tmp_path / 'deadly.npy'} --oracle nan --executions 8 --isolate --out"
    jostle(*call.split(), str(tmp_path / "out"))
    (finding,) = (tmp_path / "out" / "findings").iterdir()
    ended = jostle("replay", str(finding))
    assert ended.code == Exit.FINDINGS and ended.out.startswith("shown again: crash:SIGABRT"), ended


@pytest.mark.parametrize("option", ["model", "tokenizer", "metadata", "twin"])
def test_code_that_came_with_a_finding_is_not_run_unasked(
    option: str, jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sent = shutil.copytree(finding_of(campaign, 0, 1), tmp_path / "sent")
    (tmp_path / "nets.py").write_text(NETS)
    (sent / "evil.py").write_text("import pathlib\n" + NETS + "pathlib.Path(__file__).with_name('fired').touch()\n")
    record = json.loads((sent / "campaign.json").read_text())
    record["origin"]["working folder"] = str(tmp_path)
    (sent / "campaign.json").write_text(json.dumps({**record, option: "sent/evil.py:build", "files": {}}))
    ended = jostle("replay", "sent")
    assert ended.code == Exit.USAGE and "evil.py:build (it lies in the folder)" in ended.err
    assert "--trust-folder" in ended.err
    assert not (sent / "fired").exists()
    jostle("replay", "sent", "--trust-folder")
    assert (sent / "fired").exists()  # so it would have


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda folder: (folder / "label.npy").unlink(), "has no label.npy"),
        (lambda folder: (folder / "label.npy").write_bytes(b"no"), "label.npy is damaged"),
        (lambda folder: np.save(folder / "seed.npy", np.zeros(7)), "do not fit together"),
        (lambda folder: np.save(folder / "placement.npy", np.zeros(6)), "do not fit together"),
        (lambda folder: (folder / "campaign.json").write_text("[]"), "holds no campaign"),
        (lambda folder: (folder / "finding.json").unlink(), "holds no finding"),
    ],
)
def test_a_damaged_finding_is_refused_in_one_line(
    spoil: Callable[[Path], object], cause: str, jostle: Run, campaign: Path, tmp_path: Path
) -> None:
    sent = shutil.copytree(finding_of(campaign, 0, 1), tmp_path / "sent")
    spoil(sent)
    ended = jostle("replay", str(sent))
    assert ended.code == Exit.USAGE and cause in ended.err and len(ended.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--model", "gone.py:build"], "gone.py does not exist"),
        (["--model", "gone.pt2"], "gone.pt2 does not exist"),
        (["--weights", "gone.safetensors"], "it does not exist"),
        (["--model", "jostle.zoo:lenet5"], "--model fails on the seeds"),
    ],
)
def test_another_model_that_cannot_be_is_refused_in_one_line(
    options: list[str], cause: str, jostle: Run, campaign: Path
) -> None:
    ended = jostle("replay", str(finding_of(campaign, 0, 1)), *options)
    assert ended.code == Exit.USAGE and cause in ended.err and len(ended.err.splitlines()) == 1, ended
