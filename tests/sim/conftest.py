"""Isaac Lab on a fake view, for the tests that want it."""

import pytest

from tests.sim.fakekit.kit import Installation, require_source


@pytest.fixture(scope="module")
def kit():
    """The pretended application under Isaac Lab's real source."""
    require_source()
    installation = Installation()
    yield installation.kit
    installation.remove()
