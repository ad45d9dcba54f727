"""Calibration: which k of d variables of a simulator to change, from all of its outputs.

A posterior of the Jacobian is learned from probes of all variables at once; supports are compared
by their expected misfit without a simulation; each simulation, probe or move, updates the
posterior.
"""

from szoht.algorithms.calibration.policy import CalibrationPolicy
from szoht.algorithms.calibration.solver import Calibration

__all__ = ["Calibration", "CalibrationPolicy"]
