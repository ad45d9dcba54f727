"""The paper's experiments: curves, figures, and a check of every claim."""

from szoht.paper.claims import Claim, ClaimResult, Verdict, evaluate_claim, read_claims
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import (
    Curve,
    Experiment,
    Job,
    Measurement,
    Plot,
    Results,
    Scale,
)
from szoht.paper.registry import experiment_names, get_experiment
from szoht.paper.reproduce import Reproduction, reproduce, tune

__all__ = [
    "Claim",
    "ClaimResult",
    "Curve",
    "Experiment",
    "Job",
    "Measurement",
    "NotRunError",
    "Plot",
    "Reproduction",
    "Results",
    "Scale",
    "Verdict",
    "evaluate_claim",
    "experiment_names",
    "get_experiment",
    "read_claims",
    "reproduce",
    "tune",
]
