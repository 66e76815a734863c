"""Whether somebody is logged in at W&B; neither the client nor the key itself is looked at."""

import netrc
import os
from urllib.parse import urlsplit

HOSTS = ("wandb", "coreweave")
"""Parts of the names under which W&B's own servers stand in a netrc file."""


def has_key() -> bool:
    """Tell whether the client would find credentials in the environment or in a netrc file."""
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    own = urlsplit(os.environ.get("WANDB_BASE_URL", "")).netloc
    try:
        hosts = netrc.netrc(os.environ.get("NETRC")).hosts
    except (OSError, netrc.NetrcParseError):
        return False
    return own in hosts if own else any(part in host for host in hosts for part in HOSTS)
