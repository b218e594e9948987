"""Student's quantiles. Source: scipy's."""

import numpy as np
import pytest
from scipy.special import stdtrit

from ladder.rating.student import quantile


@pytest.mark.parametrize("level", [0.5, 0.9, 0.975, 0.995])
def test_quantiles_are_those_of_scipy(level: float) -> None:
    """From one degree of freedom to more than any run has matches."""
    freedom = np.array([1.0, 1.5, 2.0, 2.5, 4.0, 7.3, 20.0, 300.0, 1e4, 1e6])
    found = quantile(freedom, level)
    assert found == pytest.approx(stdtrit(freedom, level), rel=1e-7, abs=1e-12)
