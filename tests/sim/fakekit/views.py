"""Views of the state store with the methods of PhysX's tensor API that Isaac Lab 2.3.2 calls.

As with PhysX, a getter fills one buffer per quantity and returns that buffer again and again, and a
setter takes the rows `indices` of a full tensor.
"""

import fnmatch
from types import SimpleNamespace

import torch

from s2m.robot.model import MAX_BALLS
from tests.pretend_gpu import from_gpu, to_gpu

from .physics import World


class View:
    """Where the views are on a pretended GPU, the world behind them stays on the CPU."""

    def __init__(self, world: World):
        self.world = world
        self._backend = object()
        self._buffers: dict[str, torch.Tensor] = {}

    def place(self, value):
        return value if self.world.device == "cpu" else to_gpu(value)

    def fill(self, name, value):
        if name not in self._buffers:
            self._buffers[name] = self.place(value.clone())
        from_gpu(self._buffers[name]).copy_(value)
        return self._buffers[name]

    def _put(self, name, data, indices):
        rows = from_gpu(indices)
        getattr(self.world, name)[rows] = from_gpu(data)[rows]


class ArticulationView(View):
    """The robots; joint properties are kept as they are set."""

    max_fixed_tendons = max_spatial_tendons = 0

    def __init__(self, world):
        super().__init__(world)
        self.count = world.n
        names = [joint.name for joint in world.joints]
        self.shared_metatype = SimpleNamespace(
            fixed_base=False, dof_count=len(names), dof_names=names,
            link_count=len(world.links), link_names=[link.name for link in world.links],
        )  # fmt: skip
        n, joints, links = world.n, len(names), len(world.links)
        limits = [joint.limits or (-1e9, 1e9) for joint in world.joints]
        self.properties = {
            "dof_limits": torch.tensor(limits).expand(n, -1, -1).clone(),
            "dof_stiffnesses": torch.zeros(n, joints),
            "dof_dampings": torch.zeros(n, joints),
            "dof_armatures": torch.zeros(n, joints),
            "dof_friction_properties": torch.zeros(n, joints, 3),
            "dof_max_velocities": torch.full((n, joints), 1e9),
            "dof_max_forces": torch.full((n, joints), 1e9),
            "masses": torch.tensor([link.mass for link in world.links]).expand(n, -1).clone(),
            "inertias": torch.zeros(n, links, 9),
        }
        for name in self.properties:
            setattr(self, f"get_{name}", lambda name=name: self.properties[name].clone())
            if name.startswith("dof"):
                setattr(self, f"set_{name}", self._setter(name))

    def _setter(self, name):
        def put(data, indices):
            self.properties[name][indices] = data[indices]

        return put

    def get_coms(self):
        coms = torch.zeros(self.world.n, len(self.world.links), 7)
        coms[..., :3] = torch.tensor([link.com for link in self.world.links])
        coms[..., 6] = 1.0
        return coms

    def get_root_transforms(self):
        return self.fill("base", self.world.base)

    def get_root_velocities(self):
        return self.fill("base_velocity", self.world.base_velocity)

    def get_dof_positions(self):
        return self.fill("angle", self.world.angle)

    def get_dof_velocities(self):
        return self.fill("speed", self.world.speed)

    def get_link_transforms(self):
        """Places of links are of no interest to anybody here; all lie in the base."""
        return self.place(self.world.base.unsqueeze(1).repeat(1, len(self.world.links), 1))

    def get_link_accelerations(self):
        return self.place(torch.zeros(self.world.n, len(self.world.links), 6))

    def set_root_transforms(self, data, indices):
        self._put("base", data, indices)

    def set_root_velocities(self, data, indices):
        self._put("base_velocity", data, indices)

    def set_dof_positions(self, data, indices):
        self._put("angle", data, indices)

    def set_dof_velocities(self, data, indices):
        self._put("speed", data, indices)

    def set_dof_actuation_forces(self, data, indices):
        assert not from_gpu(data).any(), "implicit drives need no forces"

    def set_dof_position_targets(self, data, indices):
        self._put("angle_target", data, indices)

    def set_dof_velocity_targets(self, data, indices):
        self._put("speed_target", data, indices)


class BallView(View):
    """The balls, object by object: all of ball 0, then all of ball 1."""

    def __init__(self, world):
        super().__init__(world)
        self.count = world.n * MAX_BALLS

    def get_transforms(self):
        return self.fill("ball", self.world.ball.flatten(0, 1))

    def get_velocities(self):
        return self.fill("ball_velocity", self.world.ball_velocity.flatten(0, 1))

    def get_accelerations(self):
        return self.place(torch.zeros(self.count, 6))

    def get_masses(self):
        return torch.full((self.count, 1), self.world.ball_mass)

    def get_inertias(self):
        return torch.zeros(self.count, 9)

    def get_coms(self):
        return torch.tensor([0.0, 0, 0, 0, 0, 0, 1]).repeat(self.count, 1)

    def _put(self, name, data, indices):
        flat, rows = getattr(self.world, name).flatten(0, 1), from_gpu(indices)
        flat[rows] = from_gpu(data)[rows]
        setattr(self.world, name, flat.unflatten(0, (MAX_BALLS, self.world.n)))

    def set_transforms(self, data, indices):
        self._put("ball", data, indices)

    def set_velocities(self, data, indices):
        self._put("ball_velocity", data, indices)

    def apply_forces_and_torques_at_position(
        self, force_data, torque_data, position_data, indices, is_global
    ):
        assert is_global and position_data is None and not from_gpu(force_data).any()
        self._put("torque", torque_data, indices)


class BodyView(View):
    def __init__(self, world, paths):
        super().__init__(world)
        self.prim_paths, self.count = paths, len(paths)


class ContactView(View):
    """Forces on one body of each environment, by filter; column j belongs to filter j."""

    def __init__(self, world, filters):
        super().__init__(world)
        self.filter_count = len(filters)
        self.order = [int(pattern.rsplit("_", 1)[-1]) for pattern in filters]

    def get_net_contact_forces(self, dt):
        return self.fill("net", self.world.force.sum(1))

    def get_contact_force_matrix(self, dt):
        return self.fill("matrix", self.world.force[:, self.order])


class SimulationView:
    """Creates views for path patterns, if there are bodies at such paths."""

    def __init__(self, stage, world):
        self.stage, self.world = stage, world
        self._backend = SimpleNamespace(initialize_kinematic_bodies=lambda: None)

    def _paths(self, pattern, api):
        """PhysX globs with alternatives `(a|b)` in the last part."""
        head, tail = pattern.rsplit("/", 1)
        options = [f"{head}/{name}" for name in tail.strip("()").split("|")]
        found = [
            prim.path for prim in self.stage.Traverse()
            if api in prim.apis and any(fnmatch.fnmatch(prim.path, option) for option in options)
        ]  # fmt: skip
        assert found, f"no {api} at {pattern}"
        return found

    def create_articulation_view(self, pattern):
        assert len(self._paths(pattern, "ArticulationRootAPI")) == self.world.n
        return ArticulationView(self.world)

    def create_rigid_body_view(self, patterns):
        if isinstance(patterns, str):
            return BodyView(self.world, self._paths(patterns, "RigidBodyAPI"))
        assert [pattern.rsplit("/", 1)[-1] for pattern in patterns] == [
            f"Ball_{i}" for i in range(MAX_BALLS)
        ]
        assert all(len(self._paths(p, "RigidBodyAPI")) == self.world.n for p in patterns)
        return BallView(self.world)

    def create_rigid_contact_view(self, pattern, filter_patterns, max_contact_data_count):
        assert len(self._paths(pattern, "PhysxContactReportAPI")) == self.world.n
        for other in filter_patterns:
            assert len(self._paths(other, "PhysxContactReportAPI")) == self.world.n
        return ContactView(self.world, filter_patterns)

    def get_gravity(self):
        return self.world.gravity

    def set_subspace_roots(self, root):
        pass

    def update_articulations_kinematic(self):
        pass
