# rollcall: `make help` lists the targets.
GO      ?= go
BIN     := bin/rollcall
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X rollcall/bench/run.version=$(VERSION)
# Linters have dependencies of their own, which must not pull those of the program along: they are pinned in a module file apart.
TOOLS   := $(GO) tool -modfile=.ci/tools.mod
FUZZTIME ?= 10s

# CUDA (tag gpu) takes cgo and a C compiler, and nothing of NVIDIA's: gorgonia.org/cu is compiled against our cuda.h and linked
# against our empty libcuda.a. Without them the program is built for the CPU alone. Ours come first: a CUDA toolkit that is
# installed does not get in the way. Calling go by hand: eval "$(make -s env)".
DRIVER  := $(CURDIR)/nets/gpu/driver
override CGO_CFLAGS  := "-I$(DRIVER)" $(or $(CGO_CFLAGS),-O2 -g)
override CGO_LDFLAGS := "-L$(DRIVER)/lib" $(or $(CGO_LDFLAGS),-O2 -g)
# Without the folder's path in what is compiled, the program, its tests and its linters share what they compile, in all clones.
override GOFLAGS := -trimpath $(GOFLAGS)
export CGO_CFLAGS CGO_LDFLAGS GOFLAGS
HOST    := $(subst $() ,/,$(shell $(GO) env CGO_ENABLED GOOS GOARCH))
TAGS    := $(if $(filter 1/linux/amd64 1/linux/arm64,$(HOST)),-tags=gpu)

.DEFAULT_GOAL := help
.PHONY: help env build test test-long test-gpu gpu-kit gpu-data wheel race fuzz lint vuln fmt generate check-generated kernels check-kernels check-ptx check-driver limits predict bench-cifar bench-svhn bench-cinic nightly replay-cheap replay-fedawe replay-cafed replay-fedar scoreboard clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: ## print what go needs in the environment to build with -tags gpu
	@printf "export CGO_CFLAGS='%s' CGO_LDFLAGS='%s'\n" '$(CGO_CFLAGS)' '$(CGO_LDFLAGS)'

build: ## build bin/rollcall, with CUDA where there is a C compiler
	@$(if $(TAGS),,echo 'rollcall: no C compiler or cgo is off: building without CUDA' >&2)
	$(GO) build $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN) ./bench

test: ## run the tests
	$(GO) vet ./...
	$(if $(TAGS),$(GO) vet $(TAGS) ./...)
	@$(if $(TAGS),command -v g++ >/dev/null,false) || echo 'rollcall: no g++ (or no cgo): the CUDA kernels are not tested, for want of the emulator' >&2
	$(GO) test $(TAGS) -vet=off -timeout 60m ./...

test-long: ## run the tests, and those of minutes: every attack, killed sixty times
	ROLLCALL_TEST_LONG=1 $(GO) test $(TAGS) -count=1 -timeout 120m ./...

test-gpu: ## run the tests of the CUDA engine on the first GPU of this machine; they skip, saying why, where there is none
	ROLLCALL_TEST_GPU=1 $(GO) test $(TAGS) -count=1 -v -timeout 60m ./nets/gpu/...
	ROLLCALL_TEST_GPU=1 $(GO) test $(TAGS) -count=1 -v -timeout 60m -run 'CUDA' ./bench/e2e

KIT := bin/gpu-kit
# What the test binaries and the peers read, each where it lies in the checkout.
KIT_FILES := nets/gpu nets/models/testdata bench/e2e/testdata bench/peers bench/python Dockerfile.cuda
# xz with a window over the whole kit finds that the programs share most of their bytes.
gpu-kit: ## pack bin/card.sh and bin/gpu-kit.tar.xz, which check and time a card on a machine without Go and checkout
	@rm -rf $(KIT) && mkdir -p $(KIT)/src && cp nets/gpu/card.sh $(KIT)/ && cp nets/gpu/card.sh $(dir $(KIT))
	$(GO) build -tags=gpu -ldflags '-s -w $(LDFLAGS)' -o $(KIT)/rollcall ./bench
	$(GO) test -c -tags=gpu -ldflags '-s -w' -o $(KIT)/ ./nets/gpu/driver ./nets/gpu/kernels ./nets/gpu ./bench/e2e
	tar -c --exclude=__pycache__ $(KIT_FILES) | tar -x -C $(KIT)/src
	XZ_OPT='--lzma2=preset=2,dict=192MiB' tar -C $(dir $(KIT)) -cJf $(KIT).tar.xz $(notdir $(KIT)) && rm -r $(KIT)

PIECE ?= 44m
gpu-data: build ## pack CIFAR-10 into pieces below 45 MiB for a machine that cannot fetch it, which `card.sh data` joins there
	$(BIN) data verify cifar10
	@rm -f bin/gpu-data.*
	folder=$$($(BIN) data list | sed -n 's/^cifar10 *//p') && \
		tar -C "$$(dirname "$$folder")" -cz "$$(basename "$$folder")" | split -d -a 2 -b $(PIECE) - bin/gpu-data.
	cd bin && sha256sum gpu-data.[0-9]* >gpu-data.sums

# With CUDA for the C library of today, and without it and without any C library for older systems and musl.
wheel: ## pack the program and its Python package into bin/wheel, with CUDA and without (Linux on amd64, pip and PyPI)
	@$(if $(filter 1/linux/amd64,$(HOST)),,echo 'rollcall: wheel: want Linux on amd64, with cgo and a C compiler' >&2; exit 1)
	rm -f bin/wheel/rollcall_fl-*.whl
	$(GO) build -tags=gpu -ldflags '-s -w $(LDFLAGS)' -o bin/wheel/cuda ./bench
	CGO_ENABLED=0 $(GO) build -ldflags '-s -w $(LDFLAGS)' -o bin/wheel/static ./bench
	for program in cuda static; do \
		ROLLCALL_WHEEL_BINARY='$(CURDIR)/bin/wheel/'$$program ROLLCALL_WHEEL_VERSION='$(VERSION)' \
			python3 -m pip wheel -q --no-deps -w bin/wheel ./bench/python && rm bin/wheel/$$program || exit 1; \
	done

# Plain Go takes ten times as long under the race detector, which sees nothing in one goroutine: only what runs at once is tested.
RACES := AtOnce|Together|SideBySide|Cancel|Interrupted|Pool|Grace|NextPlans|Cache$$|FirstError|LEAFSet|Lost|Combine|Write$$
race: ## run the tests of what runs at once under the race detector
	$(GO) test $(TAGS) -race -short ./internal/lock ./bench/run/folder ./bench/run/progress ./internal/files
	$(GO) test $(TAGS) -race -short -run '$(RACES)' ./algos ./bench/cli ./bench/e2e ./bench/many ./bench/run ./datasets ./nets/cpu ./nets/gpu ./results/report

fuzz: ## fuzz every parser for FUZZTIME each
	@for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' .); do \
		for name in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/p' $$f); do \
			echo "$$name in $$(dirname $$f)"; \
			$(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$(dirname $$f) || exit 1; \
		done; \
	done

lint: ## check formatting, style and imports
	@out=$$($(TOOLS) gofumpt -modpath rollcall -l .); test -z "$$out" || { echo "gofumpt: not formatted:"; echo "$$out"; exit 1; }
	$(TOOLS) golangci-lint run $(TAGS:-tags%=--build-tags%) ./...

vuln: ## look the dependencies up in Go's vulnerability database (needs the network)
	$(TOOLS) govulncheck $(TAGS) ./...

fmt: ## format the code
	$(TOOLS) gofumpt -modpath rollcall -w .

generate: ## regenerate the assembly of nets/cpu/kernels
	$(GO) generate ./nets/cpu/kernels/asm

check-generated: generate ## fail if regenerating changes anything
	git diff --exit-code -- 'nets/cpu/kernels/asm/*.s'

kernels: ## regenerate the PTX of nets/gpu/kernels (clang-19)
	$(GO) generate ./nets/gpu/kernels

check-kernels: ## fail if regenerating the PTX would change anything
	cd nets/gpu/kernels && $(GO) run ./gen -check

# CHECK_PTX=-optional lets a machine pass that cannot get the assemblers.
check-ptx: ## assemble the PTX with NVIDIA's assemblers, from PyPI, and hold the machine code to its limits
	$(GO) run ./nets/gpu/sass/check $(CHECK_PTX)

# CHECK_DRIVER=-optional lets a machine pass that cannot get the library.
check-driver: ## hold what the program knows of the driver to NVIDIA's own library, from Debian, without a card
	@$(if $(TAGS),,echo 'rollcall: check-driver: want cgo and a C compiler' >&2; exit 1)
	@library=$$(nets/gpu/driver/libcuda.sh $(CHECK_DRIVER)) && if [ -n "$$library" ]; then \
		export ROLLCALL_TEST_LIBCUDA="$$library" && \
		$(GO) test $(TAGS) -vet=off -count=1 -v -run 'TestHardware(Symbols|Names)$$|TestDriverWithoutCard$$' \
			./nets/gpu/driver ./bench/e2e; \
	fi

limits: ## rewrite the limits of check-ptx
	$(GO) run ./nets/gpu/sass/check -update

PREDICT ?= cnn-cifar10 tf32 5 37 100
PREDICT_CARD ?= H200 H100 A100
predict: ## predict the launches of a step from machine code: PREDICT='net precision clients…' PREDICT_CARD='A100 …'
	@$(if $(TAGS),,echo 'rollcall: predict: want cgo and a C compiler' >&2; exit 1)
	ROLLCALL_PREDICT='$(PREDICT)' ROLLCALL_PREDICT_CARD='$(PREDICT_CARD)' $(GO) test $(TAGS) -count=1 -v -timeout 30m -run 'TestPredict$$' ./nets/gpu

bench-cifar: build ## measure this machine on CIFAR-10 (on synthetic data if it cannot be had)
	$(BIN) bench --data cifar10

bench-svhn: build ## the same on SVHN
	$(BIN) bench --data svhn

bench-cinic: build ## the same on CINIC-10
	$(BIN) bench --data cinic10

HISTORY ?= results/history
nightly: build ## measure the standard workloads, append to HISTORY, fail on a regression: NIGHTLY='flags of track run'
	$(BIN) track run --history '$(HISTORY)' $(NIGHTLY)

OUT ?= out/replay
replay-cheap: build ## run what takes hours at the papers' size, keep its files in results/replay; a repeated call resumes
replay-fedawe: build ## the same for all of FedAWE's paper, which takes days; machines may share OUT
replay-cafed: build ## the same for CA-Fed's
replay-fedar: build ## the same for FedAR's
replay-cheap replay-fedawe replay-cafed replay-fedar:
	OUT='$(OUT)' ROLLCALL='$(BIN)' FLAGS='$(FLAGS)' results/replay/replay.sh $(@:replay-%=%)

scoreboard: ## rewrite the tables of docs/reproduction and README.md from results/replay
	go run ./results/scoreboard

clean: ## remove what was built and written
	rm -rf bin out
