# SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# Two commands set everything up, on Debian with Python 3.11 or newer, git and make:
#   make demo [VARIANT="trixie-munge forky-slurm"]   the audit of real Slurm clusters in containers
#   make test                                        everything that CI runs
# `make help` lists the rest.

PYTHON ?= python3
VARIANT ?= trixie-munge

NOX := .venv-nox/bin/nox
COLLECTION := .collections/ansible_collections/hpcops/slurm

# Found by Ansible and molecule wherever they are started, and although a world-writable folder
# would make Ansible pass over its ansible.cfg.
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint unit target matrix sanity galaxy docs integration model faults fuzz ee ee-image \
  bench growth molecule clean clean-sandbox

help:
	@echo 'make demo         audit a real Slurm cluster in a container and show the report'
	@echo '                  (VARIANT="..." chooses one or more, tests/sandbox/sandbox list names them)'
	@echo 'make test         everything that CI runs; the gates below are its parts'
	@echo 'make lint         ruff, mypy, yamllint, ansible-lint, licences, changelog, house rules'
	@echo 'make unit         unit tests with the oldest and the newest ansible-core that runs here'
	@echo 'make target       modules and readers with the oldest Python of a managed host that is here'
	@echo 'make matrix       the engine with every Python of this machine that a managed host may have'
	@echo 'make sanity       ansible-test sanity, likewise'
	@echo 'make docs         antsibull-docs on plugins, roles and guides, and their site in build/docs'
	@echo 'make galaxy       build the archive and import it as Ansible Galaxy does'
	@echo 'make integration  tests against real Slurm'
	@echo 'make model        every state of the write protocol, and rules broken on purpose'
	@echo 'make fuzz         the parsers under coverage-guided fuzzing; no part of make test'
	@echo '                  (FUZZ_SECONDS=60 for each, FUZZ="reader journal")'
	@echo 'make faults       writes on real Slurm while things go wrong, each claim checked against'
	@echo '                  slurmctld'"'"'s own log (OPERATIONS=200 SEED=... WITHOUT=guard)'
	@echo 'make ee           the archive in a folder of its own, under ansible-runner, and with AWX'
	@echo 'make ee-image     the execution environment, built with podman, and an audit in it; no part of make test'
	@echo 'make bench        what a preflight, a write and a read of many jobs cost, beside raw commands'
	@echo 'make growth       how cost grows with jobs and clusters; writes docs/benchmarks.md and its plot'
	@echo 'make molecule     the molecule scenarios against real Slurm'
	@echo 'make setup        only the virtual environments and the collection link'
	@echo 'make clean-sandbox  stop all clusters of the sandbox;  make clean  remove what make made'

setup: .venv/ready .venv-nox/ready $(COLLECTION)

# A stamp follows its requirements: what changes there is installed at the next make.
.venv/ready: requirements/run.txt
.venv-nox/ready: requirements/nox.txt
.venv-growth/ready: requirements/growth.txt
.venv/ready .venv-nox/ready .venv-growth/ready: tests/make-venv
	@tests/make-venv '$(PYTHON)' $(@D) $(filter requirements/%,$^)
	@touch $@

$(COLLECTION):
	@mkdir -p $(@D)
	@ln -sfn ../../.. $@

demo: .venv/ready $(COLLECTION)
	@tests/demo $(VARIANT)

test: setup
	@tests/gates

lint: .venv-nox/ready $(COLLECTION)
	@$(NOX) -s code lint license-check extra-checks changelog ansible-lint

unit: .venv-nox/ready $(COLLECTION)
	@$(NOX) -t units

# The oldest Python that is here, with the tests that are done soon.
target: .venv-nox/ready $(COLLECTION)
	@$(NOX) -t target -- -q -n auto tests/unit/plugins/modules \
		tests/unit/plugins/module_utils/_cluster tests/unit/plugins/module_utils/_jobs

matrix: .venv-nox/ready $(COLLECTION)
	@$(NOX) -t matrix

sanity: .venv-nox/ready
	@$(NOX) -t sanity

docs: .venv-nox/ready
	@$(NOX) -s docs-check docs-site

galaxy: .venv-nox/ready
	@$(NOX) -s galaxy

# Most of a test is waiting for Slurm: those on different clusters run at the same time.
integration: .venv/ready $(COLLECTION)
	@.venv/bin/pytest tests/integration -n 4 --dist loadscope --no-loadscope-reorder

# MODEL='--bound 2' goes further, for minutes.
model: .venv/ready $(COLLECTION)
	@PYTHONPATH=.collections .venv/bin/python -m ansible_collections.hpcops.slurm.tests.model $(MODEL)

FUZZ_SECONDS ?= 60
.venv-fuzz/ready: requirements/fuzz.txt tests/make-venv
	@tests/make-venv '$(PYTHON)' $(@D) $(filter requirements/%,$^)
	@touch $@

fuzz: .venv-fuzz/ready $(COLLECTION)
	@PYTHONPATH=.collections .venv-fuzz/bin/python tests/fuzz/fuzz.py --seconds $(FUZZ_SECONDS) $(FUZZ)

OPERATIONS ?= 200
faults: .venv/ready $(COLLECTION)
	@PYTHONPATH=.collections .venv/bin/python -m ansible_collections.hpcops.slurm.tests.faults.campaign \
	  --operations $(OPERATIONS) $(if $(SEED),--seed $(SEED)) $(if $(WITHOUT),--without $(WITHOUT))

ee: .venv-nox/ready
	@$(NOX) -s ee

ee-image: .venv-nox/ready
	@$(NOX) -s ee-image

bench: .venv/ready $(COLLECTION)
	@.venv/bin/python tests/benchmarks/bench.py $(BENCH)
	@.venv/bin/python tests/benchmarks/writes.py $(BENCH_WRITES)

growth: .venv-growth/ready $(COLLECTION)
	@.venv-growth/bin/python tests/benchmarks/growth.py $(GROWTH)

molecule: .venv-nox/ready $(COLLECTION)
	@$(NOX) -s molecule

clean-sandbox:
	@tests/sandbox/sandbox down --all

clean:
	@if [ -d tests/sandbox/.state ]; then $(MAKE) --no-print-directory clean-sandbox; fi
	@rm -rf .ansible .cache .collections .mypy_cache .nox .pytest_cache .ruff_cache .venv .venv-* build
	@find . -name __pycache__ -prune -exec rm -rf {} +
