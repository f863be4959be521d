"""A campaign's folder is data: whatever it names, no command executes it unless it is known to be the user's own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import jostle
from fuzzed_suites import NET
from jostle.catalogue import PARTS
from jostle.cli.app import COMMANDS
from jostle.cli.run_command import run_command
from jostle.commands.promoted_cases import replay_cases
from jostle.composition.settle import FUZZ, ON_FOLDER
from jostle.errors import UsageError
from jostle.options.schema import Given
from jostle.session.folder_trust import FolderTrust, code_in

QUICK = {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1), "confirm": False, "executions": 200}
CANARY = "from pathlib import Path\nPath({fired!r}).touch()\n" + NET + "\nthing = part = build\n"
MODEL, SEEDS, CRITERION = ("model", "twin", "models", "metadata", "oracle", "tokenizer"), "seeds", "coverage"
# Commands that load what a folder names: how they are called, and which options they follow.
LOADING = {
    "replay": ("replay RUN", MODEL),
    "tmin": ("tmin RUN", (*MODEL, SEEDS)),
    "cmin": ("cmin RUN", (*MODEL, SEEDS, CRITERION)),
    "evaluate": ("evaluate RUN int8", ("model", "models", "tokenizer", SEEDS)),
    "retrain": ("retrain RUN --data seeds.npy", ("model", "tokenizer")),
    "promote": ("promote FINDING cases", MODEL),
    "export-tests": ("export-tests RUN --as npz --out tests.npz --tests kept", (SEEDS,)),
}
# Commands that read a folder and load nothing.
READING = {
    "status": "status RUN",
    "report": "report RUN",
    "triage": "triage RUN",
    "export": "export RUN --junit a.xml --sarif a.sarif --markdown a.md",
    "export-tests": "export-tests RUN --as npz --out tests.npz",
    "compare": "compare RUN RUN",
    "inspect": "inspect RUN",
    "tmin": "tmin RUN/findings/none",
}
# Commands to which the user names what they load, and those that load nothing of the user's.
NO_FOLDER = {"fuzz", "init", "run", "frameworks", "coverage", "profile", "demo", "doctor", "list"}
NEVER_ENDS = {"watch"}  # status again and again
FOLLOWED = [(call, option) for call, options in LOADING.values() for option in options]


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def command(*arguments: str) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    before, argv, path = signal.getsignal(signal.SIGTERM), sys.argv, list(sys.path)
    sys.argv = ["jostle", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command()
    finally:
        signal.signal(signal.SIGTERM, before)
        sys.argv, sys.path[:] = argv, path
    return Ended(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose user ran a campaign in it."""
    project = tmp_path_factory.mktemp("project")
    (project / "net.py").write_text(NET, encoding="utf-8")
    np.save(project / "seeds.npy", np.linspace(0.3, 1, 24, dtype=np.float32).reshape(6, 4))
    with contextlib.chdir(project):
        jostle.fuzz("net.py:build", "seeds.npy", oracle="nan", out="run", quiet=True, **QUICK)
    return project


@pytest.fixture
def project(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder of that campaign, with a canary in it and one beside it; the user works where it lies."""
    shutil.copytree(ran / "run", tmp_path / "run")
    shutil.copy(ran / "seeds.npy", tmp_path)
    for place in (tmp_path / "run", tmp_path / "beside"):
        place.mkdir(exist_ok=True)
        for name in ("evil.py", "evilmodule.py"):
            (place / name).write_text(CANARY.format(fired=str(tmp_path / "fired")), encoding="utf-8")
    rewrite(tmp_path / "run", model=f"{ran}/net.py:build", seeds=f"{ran}/seeds.npy")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rewrite(folder: Path, worked_in: str | None = None, **settings: object) -> None:
    """Changes the campaign's record and all copies of it that findings and defects have."""
    for path in (*folder.rglob("config.json"), *folder.rglob("campaign.json")):
        record = json.loads(path.read_text())
        listed = {name: [value] if isinstance(record.get(name), list) else value for name, value in settings.items()}
        if worked_in is not None:
            record["origin"]["working folder"] = worked_in
        path.write_text(json.dumps({**record, **listed, "files": {}}))


def called(call: str, project: Path) -> Ended:
    finding = sorted((project / "run" / "findings").iterdir())[0]
    return command(*call.replace("RUN", "run").replace("FINDING", str(finding)).split())


SLOW_INSPECT = pytest.param("inspect", marks=pytest.mark.slow)  # a folder with config.json may be one of transformers


def test_every_command_is_known_to_follow_names_or_not() -> None:
    known = {*LOADING, *READING, *NO_FOLDER, *NEVER_ENDS}
    assert known == set(COMMANDS), "say of a new command what it loads of a folder"


SPELLINGS = {
    "inside": "{run}/evil.py:thing",
    "outside": "{project}/beside/evil.py:thing",
    "through the folder": "{run}/../beside/evil.py:thing",
    "link in the folder": "{run}/linked.py:thing",
    "link into the folder": "{project}/linked.py:thing",
    "module": "evilmodule:thing",
    "of Python itself": "os:abort",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", LOADING)
def test_no_command_executes_what_a_folder_names(name: str, spelling: str, project: Path) -> None:
    run = project / "run"
    (run / "linked.py").symlink_to(project / "beside" / "evil.py")
    (project / "linked.py").symlink_to(run / "evil.py")
    kept = {path: path.read_bytes() for path in (*run.rglob("config.json"), *run.rglob("campaign.json"))}
    call, options = LOADING[name]
    for option in options:
        rewrite(run, str(project / "beside"), **{option: SPELLINGS[spelling].format(run=run, project=project)})
        ended = called(call, project)
        assert ended.code == 4 and "Traceback" not in ended.err, (option, ended)
        assert len(ended.err.strip().splitlines()) == 1 and f"--{option}" in ended.err + "--coverage", ended.err
        assert not (project / "fired").exists(), option
        for path, content in kept.items():
            path.write_bytes(content)


@pytest.mark.parametrize("place", ["run", "run/findings", "run/findings/{finding}"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_folder_is_no_project_of_the_users_although_they_stand_in_it(
    place: str, whole: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a jostle.toml that names its code, and also where the campaign's own configuration was left out."""
    run = project / "run"
    rewrite(run, model=f"{run}/evil.py:thing")
    here = project / place.format(finding=sorted(one.name for one in (run / "findings").iterdir())[0])
    (here / "jostle.toml").write_text(f'model = "{run}/evil.py:thing"\n', encoding="utf-8")
    if not whole:
        (run / "config.json").unlink()
    monkeypatch.chdir(here)
    for spelled in (".", str(here), f"../{here.name}"):
        ended = command("replay", spelled)
        assert ended.code == 4 and "Traceback" not in ended.err, ended
        assert not (project / "fired").exists(), spelled


@pytest.mark.parametrize("name", [*(one for one in READING if one != "inspect"), SLOW_INSPECT])
def test_commands_that_read_a_folder_execute_nothing_whatever_names_what(name: str, project: Path) -> None:
    run = project / "run"
    named = {option: f"{run}/evil.py:thing" for option in FUZZ.options if FUZZ.options[option].names_file}
    rewrite(run, str(run), **{**named, "seeds": f"{run}/evil.py:thing", "trust_model": True})
    ended = called(READING[name], project)
    assert "Traceback" not in ended.err and not (project / "fired").exists(), ended.err


def test_the_line_shows_what_would_be_executed_and_how_to_allow_it(project: Path) -> None:
    rewrite(project / "run", model=f"{project}/run/evil.py:thing", metadata=f"{project}/beside/evil.py:thing")
    ended = called("replay RUN", project)
    assert f"model {project}/run/evil.py:thing (it lies in the folder)" in ended.err
    assert f"metadata {project}/beside/evil.py:thing (no run of yours did)" in ended.err
    assert "give your own --model, give your own --metadata, or --trust-folder" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("call", ["replay RUN", "cmin RUN", "evaluate RUN weights16", "tmin RUN"])
def test_what_a_command_does_not_need_is_not_executed_and_stops_nothing(call: str, project: Path) -> None:
    needed = next(options for text, options in LOADING.values() if text.split()[0] == call.split()[0])
    others = {"mutator", "scheduler", "coverage", "profile", "metadata", "oracle"} - {*needed}
    rewrite(project / "run", **dict.fromkeys(others, f"{project}/run/evil.py:thing"))
    ended = called(call, project)
    assert "would be executed" not in ended.err and not (project / "fired").exists(), ended


@pytest.mark.slow
def test_a_trusted_folder_is_followed_and_what_the_user_types_comes_first(project: Path, ran: Path) -> None:
    rewrite(project / "run", model=f"{project}/run/evil.py:build")
    assert called(f"replay RUN --model {ran}/net.py:build", project).code == 1
    assert not (project / "fired").exists()
    assert called("replay RUN --trust-folder", project).code == 1
    assert (project / "fired").exists(), "so it would have"


def test_a_script_is_held_to_the_same_rule(project: Path) -> None:
    rewrite(project / "run", model=f"{project}/run/evil.py:build")
    with pytest.raises(UsageError, match="names code that would be executed"):
        jostle.replay("run")
    assert not (project / "fired").exists()


def test_consent_for_model_files_does_not_reach_those_that_came_with_a_folder(project: Path) -> None:
    (project / "run" / "net.pt").write_bytes(b"a pickle")
    rewrite(project / "run", model=f"{project}/run/net.pt")
    ended = called("replay RUN --trust-model", project)
    assert ended.code == 4 and "net.pt (it lies in the folder)" in ended.err


@pytest.mark.parametrize("option", ["seeds", "domain", "weights"])
def test_a_link_out_of_a_folder_is_not_followed(option: str, project: Path) -> None:
    (project / "run" / "linked.npy").symlink_to(project / "seeds.npy")
    rewrite(project / "run", **{option: f"{project}/run/linked.npy"})
    ended = called("cmin RUN", project)
    assert ended.code == 4 and "is a link out of run, which is not followed" in ended.err, ended.err


def test_a_recorded_working_folder_is_entered_only_where_the_user_ran_a_campaign(project: Path, ran: Path) -> None:
    trust = FolderTrust()
    assert trust.works_in(str(ran)) and not trust.works_in(str(project / "beside"))
    assert FolderTrust(whoever_made_it=True).works_in(str(project / "beside"))


def refused(given: Given, project: Path) -> str:
    try:
        FolderTrust().check(given, [project / "run"])
    except UsageError as error:
        return str(error)
    return ""


def test_what_the_user_ran_is_not_asked_for_until_it_changes(project: Path) -> None:
    (project / "own.py").write_text(NET)
    given = FUZZ.parsed({"model": "own.py:build", "seeds": "seeds.npy"})
    assert "no run of yours did" in refused(given, project)
    jostle.fuzz("own.py:build", "seeds.npy", oracle="nan", out="mine", quiet=True, **QUICK)
    assert refused(given, project) == ""
    assert "no run of yours did" in refused(given.over(metadata="own.py:build"), project), "nor in another role"
    assert "no run of yours did" in refused(given.over(model="own.py:Net"), project), "nor another object"
    (project / "own.py").write_text(NET + "\n# mended\n")
    assert "it has changed since a run of yours" in refused(given, project)


def test_what_the_projects_own_file_names_is_the_users(project: Path) -> None:
    (project / "own.py").write_text(NET)
    given = FUZZ.parsed({"model": f"{project}/own.py:build", "seeds": "seeds.npy"})
    (project / "jostle.toml").write_text('[campaign.nightly]\nmodel = "own.py:build"\n')
    assert refused(given, project) == ""
    assert refused(given.over(model="own.py:Net"), project)
    shutil.copy(project / "jostle.toml", project / "run")
    (project / "jostle.toml").unlink()
    os.chdir(project / "run")
    (project / "run" / "jostle.toml").write_text(f'model = "{project}/own.py:build"\n')
    assert refused(given, project), "a file in the folder is the folder's"


def test_networks_that_ship_are_no_code_of_the_folder() -> None:
    given = {"model": "jostle.zoo:lenet5", "seeds": "jostle.zoo:mnist_sample"}
    assert not list(code_in(FUZZ.parsed(given)))
    assert list(code_in(FUZZ.parsed({**given, "model": "jostle.cli.main:main"})))


class Added:
    """As an entry point of an installed package."""

    module, attr = "evilmodule", "part"


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(PARTS["oracle"].__dict__, "added", {"evil": Added()})
    yield


def test_a_part_of_a_package_is_code_by_the_name_of_its_module(added: None) -> None:
    [code] = code_in(Given({"oracle": ("nan", "evil")}))
    assert (code.option, code.spec) == ("oracle", "evilmodule:part")


def test_a_promoted_case_does_not_run_what_it_brings_along(project: Path) -> None:
    finding = sorted((project / "run" / "findings").iterdir())[0]
    (project / "net.py").write_text(NET)
    assert command("promote", str(finding), "cases", "--model", "net.py:build").code == 0
    [case] = (project / "cases").iterdir()
    (case / "evil.py").write_text(CANARY.format(fired=str(project / "fired")))
    rewrite(case, model=f"cases/{case.name}/evil.py:build")
    with pytest.raises(UsageError, match=r"brings evil.py along"):
        replay_cases([case], project)
    assert not (project / "fired").exists()


def test_every_option_that_may_name_python_is_declared_so() -> None:
    """All that `jostle fuzz` would look for as FILE.py:name: the help says so, or the option chooses parts."""
    saying = {name for name, option in ON_FOLDER.options.items() if "FILE.py" in option.line}
    naming = {name for name, option in ON_FOLDER.options.items() if option.names_python}
    assert saying - {"weights"} <= naming and {*PARTS} <= naming


def test_a_project_says_whose_code_runs_and_cannot_consent_to_more(project: Path) -> None:
    (project / "own.py").write_text(f"print('loaded')\n{NET}")
    written = 'model = "own.py:build"\nseeds = "seeds.npy"\noracle = ["nan"]\nexecutions = 20\nconfirm = false\n'
    (project / "jostle.toml").write_text(written)
    ended = command("fuzz", "--out", "new")
    assert ended.code in (0, 1) and ended.err.startswith("runs code of: own.py"), ended.err
    assert "runs code of" not in command("fuzz", "own.py:build", "--out", "typed").err
    (project / "jostle.toml").write_text(f"{written}trust_model = true\n")
    ended = command("fuzz", "--out", "newer")
    assert ended.code == 4 and "trust_model = true is a consent" in ended.err and not (project / "newer").exists()
