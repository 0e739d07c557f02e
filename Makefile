# Everything a person or CI does with a checkout.  `make help` lists it.
# The virtual environment .venv is made once; stamp files in it say what has been installed from which pyproject.toml.

VENV := .venv
BIN := $(VENV)/bin
FILE ?= examples/01_digits.py
PYTEST_ARGS ?=
CONFORMANCE := ../shared/conformance
CASES_ARGS ?=
OPINFO_ARGS ?=
LESSONS ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help run test lint format docs lessons recordings bench conformance system clean

help:
	@echo 'make run          open the terminal app on $(FILE) (FILE=... for another notebook)'
	@echo 'make test         install what the tests need and run them (PYTEST_ARGS="-k tape" for some)'
	@echo 'make lint         ruff, pyright and the import contracts'
	@echo 'make format       let ruff lay out the code'
	@echo 'make docs         build the documentation as a web site, in build/site'
	@echo 'make lessons      run every lesson in full, on both devices and in the browser (half an hour)'
	@echo 'make recordings   run the lessons and keep what they did in build/recordings, for the playground'
	@echo 'make bench        run the benchmarks'
	@echo 'make conformance  hold the engine against PyTorch (installs torch 2.13.0, large; CASES_ARGS=, OPINFO_ARGS=)'
	@echo 'make clean        remove the virtual environments and what was built'

run: $(VENV)/.run
	@$(BIN)/tapescope $(FILE)

# Two processes, one file each at a time: module fixtures (kernels, devices) are made once.
test: $(VENV)/.dev system
	@$(BIN)/python -m pytest -n 2 --dist loadfile --session-timeout 900 $(PYTEST_ARGS)

lint: $(VENV)/.dev
	@code=0; \
	$(BIN)/ruff check . || code=1; \
	$(BIN)/ruff format --check . || code=1; \
	$(BIN)/lint-imports --no-cache || code=1; \
	$(BIN)/pyright || code=1; \
	exit $$code

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(VENV)/.docs
	@for page in breaks operators reference; do $(BIN)/python docs/make_$$page.py || exit 1; done
	@$(BIN)/python docs/site/build.py

lessons: $(VENV)/.dev system
	@TAPESCOPE_EXAMPLES=all $(BIN)/python -m pytest -q -n 0 --timeout 900 tests/examples tests/web/test_examples.py $(PYTEST_ARGS)

# `tapescope playground build OUT --recordings build/recordings` takes them.  LESSONS=02_backward for some.
recordings: $(VENV)/.run
	@$(BIN)/tapescope playground record build/recordings $(LESSONS)

system:
	@sh tests/system-packages.sh

# OPENBLAS_*: settings that old OpenBLAS builds need on some processors make a current one several times slower.
bench: $(VENV)/.dev
	@failed=; for file in benchmarks/*.py; do \
	  case "$$file" in */_*) continue;; esac; echo "== $$file"; \
	  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python "$$file" || failed="$$failed $$file"; \
	done; test -z "$$failed" || { echo "Not measured in full:$$failed" >&2; exit 1; }

conformance:
	@if ! test -d $(CONFORMANCE); then \
	  echo 'There is no $(CONFORMANCE) beside this checkout, so there is nothing to compare with.' >&2; exit 1; fi
	@$(MAKE) --no-print-directory $(VENV)-conformance/.done
	@$(VENV)-conformance/bin/python $(CONFORMANCE)/cases.py $(CASES_ARGS)
	@$(VENV)-conformance/bin/python $(CONFORMANCE)/opinfo.py $(OPINFO_ARGS)

clean:
	rm -rf $(VENV) $(VENV)-* build dist *.egg-info .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made: .ci/make-venv
	@bash .ci/make-venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml
	@echo 'Installing tapescope and what it needs, which takes a minute or two ...' >&2
	@$(BIN)/python -m pip install -qq --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml Makefile
	@echo 'Installing tapescope with the tools for tests and lint ...' >&2
	@$(BIN)/python -m pip install -qq --editable '.[test,lint,docs]'
	@touch $@ $(VENV)/.run $(VENV)/.docs

$(VENV)/.docs: $(VENV)/.made pyproject.toml
	@echo 'Installing tapescope with what builds its documentation ...' >&2
	@$(BIN)/python -m pip install -qq --editable '.[docs]'
	@touch $@

# Exactly this version: the expected values are its own.
$(VENV)-conformance/.done: .ci/make-venv pyproject.toml
	@bash .ci/make-venv $(VENV)-conformance
	@$(VENV)-conformance/bin/python -m pip install -qq 'torch==2.13.0' expecttest --editable .
	@touch $@
