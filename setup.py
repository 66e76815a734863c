"""conf/ and sweeps/ travel inside the package, so that an installed s2m finds them."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithConfigs(build_py):
    """Copy both folders beside the modules of s2m; an editable install reads the repository's."""

    def run(self):
        """Build, then add them."""
        super().run()
        if not self.editable_mode:
            for name in ("conf", "sweeps"):
                shutil.copytree(name, Path(self.build_lib, "s2m", name), dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithConfigs})
