"""Pictures of an environment, off-screen, and of what its plate feels."""

import os
from typing import TYPE_CHECKING

import numpy as np

from s2m.console.errors import UserError
from s2m.robot.mjcf import mjcf
from s2m.robot.model import PLATE_SIZE, ROBOT

if TYPE_CHECKING:
    from s2m.sim.mujoco import MujocoSimulator

NO_GL = (
    "off-screen rendering needs an EGL library; on Debian or Ubuntu: "
    "apt-get install libegl1 libgl1 (or set MUJOCO_GL=glfw on a desktop)"
)


def require_gl() -> None:
    """Import MuJoCo with a GL library, which it chooses then; refuse where it cannot load that.

    EGL needs no screen. Processes that are started later may need no pictures: they are not told.
    """
    chosen = "MUJOCO_GL" in os.environ
    os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        import mujoco  # noqa: F401
    # Depending on what is missing, PyOpenGL and MuJoCo raise quite different errors.
    except (ImportError, AttributeError, RuntimeError, OSError) as error:
        raise UserError(f"{NO_GL}. ({type(error).__name__}: {error})") from error
    finally:
        if not chosen:
            del os.environ["MUJOCO_GL"]


class Camera:
    """Renders single environments of a MuJoCo simulator, following the robot."""

    def __init__(self, sim: "MujocoSimulator", width: int, height: int) -> None:
        """Prepare to render; the GL context is made with the first frame."""
        self.sim, self.width, self.height = sim, width, height
        self._renderers: dict[int, tuple] = {}

    def frame(self, env: int) -> np.ndarray:
        """Return an image (height, width, 3) of one environment."""
        import mujoco

        k = int(self.sim.balls[env])
        model, data, renderer = self._renderers.get(k) or self._open(k)
        data.qpos[:] = self.sim.qpos[env, : model.nq]
        mujoco.mj_forward(model, data)
        view = mujoco.MjvCamera()
        view.lookat[:] = data.qpos[:3] + [0.0, 0.0, -0.055]
        view.distance, view.azimuth, view.elevation = 1.05, 140.0, -32.0
        renderer.update_scene(data, view)
        return renderer.render()

    def _open(self, k: int) -> tuple:
        import mujoco

        model = mujoco.MjModel.from_xml_string(mjcf(ROBOT, k, self.sim.cfg, pictures=True))
        try:
            renderer = mujoco.Renderer(model, self.height, self.width)
        # Depending on what is missing, PyOpenGL and MuJoCo raise quite different errors.
        except (ImportError, AttributeError, RuntimeError, OSError) as error:
            raise UserError(f"{NO_GL}. ({type(error).__name__}: {error})") from error
        self._renderers[k] = (model, mujoco.MjData(model), renderer)
        return self._renderers[k]

    def close(self) -> None:
        """Free the GL contexts."""
        for _, _, renderer in self._renderers.values():
            renderer.close()
        self._renderers.clear()


EMPTY, TOUCHED, GAP = (38, 42, 48), (240, 150, 40), (20, 22, 26)
"""Colours of the cells and of what lies between them."""


def tactile_panel(cells: np.ndarray, height: int) -> np.ndarray:
    """Draw a map (16, 16) as an image (height, width, 3) seen from above, the front at the top.

    The width is that of the plate, so the panel stands beside a frame of the same height.
    """
    rows, columns = cells.shape
    width = round(height * PLATE_SIZE[1] / PLATE_SIZE[0])
    # Rows of the map run from rear to front, columns from right to left.
    seen = cells[::-1, ::-1]
    row, column = np.arange(height) * rows / height, np.arange(width) * columns / width
    colours = np.array([EMPTY, TOUCHED], dtype=np.uint8)
    image = colours[seen[row.astype(int)][:, column.astype(int)].astype(int)]
    image[np.diff(row.astype(int), prepend=0) > 0] = GAP
    image[:, np.diff(column.astype(int), prepend=0) > 0] = GAP
    image[[0, -1]], image[:, [0, -1]] = GAP, GAP
    return image
