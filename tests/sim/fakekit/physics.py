"""The state store behind the fake PhysX views, with just enough physics to drive and to balance.

It keeps PhysX's conventions: world frame, quaternions (x, y, z, w), velocities of centres of mass,
joints by depth in the tree, balls object by object. The drives feel the weight they carry; the base
tilts with the legs about the centre of the plate and drives with the wheels; balls roll on the
plate, feel applied torques and fall from its edge. Nothing of the adapter is used here.
"""

import numpy as np
import torch

from s2m.robot.model import BALL_RADIUS, GRAVITY, LEG_JOINTS, LEGS, MAX_BALLS, PLATE_SIZE, ROBOT

LAG = 0.02
"""Seconds in which a joint comes near to its target."""
RESTS = 0.003
"""A ball this near to the plate lies on it, m."""
BROKEN = 1e6
PLATE = torch.tensor([0.0, 0.0, ROBOT.plate_height])


def xyzw(q):
    return q[..., [1, 2, 3, 0]]


def wxyz(q):
    return q[..., [3, 0, 1, 2]]


def matrix(q):
    """Rotation matrices of quaternions (x, y, z, w)."""
    x, y, z, w = q.unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def product(a, b):
    """Hamilton product of quaternions (x, y, z, w)."""
    u, v = a[..., :3], b[..., :3]
    vector = a[..., 3:] * v + b[..., 3:] * u + torch.linalg.cross(u, v)
    return torch.cat([vector, a[..., 3:] * b[..., 3:] - (u * v).sum(-1, keepdim=True)], -1)


def turn(axis, angle):
    q = torch.zeros(*angle.shape, 4)
    q[..., axis] = (angle / 2).sin()
    q[..., 3] = (angle / 2).cos()
    return q


def by_depth(robot):
    """Names of links and joints as PhysX orders them: breadth first."""
    links, queue = [], [robot.links[0]]
    while queue:
        link = queue.pop(0)
        links.append(link)
        queue += [child for child in robot.links if child.parent == link.name]
    return links


class World:
    """n robots with five balls each."""

    def __init__(self, n, device="cpu", gravity=(0.0, 0.0, -GRAVITY)):
        self.n, self.device, self.gravity = n, device, gravity
        self.links = by_depth(ROBOT)
        self.joints = [link.joint for link in self.links if link.joint]
        names = [joint.name for joint in self.joints]
        self.leg = [names.index(f"{leg}_{joint}") for leg in LEGS for joint in LEG_JOINTS]
        self.hub = [names.index(f"{leg}_hub") for leg in LEGS]
        self.base_com = torch.tensor(self.links[0].com)
        self.base = torch.zeros(n, 7)
        self.base[:, 6] = 1.0
        self.base_velocity = torch.zeros(n, 6)
        self.angle, self.speed = torch.zeros(n, len(names)), torch.zeros(n, len(names))
        self.angle_target, self.speed_target = self.angle.clone(), self.angle.clone()
        self.ball = torch.zeros(MAX_BALLS, n, 7)
        self.ball[..., 6] = 1.0
        self.ball_velocity = torch.zeros(MAX_BALLS, n, 6)
        self.ball_mass = 0.2
        self.torque = torch.zeros(MAX_BALLS, n, 3)
        """World torques of the next step only."""
        self.force = torch.zeros(n, MAX_BALLS, 3)
        """Forces on the plate in the last step."""
        carried = [ROBOT.gravity_offsets(k * self.ball_mass) for k in range(MAX_BALLS + 1)]
        self.sag = torch.tensor(np.array(carried)).float()
        self.steps = 0

    def step(self, dt):
        self.steps += 1
        broken = ~(self.base_velocity.abs().amax(1) < BROKEN)
        kept = self.base_velocity.clone()
        place, lying = self._on_plate()
        self._move_joints(dt, lying.sum(1))
        before = matrix(self.base[:, 3:])
        over = self._rolling(before, place)
        self._move_base(dt, before)
        self._move_balls(dt, place, over, lying)
        self.base_velocity[broken] = kept[broken]
        self.torque.zero_()

    def _on_plate(self):
        """Ball places in the base frame (n, N, 3) and which of them lie on the plate."""
        to_world = matrix(self.base[:, 3:])
        place = (self.ball[..., :3].transpose(0, 1) - self.base[:, None, :3]) @ to_world
        half = torch.tensor(PLATE_SIZE) / 2
        height = place[..., 2] - ROBOT.plate_height - BALL_RADIUS
        inside = (place[..., :2].abs() < half).all(-1)
        return place, inside & (height.abs() < RESTS)

    def _move_joints(self, dt, carried):
        goal = self.angle_target[:, self.leg] - self.sag[carried]
        change = (goal - self.angle[:, self.leg]) * min(1.0, dt / LAG)
        self.angle[:, self.leg] += change
        self.speed[:, self.leg] = change / dt
        self.speed[:, self.hub] = self.speed_target[:, self.hub]
        self.angle[:, self.hub] += dt * self.speed[:, self.hub]

    def _rolling(self, to_world, place):
        """Velocities of the balls over the plate, in the base frame."""
        turning = self.base_velocity[:, None, 3:]
        arm = (to_world @ self.base_com).unsqueeze(1)
        origin = self.base_velocity[:, None, :3] - torch.linalg.cross(turning, arm)
        carried = origin + torch.linalg.cross(turning, place @ to_world.mT)
        return (self.ball_velocity[..., :3].transpose(0, 1) - carried) @ to_world

    def _move_base(self, dt, before):
        legs = self.angle[:, self.leg].unflatten(1, (len(LEGS), len(LEG_JOINTS)))
        pitch = torch.asin(-legs[..., 1].mean(1) / ROBOT.tilt_ratio)
        roll = -torch.asin(legs[..., 0].mean(1) / ROBOT.tilt_ratio)
        travel = self.speed[:, self.hub] * ROBOT.wheel_radius
        forward, left = travel * legs[..., 2].cos(), travel * legs[..., 2].sin()
        x, y = torch.tensor(ROBOT.wheel_positions).unbind(-1)
        rate = (x * left - y * forward).sum(1) / (x.square() + y.square()).sum()
        heading = torch.atan2(before[:, 1, 0], before[:, 0, 0])
        yaw = heading + rate * dt
        centre = self.base[:, :3] + before @ PLATE
        speed = torch.stack([forward.mean(1), left.mean(1)], -1)
        across = torch.stack([-speed[:, 1], speed[:, 0]], -1)
        centre[:, :2] += dt * (
            heading.cos().unsqueeze(1) * speed + heading.sin().unsqueeze(1) * across
        )
        rotation = product(product(turn(2, yaw), turn(1, pitch)), turn(0, roll))
        after = matrix(rotation)
        com = self.base[:, :3] + before @ self.base_com
        self.base[:, :3] = centre - after @ PLATE
        self.base[:, 3:] = rotation
        self.base_velocity[:, :3] = (self.base[:, :3] + after @ self.base_com - com) / dt
        change = after @ before.mT
        self.base_velocity[:, 3:] = torch.stack(
            [change[:, 2, 1] - change[:, 1, 2], change[:, 0, 2] - change[:, 2, 0],
             change[:, 1, 0] - change[:, 0, 1]], -1
        ) / (2 * dt)  # fmt: skip

    def _move_balls(self, dt, place, over, lying):
        to_world = matrix(self.base[:, 3:])
        normal = to_world[:, None, :, 2].expand(-1, MAX_BALLS, -1)
        torque = self.torque.transpose(0, 1)
        turned = torque * dt / (1.4 * self.ball_mass * BALL_RADIUS**2)
        braked = BALL_RADIUS * torch.linalg.cross(turned, normal)
        pull = torch.tensor(self.gravity) @ to_world
        over = over + dt * 5 / 7 * pull.unsqueeze(1) + braked @ to_world
        over[..., 2] = 0.0
        place = place + dt * over
        place[..., 2] = ROBOT.plate_height + BALL_RADIUS
        rolled = self.base[:, None, :3] + place @ to_world.mT
        turning = self.base_velocity[:, None, 3:].expand(-1, MAX_BALLS, -1)
        arm = (to_world @ self.base_com).unsqueeze(1)
        origin = self.base_velocity[:, None, :3] - torch.linalg.cross(
            turning, arm.expand_as(turning)
        )
        carried = origin + torch.linalg.cross(turning, place @ to_world.mT)
        velocity = carried + over @ to_world.mT
        spin = turning + torch.linalg.cross(normal, over @ to_world.mT) / BALL_RADIUS
        rolling = torch.cat([velocity, spin], -1).transpose(0, 1)
        falling = self.ball_velocity.clone()
        falling[..., :3] += dt * torch.tensor(self.gravity)
        free = self.ball[..., :3] + dt * falling[..., :3]
        on = lying.T.unsqueeze(-1)
        self.ball[..., :3] = torch.where(on, rolled.transpose(0, 1), free)
        self.ball_velocity = torch.where(on, rolling, falling)
        spin = self.ball_velocity[..., 3:]
        quarter = torch.cat([spin * dt / 2, torch.zeros_like(spin[..., :1])], -1)
        rotation = self.ball[..., 3:] + product(quarter, self.ball[..., 3:])
        self.ball[..., 3:] = rotation / rotation.norm(dim=-1, keepdim=True)
        weight = self.ball_mass * GRAVITY * lying
        self.force = -normal * weight.unsqueeze(-1)
