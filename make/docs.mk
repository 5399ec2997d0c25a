# The site about this project: dbt's own page first, which the pages of docs/ link to.
.PHONY: docs

docs: $(READY) ## Build the site about this project, every table included, into site/
	$(BIN)/thetahouse docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "the site: site/index.html"
