# Each target makes its own virtual environment from constraints.txt; nothing else is needed but
# Python 3.11 or later. PYTHON=python3.12 make test uses another interpreter.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready
ISAACLAB := .isaaclab/ready

.PHONY: demo test coverage lint docs bench clean

demo: $(READY)  ## The study's report, a film, and the whole chain in small: demo/index.html.
	rm -rf demo
	$(RUN) analysis/demo.py

# Four at a time, file by file, the longest first: while some wait for SLURM, others compute.
# The kernels of MuJoCo Warp are compiled before: four processes would each compile them.
test: $(READY) $(ISAACLAB) lint  ## Lint, types and all tests.
	$(RUN) -m tests.sim.kernels
	$(RUN) -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder \
		--durations 15

# Without what takes long or needs daemons: a part of the tests, and what it leaves unrun.
# make coverage TESTS=tests/run measures what that folder runs.
coverage: $(READY) $(ISAACLAB)  ## Which lines of s2m and analysis the fast tests run.
	$(RUN) -m tests.sim.kernels
	$(RUN) -m pytest --numprocesses 4 --dist loadfile \
		-m 'not slow and not slurm and not browser and not latex' \
		--cov --cov-report term-missing $(TESTS)

lint: $(READY) $(ISAACLAB)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/pyright
	$(VENV)/bin/pyright --project pyright-isaaclab.json

docs: $(READY)  ## The pages as a site, with every link checked: site/index.html.
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

bench: $(READY)  ## Speed and physics figures of the docs.
	$(RUN) benchmarks/physics.py
	$(RUN) benchmarks/sim.py
	$(RUN) benchmarks/ppo.py
	$(RUN) benchmarks/launch.py
	$(RUN) benchmarks/analysis.py
	$(RUN) -m benchmarks.tracking
	$(RUN) benchmarks/distill.py
	$(RUN) -m benchmarks.scale

$(READY): constraints.txt pyproject.toml .ci/environment.py
	$(PYTHON) .ci/environment.py $(VENV) dev
	touch $(READY)

# Isaac Lab's source without its dependencies, to which tests and types hold the adapter.
$(ISAACLAB): pyproject.toml | $(READY)
	rm -rf .isaaclab
	$(RUN) -m pip download --quiet --no-deps --dest .isaaclab --only-binary=:all: \
		--python-version 3.11 --platform manylinux_2_35_x86_64 \
		$$(sed -n 's/.*"\(isaaclab==[^;]*\);.*/\1/p' pyproject.toml)
	$(RUN) -m zipfile -e .isaaclab/*.whl .isaaclab
	touch $(ISAACLAB)

clean:
	rm -rf $(VENV) .isaaclab demo site .coverage .coverage.*
