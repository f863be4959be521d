"""The criteria that `jostle coverage` measures, by the name a user types."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.feedback.covariance import NLC
from jostle.feedback.neuron_parts import NEURON_CRITERIA
from jostle.feedback.sign_pairs import SSCOV
from jostle.feedback.surprise import DSA, LSA
from jostle.interfaces import Feedback
from jostle.part import Part

MEASURED: Mapping[str, Part[Feedback]] = {**NEURON_CRITERIA, "lsa": LSA, "dsa": DSA, "nlc": NLC, "sscov": SSCOV}
PROFILED = [name for name, criterion in MEASURED.items() if criterion.ranges]  # those that need known data
