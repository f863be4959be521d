"""From options to a session of `jostle fuzz`, ready to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from jostle.catalogue import feedbacks_of
from jostle.composition.compose import Composition, Prepared, budget_of, compose
from jostle.composition.contradictions import refuse_contradictions
from jostle.feedback.neuron_parts import ProfileOptions
from jostle.inputs.domain_files import DOMAIN_FILE, encode_domain
from jostle.inputs.several import layout_of
from jostle.interfaces import Oracle
from jostle.options.campaign import FindingOptions, ModelOptions, RunOptions
from jostle.options.resources import BatchOptions, BudgetOptions, ScaleOptions, ThreadOptions
from jostle.options.schema import Given
from jostle.profile import Layers, Profile, layers_in
from jostle.progress import Progress, quietly
from jostle.recipes.all_recipes import recipe_of
from jostle.records import all_rows
from jostle.scale.crew import Work
from jostle.session.confirm import in_new_process
from jostle.session.finish import InputFinisher
from jostle.session.folder_trust import remember_own
from jostle.session.hiring import (
    FUZZ_COMMAND,
    hire,
    on_one_thread_each,
    refuse_missing_ray,
    refuse_unshareable,
    worker_setup,
)
from jostle.session.identity import folder_of, record_of
from jostle.session.introduce import figures, introduction, nothing_found, summary_rows
from jostle.session.isolate import any_held
from jostle.session.load import Loaded, load
from jostle.session.made_twins import keep_twins
from jostle.session.profiles import PROFILE, save_profile, saved_profile, take_profile
from jostle.session.session import Session
from jostle.session.threads import threads_before
from jostle.storage.archive import Archive, open_campaign
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.class_names import ClassNames, keep_class_names, read_class_names, unnamed_classes
from jostle.storage.files import write_whole
from jostle.storage.findings import FINDINGS, FLAKY
from jostle.storage.history import read_history
from jostle.storage.ownership import check_folder
from jostle.storage.pictures import remove_pictures
from jostle.storage.wrong_on_seeds import write_wrong
from jostle.triage.gate import GateOptions, gate_of
from jostle.triage.words import counted

REHEARSED = 32  # seeds at most, spread over all
NOT_REMEMBERED = "this campaign is not remembered as yours, and commands on its folder need --trust-folder"
FROM_SEEDS = "neurons are taken to range as they do on the seeds: give training data as --profile for better ranges"


def assemble(given: Given, progress: Progress = quietly) -> Session:
    """Loads, checks and composes everything; the output folder is touched only after all checks passed."""
    refuse_contradictions(given)
    refuse_missing_ray(given.of(ScaleOptions))
    refuse_unshareable(given)
    gate = gate_of(given.of(GateOptions))
    given = on_one_thread_each(given)
    names = read_class_names(Path(given.get("classes"))) if "classes" in given else {}
    with ExitStack() as undone:
        loaded, folder, record = _opened(given, undone)
        check_folder(folder, record)
        other_threads = [*_other_threads(threads_before(folder), loaded)]
        saved = saved_profile(folder, loaded.model)
        composition = compose(loaded.prepared, lambda: take_profile(loaded, progress) if saved is None else saved)
        watched = rehearse(loaded.prepared, composition.profile, list(composition.oracles.values()))
        hiring = hire(given.of(ScaleOptions))
        undone.callback(hiring.close)
        archive = open_campaign(folder, record)
        undone.callback(archive.release)
        _furnish(archive, loaded, composition)
        if names and keep_class_names(archive.folder, names):
            for findings in (FINDINGS, FLAKY):
                remove_pictures(archive.folder / findings)
        history = read_history(archive.folder, loaded.prepared.seeds, archive.quarantine)
        forgotten = remember_own(given)
        undone.pop_all()
    afresh = partial(in_new_process, given, loaded) if loaded.settings[FindingOptions].confirm else None
    work = Work(
        setup=worker_setup(FUZZ_COMMAND, given.over(threads=loaded.threads), loaded.digest),
        executions=budget_of(loaded.settings).executions,
        batch=loaded.settings[BatchOptions].rows,
        folder=archive.folder,
        files=(PROFILE,),
        written=archive.wait,
    )
    finisher = InputFinisher(loaded.prepared, composition.oracles, archive.folder, afresh, any_held(given))
    return Session(
        campaign=composition.campaign(archive.folder, hiring.crew(loaded.prepared.seeds, work)),
        archive=archive,
        history=history,
        budget=budget_of(loaded.settings),
        finisher=finisher,
        close=loaded.close,
        dismiss=hiring.close,
        max_disk=loaded.settings[BudgetOptions].max_disk,
        report=loaded.settings[RunOptions].report,
        gate=gate,
        introduction=(*introduction(given, composition, watched), *hiring.introduction),
        warnings=(
            *other_threads,
            *_warnings(loaded, composition, saved),
            *hiring.warnings,
            *_unnamed(given, names, loaded.flight.classes),
            *([f"{forgotten}; {NOT_REMEMBERED}"] if forgotten else []),
        ),
        summary_rows=summary_rows(given, composition.prepared, watched),
        nothing_found=partial(nothing_found, loaded.prepared),
        figures=partial(figures, composition.prepared, archive.folder),
        remarks=lambda: finisher.remarks,
    )


def _opened(given: Given, undone: ExitStack) -> tuple[Loaded, Path, CampaignRecord]:
    """Everything loaded, with its folder and its record, on as many threads as the campaign there ran on before.

    Where no folder is given, which one it is shows only when everything is loaded; on other threads that is done again.
    """
    out, left_open = given.of(RunOptions).out, given.of(ThreadOptions).number is None
    if left_open and out is not None:
        given = _on_threads_before(given, Path(out))
    loaded = load(given)
    undone.callback(loaded.close)
    folder, record = _identified(given, loaded)
    again = _on_threads_before(given, folder) if left_open else given
    if again.of(ThreadOptions).number in (None, loaded.threads):
        return loaded, folder, record
    loaded.close()
    loaded = load(again)
    undone.callback(loaded.close)
    return loaded, *_identified(again, loaded)


def _on_threads_before(given: Given, folder: Path) -> Given:
    before = threads_before(folder)
    return given if before is None else given.over(threads=before)


def _other_threads(before: int | None, loaded: Loaded) -> Iterator[str]:
    """What there is to say where the user asks for other threads than those of before."""
    if before not in (None, loaded.threads):
        yield (
            f"the campaign ran on {counted(before, 'thread')} before, and goes on with {loaded.threads} as --threads "
            f"says: sums round otherwise, so it need not come to the same end"
        )


def _identified(given: Given, loaded: Loaded) -> tuple[Path, CampaignRecord]:
    """The campaign's folder, and the record that tells it from others."""
    settings, flight = loaded.settings, loaded.flight
    record = record_of(settings, loaded.digest, reading=flight.reading, layout=layout_of(flight.seeds))
    words = [Path(settings[ModelOptions].model).name, recipe_of(given).name]
    return folder_of(settings[RunOptions].out, words, record), record


def _furnish(archive: Archive, loaded: Loaded, composition: Composition) -> None:
    """Everything that lies in the folder before the first step: twins, profile, seeds that are wrong, the domain."""
    folder, flight = archive.folder, composition.prepared.flight
    keep_twins(loaded.twins, folder)
    if loaded.service is not None:
        loaded.service.keep_batches_in(folder.absolute())  # the model may go elsewhere
    if composition.profile is not None:
        save_profile(archive, composition.profile, loaded.model)
    if flight.wrong.any():
        write_wrong(folder, flight.seeds, flight.wrong)
    if not (folder / DOMAIN_FILE).exists():
        write_whole(folder / DOMAIN_FILE, encode_domain(loaded.prepared.context().domain), synced=True)


def rehearse(prepared: Prepared, profile: Profile | None, oracles: Sequence[Oracle]) -> Layers:
    """Some seeds through all that looks at a trace, so that what refuses them does so before anything is written.

    Gives the layers that were watched.
    """
    seeds = prepared.seeds
    sample = seeds.as_candidates().select(all_rows(len(seeds))[:: -(-len(seeds) // REHEARSED)])
    trace = prepared.model.target.run(sample)
    for oracle in oracles:
        oracle.judge(sample, trace)
    for feedback in feedbacks_of(prepared.settings, prepared.context(profile)):
        feedback.assess(sample, trace)
    return layers_in(trace)


def _unnamed(given: Given, names: ClassNames, classes: int) -> Iterator[str]:
    """What there is to say of a file with names of classes."""
    if "classes" in given:
        yield from unnamed_classes(Path(given.get("classes")), names, classes)


def _warnings(loaded: Loaded, composition: Composition, saved: Profile | None) -> Iterator[str]:
    yield from loaded.model.notes
    yield from loaded.flight.warnings
    named = loaded.settings[ProfileOptions].profile
    if composition.profile is not None and saved is None and named is None:
        yield FROM_SEEDS
