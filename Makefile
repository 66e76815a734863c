# Each target makes its own virtual environment from constraints.txt; nothing else is needed but
# Python 3.11 or later. PYTHON=python3.12 make test uses another interpreter.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready
ISAACLAB := .isaaclab/ready
# Policies of the study, at the desktop budget: one sees the balls, one only feels them.
TEACHER := results/desktop/encoders/pfds-s40-01e39876
STUDENT := results/desktop/encoders/tactset-s40-7e75a520

.PHONY: demo test coverage lint bench clean

demo: $(READY)  ## The chain in small: eight rows, tables, student, report, and a film to look at.
	rm -rf demo
	$(RUN) -m s2m.launch -m +sweep=demo root=demo/runs tracking=disabled
	$(RUN) analysis/make_tables.py --runs demo/runs --out demo/tables --distill
	$(RUN) -m s2m.replay run=$(TEACHER) k=all tactile=true width=256 height=192 out=demo/strip.png
	$(RUN) -m s2m.replay run=$(TEACHER) k=5 out=demo/demo.mp4
	$(RUN) -m s2m.replay run=$(STUDENT) k=5 out=demo/felt.mp4
	@echo "Look at demo/tables/report.html, demo/strip.png, demo/demo.mp4 and demo/felt.mp4"

# Four at a time, file by file, the longest first: while some wait for SLURM, others compute.
test: $(READY) $(ISAACLAB) lint  ## Lint, types and all tests.
	$(RUN) -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder \
		--durations 15

# Without what takes long or needs daemons: a part of the tests, and what it leaves unrun.
# make coverage TESTS=tests/run measures what that folder runs.
coverage: $(READY) $(ISAACLAB)  ## Which lines of s2m and analysis the fast tests run.
	$(RUN) -m pytest --numprocesses 4 --dist loadfile \
		-m 'not slow and not slurm and not browser and not latex' \
		--cov --cov-report term-missing $(TESTS)

lint: $(READY) $(ISAACLAB)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/pyright
	$(VENV)/bin/pyright --project pyright-isaaclab.json

bench: $(READY)  ## Speed and physics figures of the docs.
	$(RUN) benchmarks/physics.py
	$(RUN) benchmarks/sim.py
	$(RUN) benchmarks/ppo.py
	$(RUN) benchmarks/launch.py
	$(RUN) benchmarks/analysis.py
	$(RUN) -m benchmarks.tracking
	$(RUN) benchmarks/distill.py
	$(RUN) -m benchmarks.scale

# torch first and by its exact version: a range would pull CUDA packages of several gigabytes.
$(READY): constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet $$(grep '^torch==' constraints.txt)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
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
	rm -rf $(VENV) .isaaclab demo .coverage .coverage.*
