# `make help` lists the targets. Everything is installed into .venv, from the
# hash-pinned files in requirements/; nothing is resolved, so nothing drifts.

VENV ?= .venv
BIN := $(VENV)/bin
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c '$(SUPPORTED)' 2>/dev/null && echo "$$p" && break; done)
PIP = $(BIN)/python -m pip install --quiet --no-deps
PROA := $(VENV)/.proa-installed
DEMO := $(VENV)/.demo-installed
TEST := $(VENV)/.test-installed
ENGINES := .engines
UV = nice -n 19 $(BIN)/uv
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo test check pytest format setup-system bench test-engines lock clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

install: $(PROA)  ## proa alone: .venv/bin/proa

demo: $(DEMO)  ## two real engines behind the gateway; ARGS="--keep" leaves them up
	@$(BIN)/proa demo $(ARGS)

test: check  ## everything that has to hold before a commit: the same as check

check: $(TEST)  ## format, lint, strict types, import contracts, tests
	@$(BIN)/ruff format --check --quiet . || { echo 'run: make format'; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest $(ARGS)

pytest: $(TEST)  ## only the tests; ARGS="tests/gateway -k abort" narrows them
	@$(BIN)/python -m pytest $(ARGS)

format: $(TEST)  ## format the code and mend what ruff can mend
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

setup-system:  ## what Debian has to provide: nginx, curl, PostgreSQL, Redis (root or sudo)
	@missing=; for tool in nginx curl postgres redis-server; do \
		PATH="$$PATH:/usr/sbin:/sbin:$$(echo /usr/lib/postgresql/*/bin | tr ' ' :)" command -v $$tool >/dev/null \
			|| missing="$$missing $$tool"; done; \
	[ -z "$$missing" ] && exit 0; \
	packages=$$(echo $$missing | sed 's/nginx/nginx-light/; s/postgres/postgresql/'); \
	as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; \
	$$as_root apt-get update -qq && \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$packages

bench: $(TEST)  ## proa, nginx and a direct connection before the same engines
	@$(BIN)/python -m benchmarks $(ARGS)

test-engines: $(ENGINES)/.models-made $(ENGINES)/.sglang-installed  ## proa before a real vLLM and SGLang: 10 GB in .engines
	@nice -n 19 $(BIN)/python -m pytest tests/engines_live --engines=$(ENGINES) $(ARGS)

lock: $(BIN)/python  ## resolve pyproject.toml and requirements/*.in anew
	@$(PIP) --require-hashes -r requirements/lock.txt
	@sh requirements/lock.sh $(BIN)/uv

clean:  ## remove the environment, caches and bytecode
	rm -rf $(VENV) $(ENGINES) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@[ -n "$(PYTHON)" ] || { echo 'proa needs Python 3.11, 3.12 or 3.13; name one: make PYTHON=/path/to/python3.12'; exit 2; }
	@$(PYTHON) -c '$(SUPPORTED)' || { echo 'proa needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is another one'; exit 2; }
	@$(PYTHON) -m venv $(VENV)

# A marker is younger than all that it was installed from. Bytecode is compiled
# here because PYTHONDONTWRITEBYTECODE may be set and a cold start is slow.
$(PROA): requirements/base.txt requirements/build.txt pyproject.toml | $(BIN)/python
	@echo 'installing proa and its packages into $(VENV)'
	@$(PIP) --require-hashes -r requirements/base.txt -r requirements/build.txt
	@$(PIP) --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(DEMO): requirements/demo.txt requirements/model.txt $(PROA)
	@echo 'installing the packages of the demo into $(VENV)'
	@$(PIP) --require-hashes -r requirements/demo.txt -r requirements/model.txt
	@touch $@

$(TEST): requirements/test.txt requirements/triton.txt $(DEMO)
	@echo 'installing the packages of the tests into $(VENV)'
	@$(PIP) --require-hashes -r requirements/test.txt
	@$(BIN)/python -m venv --without-pip $(VENV)/triton
	@$(BIN)/python -m pip --python $(VENV)/triton/bin/python install --quiet --no-deps \
		--require-hashes -r requirements/triton.txt
	@touch $@

# Real engines, each in an environment of its own: uv, for pip takes minutes.
$(ENGINES)/.%-installed: requirements/%.txt tests/engines_live/prepare.py | $(TEST)
	@echo 'installing $* into $(ENGINES)/$*'
	@$(PIP) --require-hashes -r requirements/lock.txt
	@rm -rf $(ENGINES)/$*
	@$(UV) venv --quiet --python $(BIN)/python $(ENGINES)/$*
	@$(UV) pip install --quiet --no-deps --require-hashes \
		--python $(ENGINES)/$*/bin/python -r requirements/$*.txt
	@$(BIN)/python tests/engines_live/prepare.py $* $(ENGINES)/$*
	@touch $@

$(ENGINES)/.models-made: tests/engines_live/make_models.py $(ENGINES)/.vllm-installed
	@echo 'making the models of the tests in $(ENGINES)/models'
	@rm -rf $(ENGINES)/models && mkdir $(ENGINES)/models
	@nice -n 19 $(ENGINES)/vllm/bin/python tests/engines_live/make_models.py \
		"$$($(BIN)/python -c 'from proa.providers.llamacpp_server import embedded_model_path as path; print(path())')" \
		$(ENGINES)/models
	@touch $@
