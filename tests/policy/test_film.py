"""The replay command, with and without a GL library."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from s2m.console.errors import UserError
from s2m.policy.film import _write_video
from s2m.replay import main
from s2m.run.folder import RunFolder
from s2m.sim.camera import TOUCHED, tactile_panel
from tests.examples import OLDER

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "results" / "desktop" / "encoders"
SHORT = ["seconds=0.2", "width=160", "height=120"]


def replay(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "s2m.replay", *words],
        capture_output=True, text=True, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def gl():
    """Skip where no frame can be rendered, unless the machine promises that one can."""
    code = "import mujoco; mujoco.Renderer(mujoco.MjModel.from_xml_string('<mujoco/>'), 32, 32)"
    trial = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "MUJOCO_GL": "egl"}, capture_output=True
    )
    if trial.returncode and not os.environ.get("S2M_REQUIRE_GL"):
        pytest.skip("no EGL library: apt-get install libegl1 libgl1")


@pytest.mark.parametrize("chosen", [None, "disabled"])
def test_the_library_of_pictures_is_not_passed_on(chosen):
    """A training that is started later must not need one."""
    given = {key: value for key, value in os.environ.items() if key != "MUJOCO_GL"}
    code = (
        "import os; from s2m.console.errors import UserError\n"
        "from s2m.sim.camera import require_gl\n"
        "try: require_gl()\n"
        "except UserError: pass\n"
        "print(os.environ.get('MUJOCO_GL'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=given | ({"MUJOCO_GL": chosen} if chosen else {}),
    )  # fmt: skip
    assert done.stdout == f"{chosen}\n"


@pytest.mark.gl
@pytest.mark.parametrize("name", ["film.mp4", "film.gif", "film.webp"])
def test_a_video_moves(gl, tmp_path, name):
    import imageio.v3 as iio

    out = tmp_path / "new folder" / name
    done = replay("agent=lqr", "k=2", f"out='{out}'", *SHORT)
    assert done.returncode == 0, done.stderr
    assert "all balls stayed on the plate" in done.stdout
    frames = np.stack(list(iio.imiter(out)))
    assert frames.shape[0] == 5 and frames.shape[1:3] == (120, 160)
    assert np.abs(frames[0].astype(int) - frames[-1]).max() > 10


@pytest.mark.gl
def test_two_films_stand_side_by_side_with_captions(gl, tmp_path):
    import imageio.v3 as iio

    out = tmp_path / "both.webp"
    runs = [f"run={STUDY}/pfds-s40-01e39876", f"beside={STUDY}/tactset-s40-7e75a520"]
    words = [*runs, "every=5", f"out='{out}'", *SHORT]
    done = replay(*words, "k=1", "captions=[sees,feels]")
    assert done.returncode == 0, done.stderr
    frames = np.stack(list(iio.imiter(out)))
    assert frames.shape[:3] == (2, 120, 160 + 160 + 80)
    plain = replay(*words, "k=1")
    assert plain.returncode == 0
    first = next(iter(iio.imiter(out))).astype(int)
    changed = np.abs(first - frames[0]).max(-1) > 100
    assert changed[:40, :160].any() and changed[:40, 160:320].any() and not changed[60:].any()


def test_the_film_of_the_readme_loads_fast():
    """It is what its command makes, with settings that keep a page small."""
    from PIL import Image

    readme, path = (ROOT / "README.md").read_text(), ROOT / "docs" / "figures" / "carry.webp"
    (every,) = re.findall(r"every=(\d+) .*out=carry.webp", readme)
    film = Image.open(path)
    assert path.stat().st_size < 700_000
    assert film.n_frames == -(-500 // int(every))  # pyright: ignore[reportAttributeAccessIssue]


def test_a_webp_is_written_small(tmp_path):
    from PIL import Image

    ramp = np.add.outer(np.arange(120), np.arange(160))[..., None]
    frames = [((ramp + 9 * i) * (1, 2, 3) % 256).astype(np.uint8) for i in range(4)]
    _write_video(tmp_path / "ours.webp", frames, 10)
    first, *rest = map(Image.fromarray, frames)
    first.save(tmp_path / "plain.webp", save_all=True, append_images=rest, duration=100, loop=0)
    ours, plain = ((tmp_path / f"{name}.webp").stat().st_size for name in ("ours", "plain"))
    assert ours < 0.8 * plain


@pytest.mark.parametrize(("words", "line"), [
    (["out=a.png", "beside=x"], "beside= and captions= are for videos"),
    (["captions=[a,b]"], r"captions = \['a', 'b'\]: needs 1"),
])  # fmt: skip
def test_what_cannot_be_filmed_is_one_line(words, line):
    with pytest.raises(UserError, match=line):
        main(words)


@pytest.mark.gl
def test_a_picture_shows_all_numbers_of_balls(gl, tmp_path):
    from PIL import Image

    out = tmp_path / "strip.png"
    done = replay("agent=zero", "k=all", "columns=2", f"out={out}", *SHORT)
    assert done.returncode == 0, done.stderr
    assert Image.open(out).size == (2 * 160, 5 * 120)


@pytest.mark.gl
@pytest.mark.parametrize("schema", OLDER)
def test_a_run_of_an_older_schema_is_filmed(gl, tmp_path, schema):
    from PIL import Image

    out = tmp_path / "strip.png"
    done = replay(f"run={OLDER[schema]}", "k=5", "columns=2", f"out={out}", *SHORT)
    assert done.returncode == 0, done.stderr
    assert RunFolder.open(OLDER[schema]).identity.schema == schema
    assert Image.open(out).size == (2 * 160, 120)


@pytest.mark.gl
def test_the_tactile_map_stands_beside_the_robot(gl, tmp_path):
    from PIL import Image

    out = tmp_path / "felt.png"
    done = replay("agent=zero", "k=5", "columns=1", "tactile=true", f"out={out}", *SHORT)
    assert done.returncode == 0, done.stderr
    image = np.asarray(Image.open(out))
    assert image.shape == (120, 160 + 80, 3)
    touched = (image[:, 160:] == TOUCHED).all(-1)
    assert 0.05 < touched.mean() < 0.6 and not (image[:, :160] == TOUCHED).all(-1).any()


def test_the_panel_shows_the_front_above_and_the_left_on_the_left():
    cells = np.zeros((16, 16), dtype=bool)
    cells[15, 0] = True  # front, right
    panel = tactile_panel(cells, 224)
    assert panel.shape == (224, 151, 3)
    rows, columns = np.nonzero((panel == TOUCHED).all(-1))
    assert rows.max() < 15 and columns.min() > 140


@pytest.mark.parametrize("kind", ["ImportError", "AttributeError"])
def test_without_a_gl_library_one_line_says_what_to_install(tmp_path, kind):
    """PyOpenGL raises either, as MuJoCo is imported: by what is missing."""
    (tmp_path / "OpenGL").mkdir()
    (tmp_path / "OpenGL" / "__init__.py").write_text(f"raise {kind}('no EGL library here')")
    done = replay(f"out={tmp_path}/a.png", *SHORT, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "apt-get install libegl1 libgl1" in done.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["k=0"], "k = 0: allowed 1 to 5 or all (number of balls)"),
        (["k=6"], "k = 6: allowed 1 to 5 or all (number of balls)"),
        (["k=all"], "out = demo.mp4: allowed are .mp4, .gif, .webp with one k"),
        (["agent=lrq"], "unknown agent 'lrq'. Did you mean 'lqr'? Allowed: zero, random"),
        (["sim=dummy"], "sim = dummy: only sim=mujoco can be rendered"),
        (["out=a.txt"], "out = a.txt: allowed are .mp4, .gif, .webp"),
        (["seconds=-1"], "seconds = -1.0: allowed above 0 and at most 60"),
        (["sim.ball.mass=0"], "sim.ball.mass = 0.0: allowed above 0"),
        (["width=big"], "width = big: must be an integer"),
        (["agnet=lqr"], "unknown setting 'agnet'. Did you mean 'agent'?"),
        (["sim=isac"], "unknown sim 'isac'"),
        (["nonsense"], "cannot read 'nonsense': write setting=value"),
    ],
)
def test_bad_input_is_one_line(words, line):
    with pytest.raises(UserError) as error:
        main(words)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_user_errors_leave_with_code_two_and_no_traceback():
    done = replay("k=0")
    assert done.returncode == 2
    assert done.stderr == "error: k = 0: allowed 1 to 5 or all (number of balls)\n"


def test_help_lists_every_setting_with_its_meaning(capsys):
    main(["--help"])
    text = capsys.readouterr().out
    assert "task.command.linear_x=0.5" in text
    assert "largest forward speed, m/s" in text
