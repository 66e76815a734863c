# Each target makes its own virtual environment from constraints.txt; nothing else is needed but
# Python 3.11 or later. PYTHON=python3.12 make test uses another interpreter.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready

.PHONY: demo test lint bench clean

demo: $(READY)  ## The chain in small, with something to look at.
	$(RUN) -m s2m.evaluate agent=zero episodes=20
	$(RUN) -m s2m.evaluate agent=lqr episodes=20
	rm -rf demo/runs
	$(RUN) -m s2m.launch encoder=pfds budget=demo root=demo/runs
	$(RUN) -m s2m.audit demo/runs/default/pfds-s40-*
	$(RUN) -m s2m.replay agent=lqr k=all width=256 height=192 out=demo/strip.png
	$(RUN) -m s2m.replay agent=lqr k=5 out=demo/demo.mp4
	@echo "Look at demo/strip.png and demo/demo.mp4"

test: $(READY) lint  ## Lint, types and all tests.
	$(RUN) -m pytest

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright

bench: $(READY)  ## Speed and physics figures of the docs.
	$(RUN) benchmarks/physics.py
	$(RUN) benchmarks/sim.py
	$(RUN) benchmarks/ppo.py
	$(RUN) benchmarks/launch.py
	$(RUN) benchmarks/analysis.py

# torch first and by its exact version: a range would pull CUDA packages of several gigabytes.
$(READY): constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet $$(grep '^torch==' constraints.txt)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) demo
