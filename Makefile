# `make demo` and `make test` need Python >= 3.11 and nothing else; everything is installed into .venv.

# The first on the PATH that is new enough; `make PYTHON=…` names another.
PYTHON ?= $(or $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done),python3)
# Test files at a time: one more than two cores, since many wait for servers.
JOBS ?= 3
VENV := .venv
PY := $(VENV)/bin/python
SOAK_MINUTES ?= 10
UNIT_DIR ?= $(or $(XDG_CONFIG_HOME),$(HOME)/.config)/systemd/user
UNITS := toolsearchd.socket toolsearchd-control.socket

.PHONY: help demo test lint format bench bench-peers bench-retrieval bench-stand-ins bench-listing bench-assemble bench-stop bench-overhead bench-large bench-warm-start bench-neighbours bench-held bench-real-servers test-semantic soak units install-units uninstall-units clean

help:
	@echo "make demo    a first run: a private daemon with sample servers"
	@echo "make test    all tests (real daemon, real MCP servers)"
	@echo "make lint    ruff and mypy"
	@echo "make bench   benchmarks, printed as tables"
	@echo "make bench-peers       retrieval beside its peers, quality and speed; DATA=DIR, ARGS=--large"
	@echo "make bench-retrieval   the second stage: quality beside peers, calibration, cost, memory, ablations; DATA=DIR, ARGS=--quick"
	@echo "make test-semantic     what needs the extra: answers with the sentence model's part"
	@echo "make bench-stand-ins   eval through a daemon with stand-in servers beside eval on a file; DATA=DIR"
	@echo "make bench-listing     what listings show of a catalog, by budget and by server; DATA=DIR…"
	@echo "make bench-stop        how long a stop takes: 8 agents, full windows, slow servers"
	@echo "make bench-overhead    a call through the daemon beside a bare SDK call"
	@echo "make bench-assemble    assemble beside ping, and the time to a new view after a change"
	@echo "make bench-large       a daemon with 100,000 tools: its loop's lag, its memory, one server's change"
	@echo "make bench-warm-start  from the start to the first answer, with 10,000 tools on the disk"
	@echo "make bench-neighbours  one agent's p99 beside clients and servers that behave badly"
	@echo "make bench-held        memory under agents that read nothing, and after sessions with tools of their own"
	@echo "make bench-real-servers  published servers behind a daemon, each beside the SDK's client"
	@echo "make soak    the long checks; SOAK_MINUTES=10 of agents, faults and edits, ARGS=--seed=N"
	@echo "make install-units   systemd user units for this checkout's .venv; uninstall-units takes them out"

demo: $(VENV)/installed
	$(VENV)/bin/toolsearchctl demo

test: $(VENV)/node-installed
	$(PY) -m pytest -q -n $(JOBS) --dist loadfile

lint: $(VENV)/test-installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/test-installed
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

bench: $(VENV)/node-installed
	$(PY) -m tests.bench.latency

bench-peers: $(VENV)/bench-installed
	$(PY) -m tests.bench.peers $(if $(DATA),--data $(DATA)) $(ARGS)

bench-retrieval: $(VENV)/test-installed
	$(PY) -m tests.bench.retrieval --data $(DATA) $(ARGS)

bench-stand-ins: $(VENV)/test-installed
	$(PY) -m tests.bench.stand_ins $(if $(DATA),--data $(DATA)) $(ARGS)

bench-listing: $(VENV)/test-installed
	$(PY) -m tests.bench.listing $(foreach dir,$(DATA),--data $(dir)) $(ARGS)

bench-stop: $(VENV)/test-installed
	$(PY) -m tests.bench.stop $(ARGS)

bench-overhead: $(VENV)/test-installed
	$(PY) -m tests.bench.overhead $(ARGS)

bench-assemble: $(VENV)/test-installed
	$(PY) -m tests.bench.assemble $(ARGS)

bench-large: $(VENV)/test-installed
	$(PY) -m tests.bench.large $(ARGS)

bench-warm-start: $(VENV)/test-installed
	$(PY) -m tests.bench.warm_start $(ARGS)

bench-neighbours: $(VENV)/test-installed
	$(PY) -m tests.bench.neighbours $(ARGS)

bench-held: $(VENV)/test-installed
	$(PY) -m tests.bench.unread
	$(PY) -m tests.bench.unread --entries 1
	$(PY) -m tests.bench.unread --entries 1 --door
	$(PY) -m tests.bench.own_tools

bench-real-servers: $(VENV)/test-installed
	$(PY) -m tests.bench.real_servers $(ARGS)

# What is skipped where the extra is not installed: in an environment of its own, which has it.
test-semantic:
	$(PYTHON) -m venv build/semantic
	build/semantic/bin/python -m pip install -q --disable-pip-version-check -e '.[test,semantic]'
	build/semantic/bin/python -m pytest -q tests/e2e/test_semantic.py tests/actors/test_sentences.py tests/unit/test_sentence_model.py

soak: $(VENV)/node-installed
	TOOLSEARCHD_PROPERTY_STEPS=50000 TOOLSEARCHD_PROPERTY_ROUNDS=5000 $(PY) -m pytest -q tests/property --hypothesis-profile=soak
	$(PY) -m tests.soak.linear
	$(PY) -m tests.soak.run --minutes $(SOAK_MINUTES) $(ARGS)
	for turn in 1 2 3 4 5; do $(PY) -m pytest -q tests/e2e tests/actors || exit 1; done

# The units with this checkout's programs in them, under build/systemd.
units: $(VENV)/installed
	@mkdir -p build/systemd
	@for unit in systemd/*.socket systemd/*.service; do \
		sed 's|@BIN@|$(CURDIR)/$(VENV)/bin|g' $$unit > build/systemd/$$(basename $$unit); done

install-units: units
	mkdir -p $(UNIT_DIR)
	cp build/systemd/* $(UNIT_DIR)
	systemctl --user daemon-reload
	systemctl --user enable --now $(UNITS)

uninstall-units:
	-systemctl --user disable --now $(UNITS)
	-systemctl --user stop toolsearchd.service
	rm -f $(addprefix $(UNIT_DIR)/,$(UNITS) toolsearchd.service)
	systemctl --user daemon-reload

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	@echo "installing the package into $(VENV)"
	@$(PY) -m pip install -qq --disable-pip-version-check -e .
	$(PY) -m compileall -q toolsearchd  # as pip does of what it copies: half of a first start
	touch $@

$(VENV)/test-installed: $(VENV)/installed
	@echo "installing what the tests and linters need"
	@$(PY) -m pip install -qq --disable-pip-version-check -e '.[test]'
	touch $@

$(VENV)/bench-installed: $(VENV)/test-installed
	$(PY) -m pip install -q --disable-pip-version-check -e '.[bench]'
	touch $@

$(VENV)/node-installed: $(VENV)/test-installed tests/servers/package-lock.json
	@echo "installing Node's MCP servers for the tests"
	@$(PY) -m tests.servers.node
	touch $@

clean:
	rm -rf $(VENV) tests/bench/.venvs build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
