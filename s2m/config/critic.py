"""What the critic sees the balls with."""

from dataclasses import dataclass

from s2m.config.encoder import cards
from s2m.config.fields import setting
from s2m.console.errors import unknown

SAME = "same"


@dataclass
class CriticCfg:
    """The critic, which acts nowhere: an asymmetry in it shows in what the actor learns."""

    encoder: str = setting(SAME, "its encoder: same as the actor's, or one of s2m by name")

    def check(self) -> None:
        """Refuse the name of no encoder."""
        if self.encoder != SAME and self.encoder not in cards():
            raise unknown("critic.encoder", self.encoder, (SAME, *cards()))
