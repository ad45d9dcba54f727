"""Records of numbers show what was changed."""

from szoht.algorithms.auto.policy import NoisePolicy, Policy
from szoht.algorithms.calibration import CalibrationPolicy


def test_what_is_shown_is_what_was_changed():
    assert repr(Policy()) == "Policy()"
    changed = Policy(hope=2.0, noise=NoisePolicy(pairs=3))
    assert repr(changed) == "Policy(hope=2.0, noise=NoisePolicy(pairs=3))"
    assert repr(CalibrationPolicy(beam=40)) == "CalibrationPolicy(beam=40)"
