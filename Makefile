# Every target sets up what it needs, and no more; `make` alone lists them.

PYTHON ?= python3

TOOLS := .local/tools
BOOTSTRAP := $(TOOLS)/bootstrap
UV := $(BOOTSTRAP)/bin/uv
VENV := .venv
RUN := $(VENV)/bin/python
SAM := $(TOOLS)/sam/bin/sam

# A stamp is newer than the requirements it stands for as long as they are installed.
BOOTSTRAPPED := $(BOOTSTRAP)/.installed
SAM_INSTALLED := $(TOOLS)/sam/.installed
MINISTACK_INSTALLED := $(TOOLS)/ministack/.installed
LAMBDA_INSTALLED := $(TOOLS)/lambda/.installed
CHECKOV_INSTALLED := $(TOOLS)/checkov/.installed
DOCS_INSTALLED := $(TOOLS)/docs/.installed
SCHEMAS_INSTALLED := $(TOOLS)/schemas/.installed
DEMO_INSTALLED := $(VENV)/.demo-installed
COST_INSTALLED := $(VENV)/.cost-installed
DEV_INSTALLED := $(VENV)/.dev-installed
DYNAMODB_LOCAL_INSTALLED := .local/dynamodb-local/.installed
AXE_INSTALLED := .local/axe-core/.installed
CDK_INSTALLED := .local/aws-cdk-lib/.installed
MERMAID_INSTALLED := .local/mermaid/.installed
SWAGGER_INSTALLED := .local/swagger-ui/.installed
DYNALITE_INSTALLED := .local/dynalite/.installed
CLIENTS_INSTALLED := $(TOOLS)/clients/.installed
FASTAPI_INSTALLED := $(TOOLS)/fastapi/.installed
FILES_INSTALLED := $(TOOLS)/files/.installed
OLDER_ZONES_INSTALLED := $(TOOLS)/older-zones/.installed
NODE_INSTALLED := .local/examples/clients/typescript/.installed .local/examples/node-producer/.installed

STACK := $(SAM_INSTALLED) $(MINISTACK_INSTALLED) $(DEMO_INSTALLED)
TESTS := $(STACK) $(DEV_INSTALLED) $(LAMBDA_INSTALLED) $(DYNAMODB_LOCAL_INSTALLED) $(AXE_INSTALLED) \
	$(CLIENTS_INSTALLED) $(FASTAPI_INSTALLED) $(NODE_INSTALLED) $(CDK_INSTALLED) $(OLDER_ZONES_INSTALLED) \
	$(FILES_INSTALLED)
SITE := $(DOCS_INSTALLED) $(MERMAID_INSTALLED) $(SWAGGER_INSTALLED)
CHECKS := $(SAM_INSTALLED) $(DEV_INSTALLED) $(CHECKOV_INSTALLED) $(SCHEMAS_INSTALLED) $(OLDER_ZONES_INSTALLED) $(SITE)

export SAM_CLI_TELEMETRY := 0
export SCARF_ANALYTICS := false
# Whom the system trusts, uv trusts too: behind a proxy with a certificate of its own, for one.
export UV_SYSTEM_CERTS := 1
unexport VIRTUAL_ENV
# Where this is set, each of the hundreds of processes of a test run compiles every module that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help:
	@sed -n 's/^\([a-z.-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | column -t -s '|'

.PHONY: setup
setup: $(TESTS) $(CHECKS) ## install everything that the other targets need

.PHONY: demo
demo: $(STACK) ## deploy into an embedded AWS, post activity, check every rank
	@$(RUN) -m demo $(DEMO_ARGS)

.PHONY: serve
serve: $(STACK) ## the same deployment with simulated activity, until Ctrl-C; SERVE_ARGS=--keep keeps its data
	@$(RUN) -m demo.serve $(SERVE_ARGS)

.PHONY: test
test: $(TESTS) ## before each commit: a sample of everything; three to nine minutes on two processors
	@echo "a sample of every kind of test: three to nine minutes on two processors"
	@$(RUN) -m pytest -m "not thorough" -n auto --dist loadgroup $(PYTEST_ARGS)

# Some tests wait for minutes, for a deployment or a deletion: one process more than processors.
PROCESSES = $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

.PHONY: test-all
test-all: $(TESTS) ## before a change is accepted; SEEDS=10 tries ten times as many seeds, on boards ten times as large
	$(RUN) -m pytest -n $(PROCESSES) --dist loadgroup $(PYTEST_ARGS)

.PHONY: local
local: $(TESTS) ## sam local invoke on every sample event, and sam local start-api; needs Docker
	$(RUN) -m pytest tests/docker $(PYTEST_ARGS)

SIZE ?= full

.PHONY: bench
bench: $(DEV_INSTALLED) $(OLDER_ZONES_INSTALLED) ## every figure of the pages; SIZE=small sees in minutes that all of it runs
	PYTHONPATH=layers/standings $(RUN) -m benchmarks --size $(SIZE)

.PHONY: units
units: $(DEV_INSTALLED) ## count what ranks and events cost; writes benchmarks/results and docs/performance.md
	PYTHONPATH=layers/standings $(RUN) -m benchmarks --size $(SIZE) units tie_breaks

.PHONY: reads
reads: $(DEV_INSTALLED) ## count what every kind of read costs, up to a million members; some minutes
	PYTHONPATH=layers/standings $(RUN) -m benchmarks --size $(SIZE) reads

.PHONY: lanes
lanes: $(DEV_INSTALLED) ## how many projectors one board bears, in virtual time; some minutes
	PYTHONPATH=layers/standings $(RUN) -m benchmarks --size $(SIZE) lanes

.PHONY: zones
zones: $(DEV_INSTALLED) $(OLDER_ZONES_INSTALLED) ## which time zones have new rules, and on which days midnight is skipped or comes twice
	PYTHONPATH=layers/standings $(RUN) -m benchmarks zones

.PHONY: beside
beside: $(DEV_INSTALLED) $(FILES_INSTALLED) $(MINISTACK_INSTALLED) $(DYNAMODB_LOCAL_INSTALLED) $(DYNALITE_INSTALLED) ## what rank functions, time zones and engines of other tools answer; a minute
	PYTHONPATH=layers/standings $(RUN) -m benchmarks --size $(SIZE) beside

.PHONY: pictures
pictures: $(STACK) $(DEV_INSTALLED) ## the live page's pictures, and how soon after `make serve` it shows standings
	PYTHONPATH=layers/standings $(RUN) -m benchmarks --size $(SIZE) serve

.PHONY: rolling
rolling: $(DEV_INSTALLED) ## replay a stream of your own in rolling windows, compare and count: make rolling FILE=activity.csv.gz
	PYTHONPATH=layers/standings $(RUN) -m benchmarks.measure.rolling $(FILE) $(ROLLING_ARGS)

.PHONY: replay
replay: rolling

.PHONY: cost
cost: $(COST_INSTALLED) ## dollars of a board of yours: make cost COST_ARGS="--events-per-second 10 --members 1000000"
	@PYTHONPATH=layers/standings $(RUN) -m benchmarks.models.cost.cost $(COST_ARGS)

.PHONY: faults
faults: $(DEV_INSTALLED) ## one schedule of faults again, step by step: make faults SEED=7
	PYTHONPATH=layers/standings $(RUN) -m tests.faults $(or $(SEED),$(error which? make faults SEED=7)) $(SEEDS) $(if $(NOTES),--notes) $(if $(BESTS),--bests) $(if $(TIES),--ties) $(if $(PEOPLE),--people) $(if $(CORRECTIONS),--corrections) $(if $(ENDS),--ends)

.PHONY: safeguards
safeguards: $(DEV_INSTALLED) ## which schedules notice that a safeguard is missing; half an hour
	PYTHONPATH=layers/standings $(RUN) -m tests.faults.safeguards $(SAFEGUARDS_ARGS)

N ?= 200

.PHONY: mutants
mutants: $(TESTS) ## which small changes of the product the tests notice: make mutants SEED=1 N=200 AREA=read
	PYTHONPATH=layers/standings $(RUN) -m tests.mutants $(or $(SEED),$(error which? make mutants SEED=1)) $(N) $(AREA)

.PHONY: findings
findings: ## run findings/: where other tools do what nobody guesses, and whether they still do; a quarter of an hour
	@failed=""; for script in findings/*.sh; do echo "$$script"; bash "$$script" || failed="$$failed $$script"; done; \
		[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

.PHONY: openapi
openapi: $(DEV_INSTALLED) ## write functions/query/openapi.json, as http.CALLS and api/ have it
	PYTHONPATH=layers/standings $(RUN) -m api

ISSUE_CONFIG := .github/ISSUE_TEMPLATE/config.yml
# $(call conforms,schema,files)
conforms = $(TOOLS)/schemas/bin/check-jsonschema --builtin-schema vendor.$(1) $(2)

.PHONY: check
check: $(CHECKS) ## formatter, linter, types, import rules, all that is known of the template, the pages
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy layers/standings functions api benchmarks standings_cli demo package tests docs/site \
		examples/backend examples/reader/function examples/leagues/function
	PYTHONPATH=layers/standings $(VENV)/bin/lint-imports --no-logo
	AWS_DEFAULT_REGION=us-east-1 $(SAM) validate --lint
	$(VENV)/bin/cfn-lint --append-rules cfn_lint_serverless.rules -- template.yaml
	$(TOOLS)/sam/bin/python -m package.unbuilt .local/expanded template.yaml $(wildcard examples/*/template.yaml)
	$(VENV)/bin/cfn-lint -- $(wildcard examples/*/template.yaml) .local/expanded/*.json
	$(TOOLS)/checkov/bin/checkov --file template.yaml
	$(call conforms,github-workflows,$(wildcard .github/workflows/*.yml examples/*/deploy.yml))
	$(call conforms,github-issue-config,$(ISSUE_CONFIG))
	$(call conforms,github-issue-forms,$(filter-out $(ISSUE_CONFIG),$(wildcard .github/ISSUE_TEMPLATE/*.yml)))
	$(call conforms,dependabot,.github/dependabot.yml)
	$(call conforms,citation-file-format,CITATION.cff)
	$(TOOLS)/schemas/bin/check-jsonschema --schemafile .devcontainer/schema.json .devcontainer/devcontainer.json
	$(RUN) -m pytest tests/documents $(PYTEST_ARGS)
	@$(MAKE) --no-print-directory docs

# The variable leaves out that the theme has a successor; requirements/docs.in says why it stays.
.PHONY: docs
docs: $(SITE) ## the documentation as a site, in .local/site/index.html, with every link checked
	NO_MKDOCS_2_WARNING=1 $(TOOLS)/docs/bin/mkdocs build

.PHONY: build
build: $(SAM_INSTALLED) ## sam build, with the template's own runtime and processor
	PATH="$(CURDIR)/$(BOOTSTRAP)/bin:$$PATH" $(SAM) build $(SAM_ARGS)

# Its recipe is expanded before a line of it runs, so a bucket that is missing is told at once.
.PHONY: package
package: $(SAM_INSTALLED) ## a template for CloudFormation, CDK and Terraform, dist/template.json: make package BUCKET=a-bucket-of-yours
	@$(TOOLS)/sam/bin/python -m package.bucket $(BUCKET)
	@$(MAKE) --no-print-directory build
	@$(SAM) package --s3-bucket $(or $(BUCKET),$(error which bucket of yours? make package BUCKET=name)) \
		--s3-prefix standings --output-template-file .aws-sam/packaged.yaml >/dev/null
	@mkdir -p dist
	@$(TOOLS)/sam/bin/python -m package .aws-sam/packaged.yaml dist/template.json
	@echo "wrote dist/template.json; its code is in s3://$(BUCKET)/standings/"

trial.yaml: template.yaml ## the template for trials: tables and buckets are deleted with the stack
	sed 's/RetainExceptOnCreate/Delete/' template.yaml > $@

.PHONY: target
target: $(STACK) ## the parameters of sam that fit the embedded AWS, which runs functions with a Python of this machine
	@$(RUN) -c 'from demo.embedded.stack import target; print(*target())'

.PHONY: clean
clean: ## remove all that the targets have set up and built
	rm -rf .local $(VENV) .aws-sam build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# ---- environments, each with pins of its own

# $(call install,environment,requirements,what for), the last without a comma. Where uv cannot reach the index as pip is
# configured to, pip does the same, slowly.
define install
	@echo "installing $(notdir $(2)) into $(1): $(3)"
	@test -x $(1)/bin/python || $(UV) venv --quiet --python $(BOOTSTRAP)/bin/python $(1)
	@$(UV) pip install --quiet --python $(1)/bin/python --requirement $(2) || \
		$(BOOTSTRAP)/bin/python -m pip --python $(1)/bin/python install --quiet --requirement $(2)
	@touch $@
endef

$(BOOTSTRAPPED): requirements/bootstrap.txt
	@command -v $(PYTHON) >/dev/null || \
		{ echo "$(PYTHON) not found: install Python 3.11 or newer, or say PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$$($(PYTHON) --version) is too old: Standings needs Python 3.11 or newer;" \
		"choose one with PYTHON=…" >&2; exit 1; }
	@echo "installing $(notdir $<) into $(BOOTSTRAP): uv, which installs the others, and the Python that builds the layer"
	@$(PYTHON) -m venv --clear $(BOOTSTRAP)
	@$(BOOTSTRAP)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(SAM_INSTALLED): requirements/sam.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/sam,$<,the SAM CLI that builds and deploys)

$(MINISTACK_INSTALLED): requirements/ministack.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/ministack,$<,the embedded AWS)

$(CHECKOV_INSTALLED): requirements/checkov.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/checkov,$<,checks of the template)

$(DOCS_INSTALLED): requirements/docs.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/docs,$<,the generator of the site)

$(SCHEMAS_INSTALLED): requirements/schemas.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/schemas,$<,checks of workflows and other files by their schemas)

# What makes Python clients, and what these need.
$(CLIENTS_INSTALLED): requirements/clients.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/clients,$<,the generator of typed clients for tests)

# What the example beside the asynchronous client needs.
$(FASTAPI_INSTALLED): requirements/fastapi.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/fastapi,$<,FastAPI for the example beside the asynchronous client)

# What writes the files of tables for tests, and what reads those of examples/files.
$(FILES_INSTALLED): requirements/files.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/files,$<,what writes and reads files for tests)

# Time zones as an older system has them: a package of data.
$(OLDER_ZONES_INSTALLED): requirements/older-zones.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/older-zones,$<,the time zones of a year before for tests)

# What Lambda's own Python brings beside the function and its layer.
$(LAMBDA_INSTALLED): requirements/lambda.txt $(BOOTSTRAPPED)
	$(call install,$(TOOLS)/lambda,$<,the runtime of Lambda for tests)

# With the command line, whose modules stay where they are.
$(DEMO_INSTALLED): requirements/demo.txt pyproject.toml $(BOOTSTRAPPED)
	$(call install,$(VENV),$<,the command line and the demo)
	@$(UV) pip install --quiet --python $(RUN) --no-deps --editable . || \
		$(BOOTSTRAP)/bin/python -m pip --python $(RUN) install --quiet --no-deps --editable .
	@ln -sf ../../$(SAM) $(VENV)/bin/sam

$(COST_INSTALLED): requirements/cost.txt $(DEMO_INSTALLED)
	$(call install,$(VENV),$<,what reads and computes costs)

$(DEV_INSTALLED): requirements/dev.txt $(DEMO_INSTALLED)
	$(call install,$(VENV),$<,tests and linters and benchmarks)

FOR_dynamodb-local := DynamoDB as Amazon gives it to developers, for tests
FOR_axe-core := the check that people with disabilities can use the pages
FOR_aws-cdk-lib := the CDK, which deploys the packaged template in a test
FOR_mermaid := the diagrams of the site
FOR_swagger-ui := what shows the description of the API on the site
FOR_dynalite := an engine that people test on, to see what it does

# Tests skip without the first three and say so; .ci/run lets none skip. The site shows the text of diagrams without mermaid,
# and no description of the API without swagger-ui.
$(DYNAMODB_LOCAL_INSTALLED) $(AXE_INSTALLED) $(CDK_INSTALLED) $(MERMAID_INSTALLED) $(SWAGGER_INSTALLED) $(DYNALITE_INSTALLED): .local/%/.installed: requirements/%.txt
	@mkdir -p $(@D)
	@if command -v npm >/dev/null; then \
		echo "installing $$(cat $<) into $(@D): $(or $(FOR_$*),$(error no purpose of $*))"; \
		npm install --silent --no-fund --no-audit --no-save --prefix $(@D) "$$(cat $<)" && touch $@; \
	else \
		echo "npm is missing (apt-get install npm): what needs $* will be left out" >&2; \
	fi

# What the examples in TypeScript and JavaScript need, as their package.json says.
$(NODE_INSTALLED): .local/%/.installed: %/package.json
	@mkdir -p $(@D)
	@if command -v npm >/dev/null; then \
		echo "installing $< into $(@D): an example, for its tests"; \
		cp $< $(@D) && npm install --silent --no-fund --no-audit --no-package-lock --prefix $(@D) && touch $@; \
	else \
		echo "npm is missing (apt-get install npm): tests with $* will skip" >&2; \
	fi
