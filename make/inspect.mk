# Reading what inspect_ai writes today: an environment of its own, because its pins do not fit the project's.
VENV_INSPECT := .venv-inspect
READY_INSPECT := $(VENV_INSPECT)/.ready

.PHONY: test-inspect

$(READY_INSPECT): make/inspect.mk
	$(PYTHON) -m venv $(VENV_INSPECT)
	$(VENV_INSPECT)/bin/python -m pip install --quiet --disable-pip-version-check inspect-ai==0.3.285
	@touch $(READY_INSPECT)

test-inspect: $(READY) $(READY_INSPECT) ## Run inspect_ai with its mock model and read its logs
	THETAHOUSE_INSPECT_PYTHON=$(CURDIR)/$(VENV_INSPECT)/bin/python $(BIN)/python -m pytest tests/inference/test_eval_logs.py
