"""Who labels: the policy of a finished run, or a reference agent in its place."""

import torch
from tensordict import TensorDict
from torch import Tensor

from s2m.config.distill import StudentCfg
from s2m.console.errors import UserError
from s2m.env.agents import Balance
from s2m.env.transport import TransportEnv
from s2m.policy.stored import Trained
from s2m.run import checkpoint
from s2m.run.seal import sum_in


class PolicyTeacher:
    """The network of a run; states are labelled `teacher_batch` rows at a time."""

    def __init__(self, trained: Trained, env: TransportEnv, cfg: StudentCfg) -> None:
        """Put the network where the environment is."""
        self.trained, self.env, self.clip = trained, env, cfg.task.action.clip
        self.agent = trained.agent(env)
        self.clean = cfg.distill.labels == "clean"
        self.steps = max(1, cfg.distill.teacher_batch // env.num_envs)
        """Control steps that are labelled at once."""
        self._noted: list[TensorDict] = []

    def act(self) -> Tensor:
        """Return the actions (n, 12) it would take itself, on noisy balls as it was trained to."""
        return self.agent()

    def observe(self) -> None:
        """Note the present state, to be labelled; a fresh copy comes with every step."""
        observed = self.env.get_observations()
        if self.clean:
            observed["balls"] = observed["balls_clean"]
        self._noted.append(observed)

    def labels(self) -> list[Tensor]:
        """Return the labels (n, 12) of the states noted since the last call: none or a batch."""
        return self.finish() if len(self._noted) >= self.steps else []

    def finish(self) -> list[Tensor]:
        """Return the labels of all states that are left."""
        if not self._noted:
            return []
        actions = self.trained.act(TensorDict.cat(self._noted))
        self._noted = []
        return list(actions.clamp(-self.clip, self.clip).split(self.env.num_envs))


class AgentTeacher:
    """The balance controller, which reads the state of the simulator."""

    def __init__(self, env: TransportEnv, cfg: StudentCfg) -> None:
        """Solve for its gains."""
        self.env, self.clip = env, cfg.task.action.clip
        self.balance = Balance(env)
        self.to_command = torch.linalg.pinv(self.balance.to_actions)
        self._noted: list[Tensor] = []

    def act(self) -> Tensor:
        """Act from the tilt that was last commanded, by whomever: the student may be driving."""
        self.balance.command = self.env.action @ self.to_command
        return self.balance().clamp(-self.clip, self.clip)

    def observe(self) -> None:
        """Label at once: the state is gone with the next step."""
        self._noted.append(self.act())

    def labels(self) -> list[Tensor]:
        """Return what was labelled."""
        noted, self._noted = self._noted, []
        return noted

    finish = labels


class Classroom:
    """Makes the teacher of a student's config in an environment; checked once, for all rounds."""

    def __init__(self, cfg: StudentCfg) -> None:
        """Find the very checkpoint that the student was launched for."""
        self.cfg = cfg
        self.trained = _find(cfg) if cfg.taught_by.signature else None

    def teacher(self, env: TransportEnv) -> PolicyTeacher | AgentTeacher:
        """Return the teacher, ready to act in the environment."""
        if self.trained is None:
            return AgentTeacher(env, self.cfg)
        return PolicyTeacher(self.trained, env, self.cfg)


def _find(cfg: StudentCfg) -> Trained:
    trained = Trained(cfg.teacher)
    wanted = cfg.taught_by.checkpoint
    found = [path for path in checkpoint.saved(trained.folder) if sum_in(path) == wanted]
    if not found:
        raise UserError(
            f"{cfg.teacher} no longer has the checkpoint {wanted[:12]} that this student learns "
            "from: launch it again for the teacher's new one"
        )
    trained.checkpoint = checkpoint.load(found[-1])
    trained.folder.check_final(trained.checkpoint.iteration)  # its name may say another one
    try:
        _ = trained.actor
    except UserError as error:
        raise UserError(f"cannot teach, other observations or sizes than here: {error}") from None
    return trained
