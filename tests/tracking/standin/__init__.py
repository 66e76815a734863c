"""A small W&B server on the loopback, to which the real client talks in tests.

It speaks only the operations it knows. Any other is answered with an error and kept in `unknown`,
which the fixture looks at after every test. It shows that this project drives the real client; what
the cloud does with the requests it cannot show.
"""

from tests.tracking.standin.server import StandIn

__all__ = ["StandIn"]
