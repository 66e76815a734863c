"""python -m tests.tracking.standin prints the address of a server that runs until it is killed."""

import signal

from tests.tracking.standin import StandIn

if __name__ == "__main__":
    print(StandIn().start().url, flush=True)
    signal.pause()
