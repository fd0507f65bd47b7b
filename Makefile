# Two commands are all a newcomer needs: make run, make test.

GO         ?= go
BIN        := bin/gatewaytui
VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS    := -s -w -X main.version=$(VERSION)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT    := mvdan.cc/gofumpt@v0.12.0
DUPL       := github.com/mibk/dupl@v1.1.0
GOVULN     := golang.org/x/vuln/cmd/govulncheck@latest
VULNDB     := https://vuln.go.dev

# The systems that a release has a binary for. check builds and vets each of them.
TARGETS    := linux/amd64 linux/arm64 darwin/arm64

.PHONY: run build release test fast one soak check fmt bench fuzz clean

ARGS ?= --demo
run: build ## build, and open the console on a demo; ARGS= runs the gateway that the config describes
	$(BIN) $(ARGS)

build: ## build the static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/gatewaytui

RELEASE := bin/release
release: ## a static binary for each target in bin/release, with SHA256SUMS
	rm -rf $(RELEASE) && mkdir -p $(RELEASE)
	@set -e; for target in $(TARGETS); do \
		out=$(RELEASE)/gatewaytui-$${target%/*}-$${target#*/}; echo "build $$out ($(VERSION))"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $$out ./cmd/gatewaytui; \
	done
	cd $(RELEASE) && { command -v sha256sum >/dev/null && sha256sum gatewaytui-* || shasum -a 256 gatewaytui-*; } > SHA256SUMS

# Many tests wait, so packages run four at once even where there are fewer cores.
PACKAGES   := $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); [ $$n -gt 4 ] && echo $$n || echo 4)

# The race detector sees the memory of Go. SQLite and its C library are C that was translated to Go: they work in memory of their own,
# which the detector skips at each access. Built without it, SQLite is as well checked as before, and takes a fifth of the time. The
# driver is built with it. No process sleeps for a second at its end, as the detector has it otherwise. Debug information, which no test
# reads, is left out. make check has the vet.
RACE       := -race -gcflags=all=-dwarf=false -gcflags='modernc.org/...=-race=false -dwarf=false' -gcflags=modernc.org/sqlite=-dwarf=false -ldflags='-s -w' -vet=off
export GORACE := atexit_sleep_ms=0

# The tests of the built program mostly wait: they run while the others are built, and print their results at the end.
test: ## every test, with the race detector; without it those that read the sources and those of the built program, which has none
	@echo "make test: building the packages takes a minute or two before the first result ($$(date +%T))"
	@out=$$(mktemp) && trap 'rm -f "$$out"' EXIT; trap 'kill -INT $$built 2>/dev/null; exit 130' INT TERM; \
	CGO_ENABLED=0 $(GO) test -trimpath -vet=off -timeout 10m ./core ./cmd/gatewaytui/e2e >"$$out" 2>&1 & built=$$!; \
	$(GO) test $(RACE) -p $(PACKAGES) -timeout 15m $$($(GO) list ./... | grep -v -e '/core$$' -e '/e2e$$'); packages=$$?; \
	wait $$built; built=$$?; cat "$$out"; exit $$((packages + built))

fast: ## the quick tests, without the race detector: within a minute once the packages are built
	$(GO) test -short -p $(PACKAGES) -timeout 2m ./...

PKG ?= ./...
RUN ?= .
one: ## one test: make one PKG=./core/store RUN=TestName
	$(GO) test $(RACE) -count=1 -v -timeout 10m -run '$(RUN)' $(PKG)

soak: ## every test with its full counts and every peer, in less than two hours
	GATEWAYTUI_SOAK=1 $(GO) test $(RACE) -count=1 -timeout 115m ./...

# The build tags that leave all platforms out of the program but Telegram and the API.
LEFT_OUT   := $(shell sed -n 's,^//go:build !,,p' core/platforms/*.go | paste -sd, -)

# What vet finds on one Linux it finds on the other. The flags of the build are those of the tests, which compiled most of it.
check: ## format, build for each target, vet, staticcheck, tidy, exported names, lock order and code that is there twice (theme.go and badge.go are tables of colours and of words); known vulnerabilities where their database can be reached
	@out=$$($(GO) run $(GOFUMPT) -l .); test -z "$$out" || { echo "not formatted (make fmt):"; echo "$$out"; exit 1; }
	@set -e; for target in $(TARGETS); do \
		echo "build for $$target"; export CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/}; $(GO) build -trimpath -o /dev/null ./cmd/gatewaytui; \
		if [ "$$target" != linux/arm64 ]; then $(GO) vet -trimpath ./...; fi; \
	done
	CGO_ENABLED=0 $(GO) vet -trimpath -tags '$(LEFT_OUT)' ./core/platforms
	CGO_ENABLED=0 GOFLAGS="$(GOFLAGS) -trimpath" $(GO) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff
	CGO_ENABLED=0 GOFLAGS="$(GOFLAGS) -trimpath" $(GO) run ./fixtures/house
	@out=$$(find core cmd tui views -name '*.go' ! -name '*_test.go' ! -name theme.go ! -name badge.go | $(GO) run $(DUPL) -files -plumbing -t 80); test -z "$$out" || { echo "the same code twice:"; echo "$$out"; exit 1; }
	@curl -sfm 10 -o /dev/null $(VULNDB)/index/db.json || { echo "govulncheck: left out, since $(VULNDB) is out of reach here"; exit 0; }; \
	$(GO) run $(GOVULN) -db $(VULNDB) ./... || echo "govulncheck: did not run to its end or found something; not part of the verdict"

fmt: ## format the code
	$(GO) run $(GOFUMPT) -w .

BENCH ?= .
bench: ## the figures of the README
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 30m ./...

FUZZTIME ?= 10s
fuzz: ## each fuzz target for FUZZTIME
	@for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$pkg || exit 1; \
		done; \
	done

clean: ## remove what was built
	rm -rf bin
