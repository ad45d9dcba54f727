"""The paper's experiments: curves, figures, and a verdict on every claim."""

from szoht.experiments.claims import Claim, Judged, Verdict, judge, read_claims
from szoht.experiments.experiment import (
    Curve,
    Drawing,
    Experiment,
    Job,
    Measured,
    NotRunError,
    Results,
    Scale,
)
from szoht.experiments.registry import find, names
from szoht.experiments.reproduce import Report, reproduce, tune

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
