"""JUnit XML, as Jenkins and GitLab read it: for each defect a test that fails, else one that passes."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from jostle.export.exported import ExportedCampaign, ExportedDefect

CLEAN = "no defects"


def junit(campaign: ExportedCampaign) -> bytes:
    """Names of tests are the same in every run; a defect that only some runs show fails too, and says so."""
    failures = str(len(campaign.defects))
    tests = str(max(len(campaign.defects), 1))
    root = Element("testsuites", name="jostle", tests=tests, failures=failures, errors="0")
    name = f"jostle {campaign.model}"
    suite = SubElement(root, "testsuite", name=name, tests=tests, failures=failures, errors="0", skipped="0")
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", name="jostle", value=campaign.version)
    SubElement(properties, "property", name="campaign", value=campaign.folder.shown)
    for defect in campaign.defects:
        _add(suite, campaign, defect)
    if not campaign.defects:
        SubElement(suite, "testcase", name=CLEAN, classname=_class_of(campaign))
    SubElement(suite, "system-out").text = "\n".join((*campaign.sentences, *campaign.notes))
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _add(suite: Element, campaign: ExportedCampaign, defect: ExportedDefect) -> None:
    test = SubElement(suite, "testcase", name=defect.identity, classname=_class_of(campaign))
    message = f"{defect.title} (in {defect.unstable})" if defect.unstable else defect.title
    failure = SubElement(test, "failure", message=message, type=defect.kind)
    failure.text = "\n".join((*defect.explanation, f"To see it again: {defect.replay}"))


def _class_of(campaign: ExportedCampaign) -> str:
    return f"jostle.{campaign.model}"
