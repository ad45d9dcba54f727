"""The paper's experiments: curves, figures, and a verdict on every claim."""

from szoht.paper.claims import Claim, Judged, Verdict, judge, read_claims
from szoht.paper.experiment import (
    Curve,
    Drawing,
    Experiment,
    Job,
    Measured,
    NotRunError,
    Results,
    Scale,
)
from szoht.paper.registry import find, names
from szoht.paper.reproduce import Report, reproduce, tune

__all__ = [
    "Claim",
    "Curve",
    "Drawing",
    "Experiment",
    "Job",
    "Judged",
    "Measured",
    "NotRunError",
    "Report",
    "Results",
    "Scale",
    "Verdict",
    "find",
    "judge",
    "names",
    "read_claims",
    "reproduce",
    "tune",
]
