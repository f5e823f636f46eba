# gompy: `make run` shows it at work, `make check` tests it; `make help` lists the rest.

PYTHON  ?= $(shell [ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
VENV    := .venv
BIN     := $(VENV)/bin
, := ,
NATIVE  := gompy/_native/.stamp
LOOPS   := gompy/_native/accel/.stamp
# What gompy/native/generate.py makes, which is newer than the beginning of its build; git is told to leave it out.
GENERATED := $(patsubst /%,%,$(shell grep ^/gompy/native/ .gitignore))
SOURCES := setup.py pyproject.toml $(filter-out $(wildcard $(GENERATED)),$(shell find gompy crtoffload lto_wrapper -path gompy/_native -prune -false -o -name '*.pyx' -o -name '*.pxi' -o -name '*.pxd' -o -name '*.[ch]' -o -path '*/cudart/include/*' -o -path '*/abi/*.py' -o -path '*/native/*.py' -o -path '*/crtoffload/*.py' -o -path '*/ptx/*.py'))

.DEFAULT_GOAL := all
.PHONY: all debug help run check test check-slow lint bench bench-turns bench-ispras packages clean distclean check-target-libgomp check-accel check-libomptarget check-corpus check-faults check-matrix check-suites check-alarms check-races check-regions check-opencl check-installs check-sanitizers check-endurance check-random check-newcomer check-projects deb check-deb check-docs docs programs sample sample-nvptx check-packages gcc-tests

all: $(NATIVE) $(LOOPS)  ## set up, build; the commands are in .venv/bin

help:  ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

packages:  ## the Debian packages that the build and the tests need
	@sh .ci/packages

check-packages:  ## those without which some tests are skipped
	@sh .ci/packages check

# With a mark of its own: $(BIN)/python is a link to the system's Python, whose times are not ours to change.
$(VENV)/.made: pyproject.toml .ci/packages
	@sh .ci/packages
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'setuptools>=77' wheel 'Cython>=3.0.10'
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml setup.py $(wildcard gompy/driver/scripts/* gompy/driver/front*.* gompy/native/kept_entries.h gompy/*/options.py)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --config-settings editable_mode=compat --editable '.[dev]'
	@touch $@

# The mark is as old as the build's beginning: what is edited meanwhile is newer.
$(NATIVE): $(VENV)/.installed $(SOURCES)
	@mkdir -p $(@D) && touch $@.begun
	@$(BIN)/python setup.py --quiet build_native
	@mv $@.begun $@

# The plugin by which -foffload-check is fast: where gcc's headers for plugins cannot be had, there is none.
$(LOOPS): $(wildcard gompy/accel/hooks/loops*) gompy/accel/loops.py | $(NATIVE)
	@sh .ci/packages plugin
	@mkdir -p $(@D) && touch $@.begun
	@$(BIN)/python -m gompy.accel.loops
	@mv $@.begun $@

debug:  ## the compiled parts with AddressSanitizer and UBSan, at -O1; `make` puts the usual ones back
	@rm -f $(NATIVE)
	@GOMPY_BUILD=debug $(MAKE) --no-print-directory $(NATIVE)
	@rm -f $(NATIVE)

run: all  ## compile the examples, run them on the emulated device, show what happened
	@$(BIN)/python examples/run.py

lint: all  ## ruff, mypy, cython-lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/cython-lint --no-pycodestyle gompy

gcc-tests: all  ## unpack GCC's libgomp tests, with the headers that ours are compared with, if their package is there
	@$(BIN)/python -c "from testsuite.gcc_suite.source import at_hand, default_tests; at_hand() and default_tests()"

test: all  ## pytest, of what takes long a sample
	@$(BIN)/python -m pytest -q -n 2 -m "not slow" tests

check-slow: all  ## the tests that `make check` leaves out: a quarter of an hour
	@$(BIN)/python -m pytest -q -n 2 -m slow tests

programs: all  ## the dg- programs below testsuite/gompy
	@GOMPY_ACCEL=gcc $(BIN)/python -m pytest -q -n 2 testsuite

check: lint check-packages gcc-tests test programs sample sample-nvptx  ## lint, most of pytest, our dg- programs, a sample of GCC's tests

# As in GCC: RUNTESTFLAGS="c.exp=target-*.c", -j2; besides ALL=1, OFFLOAD_TARGET=intelmic|nvptx|disable, CC="a compiler".
# GCC=14: that release's tests with that compiler, by testsuite/run_gcc_tests.py; also OFFLOAD_TARGET=nvptx. OpenACC's: 14.
# STOCK=1 beside GCC=14 OFFLOAD_TARGET=nvptx: gcc's own runtime and plugin on the emulated driver.
STOCK_OPTIONS = -fno-pie -no-pie -Wl,--no-as-needed -foffload=nvptx-none -foffload-options=nvptx-none=-Wa,--no-verify
STOCK_PATH = LD_LIBRARY_PATH=$$($(BIN)/gompy config --cuda-libdir)
check-target-libgomp: all  ## GCC's own libgomp testsuite under DejaGnu
ifdef GCC
	@GOMPY_ACCEL=gcc $(if $(filter nvptx,$(OFFLOAD_TARGET)),GOMPY_CUDA=emulated) $(and $(STOCK),$(STOCK_PATH)) \
	  $(BIN)/python testsuite/run_gcc_tests.py --gcc $(GCC) -q \
	  $(if $(filter nvptx,$(OFFLOAD_TARGET)),--cc "$(if $(STOCK),gcc-$(GCC) $(STOCK_OPTIONS),gompcc -foffload=nvptx-none)") \
	  $(if $(filter 14-,$(GCC)-$(OFFLOAD_TARGET:intelmic=)),,--dirs libgomp.c$(,)libgomp.c++$(,)libgomp.fortran) \
	  --out testsuite/out/gcc-$(GCC)-$(or $(OFFLOAD_TARGET),intelmic)$(and $(STOCK),-stock) $(TESTS)
else
	@GOMPY_ACCEL=$${GOMPY_ACCEL:-gcc} $(BIN)/python testsuite/check_target_libgomp.py \
	  $(if $(filter command,$(origin CC)),--cc "$(CC)") $(if $(filter 1,$(ALL)),--all) $(if $(filter rest,$(ALL)),--rest) \
	  $(if $(OFFLOAD_TARGET),--offload-target $(OFFLOAD_TARGET)) $(if $(RUNTESTFLAGS),--runtestflags '$(RUNTESTFLAGS)') \
	  $(patsubst -j%,-j %,$(filter-out -j,$(filter -j%,$(MFLAGS)))) $(TESTS)
endif

# A release's tests are for its own compiler, whichever is the machine's default: messages differ, and what counts.
sample: all  ## a part of GCC's libgomp tests, if Debian's gcc-12-source is there; GCC=14: that release's
	@GOMPY_ACCEL=gcc $(BIN)/python testsuite/run_gcc_tests.py --sample -q --out testsuite/out/sample \
	  --gcc $(or $(GCC),12) $(if $(GCC),--dirs libgomp.c$(,)libgomp.c++$(,)libgomp.fortran)

NVPTX_SAMPLE = GOMPY_CUDA=emulated $(BIN)/python testsuite/run_gcc_tests.py --sample -q --gcc 12 --expected nvptx \
  --dirs libgomp.c,libgomp.c++,libgomp.fortran --out testsuite/out/sample-nvptx

sample-nvptx: all  ## the same for nvptx on the emulated GPU, with gompy and with gcc's own runtime
	@$(NVPTX_SAMPLE) --cc "gompcc -foffload=nvptx-none"
	@$(STOCK_PATH) $(NVPTX_SAMPLE)-stock --cc "gcc-12 $(STOCK_OPTIONS)"

# LLVMFLAGS="--llvm 19", "--stock", "--nvptx", "--plugin", "--info", "--tools", "--ompt", "-j 1", "--filter mapping/".
check-libomptarget: all  ## LLVM 16's and 19's own tests of libomptarget, with the library that clang's programs get
	@sh .ci/packages llvm
	@$(BIN)/python testsuite/run_llvm_tests.py $(LLVMFLAGS)
ifndef LLVMFLAGS
	@$(BIN)/python testsuite/run_llvm_tests.py --shared
	@$(BIN)/python testsuite/run_llvm_tests.py --nvptx
	@$(BIN)/python testsuite/run_llvm_tests.py --plugin
	@$(BIN)/python testsuite/run_llvm_tests.py --info
	@$(BIN)/python testsuite/run_llvm_tests.py --tools
	@$(BIN)/python testsuite/run_llvm_tests.py --llvm 19 || test $$? = 77
	@$(BIN)/python testsuite/run_llvm_tests.py --llvm 19 --ompt || test $$? = 77
endif

check-corpus: all  ## gompy run --check on the small programs of testsuite/check, on both devices: the table of docs/diagnosis.md holds
	@$(BIN)/python testsuite/check/run.py --hold docs/diagnosis.md

# CLIENT="numba triton": some of them.
.PHONY: check-clients
check-clients: all  ## programs that use the CUDA driver (numba, tinygrad, Triton): their tests on the emulated GPU; pip may fetch
	@$(BIN)/python testsuite/clients/run.py $(CLIENT)

check-faults: all  ## fail every call to the system that gompy makes, one at a time
	@$(BIN)/python testsuite/faults/run.py $(FAULTS)

# MATRIX="--system trixie --steps run,samples,check": what of it; MIRROR: where debootstrap fetches from.
check-matrix:  ## make run and the samples in fresh trees of other Debian releases, as root
	@sh .ci/packages matrix
	@$(PYTHON) testsuite/matrix/run.py $(if $(MIRROR),--mirror $(MIRROR)) $(MATRIX)

# ALARMS="--way any --filter target-1 --verbose": one way only; some tests; what is said.
check-alarms: all  ## GCC's libgomp tests under gompy run --check: no report but those that are listed; most of an hour
	@$(BIN)/python testsuite/check/gcc_tests.py $(ALARMS)

# RACES="--dirs libgomp.c --filter target-1 --verbose": some of them; what is said.
check-races: all  ## GCC's libgomp tests on the emulated GPU under gompy run --check=race, in the same way; an hour
	@$(BIN)/python testsuite/check/gcc_tests.py --way race $(RACES)

# REGIONS="--dirs libgomp.c --filter target-1 --verbose": some of them; what is asked and said.
check-regions: all  ## the JSON of GCC's libgomp tests beside what their programs ask of the runtime; half an hour
	@$(BIN)/python testsuite/regions/gcc_tests.py $(REGIONS)

# KERNELS="--dirs libgomp.c --filter target-1": some of them.
check-opencl: all  ## OpenCL kernels made of GCC's tests: their share, reasons against the others, results
	@$(BIN)/python testsuite/regions/opencl.py $(KERNELS)

# SUITES="--gcc 15,16", "--devices nvptx", "--tests '-j 2 --filter target-3'".
check-suites:  ## GCC 13's to 16's whole libgomp tests on both devices, in trees of Debian 13 and sid; hours, as root
	@sh .ci/packages matrix
	@$(PYTHON) testsuite/matrix/suites.py $(if $(MIRROR),--mirror $(MIRROR)) $(SUITES)

# WAYS=wheel,read-only: some of them.
check-installs: all  ## every way to install: two equal wheels, pip, pipx, uv, Pythons, trees, recipes; pip may fetch
	@sh .ci/packages installs
	@$(BIN)/python testsuite/installs/run.py $(if $(WAYS),--ways $(WAYS))

# STORM="--builds thread", "--operations 1e5".
check-sanitizers: all  ## random operations of many threads, the compiled parts under ThreadSanitizer, then ASan and UBSan
	@$(BIN)/python testsuite/storm/run.py $(STORM)

check-endurance: all  ## 10^8 random operations of 64 threads on 8 devices against a model, with bounded memory
	@$(BIN)/python testsuite/storm/run.py --long $(STORM)

# RANDOM_PROGRAMS="--first 100 --count 20 --ways nvptx --options --float": other programs.
check-random: all  ## random C programs of csmith as regions on both devices, plain and checked, against the host
	@sh .ci/packages random
	@$(BIN)/python testsuite/random/run.py $(RANDOM_PROGRAMS)

# NEWCOMER="--system trixie": one of the systems.
check-newcomer:  ## docs/start.md typed line by line in fresh trees of Debian 12 and 13, with times, as root
	@sh .ci/packages matrix
	@$(PYTHON) testsuite/installs/newcomer.py $(NEWCOMER)

# PROJECTS="--system trixie": one of the systems.
check-projects:  ## the tests of build systems in fresh trees of Debian 12 and 13 that have them all, as root
	@sh .ci/packages matrix
	@$(PYTHON) testsuite/installs/projects.py $(PROJECTS)

deb: all  ## a Debian package for this release, in build/deb; pip may fetch what it brings along
	@sh .ci/packages deb
	@$(BIN)/python recipes/debian/build.py

check-deb: all  ## the same, judged by lintian, installed, used and removed in a fresh tree, as root
	@sh .ci/packages deb
	@$(BIN)/python testsuite/installs/deb.py

docs: all  ## the pages as a site, in build/site: searchable, dark or light; links are checked
	@$(BIN)/python -c 'import material' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'mkdocs-material>=9.5'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml --site-dir $(CURDIR)/build/site
	@echo build/site/index.html

# The pictures of pages in docs/ are taken anew where DOCS=--pictures.
check-docs: docs  ## the site: links, and in Chromium without a window each page's console and the search
	@$(BIN)/python testsuite/pages/run.py $(DOCS)

check-accel: all  ## build the accelerator compiler, run all tests that need it
	@$(BIN)/gompy accel build
	@$(BIN)/gompy accel test
	@$(BIN)/python -m pytest -q -n 2 tests/accel
	@GOMPY_TEST_ACCEL=true $(BIN)/python -m pytest -q -n 2 tests/whole/test_three_tables.py tests/whole/test_trip_property.py
	@GOMPY_ACCEL=true GOMPCC=$(CURDIR)/$(BIN)/gompcc $(BIN)/python testsuite/run_gcc_tests.py -q \
	  --cc $(CURDIR)/testsuite/gomp-plain-objects --expected accel --out testsuite/out/accel \
	  --dirs libgomp.c,libgomp.c++,libgomp.fortran $(TESTS)

# BENCH="many crowd": only these.  Without matplotlib, and without a way to get it, there are no plots.
bench: all  ## measured ratios against named peers, with plots
	@$(BIN)/python -c 'import matplotlib' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'matplotlib>=3.7' || true
	@$(BIN)/python benchmarks/run.py $(BENCH)

# BEFORE=TREE: another checkout of gompy, built.
bench-turns: all  ## this tree against another build of gompy, in turns
	@$(BIN)/python benchmarks/turns.py $(BEFORE)

.PHONY: bench-hooks
bench-hooks: all  ## this tree's libgompy against the same source built without the hooks for tools, in turns
	@$(BIN)/python benchmarks/unhooked.py

.PHONY: bench-check-any
bench-check-any: all  ## what `gompy run --check` costs any program: regions with it and without, in turns
	@$(BIN)/python benchmarks/check_any.py

# PROGRAMS="MIC scan stencil": only that device, these programs.
.PHONY: bench-check-programs
bench-check-programs: all  ## what `gompy run --check` costs the OpenMP programs of examples/gpu, on both devices
	@$(BIN)/python benchmarks/check_programs.py $(PROGRAMS)

# EXACT="gather scatter": only these kinds.
.PHONY: bench-check
bench-check: all  ## what -foffload-check costs a region, by the kind of its loop: checked and plain, in turns
	@$(BIN)/python benchmarks/check_exact.py $(EXACT)

# SCALE="libraries": only that part.
.PHONY: bench-scale
bench-scale: all  ## programs of 20,000 regions and of 500 libraries, an array of 8 GiB; many minutes
	@$(BIN)/python benchmarks/scale.py $(SCALE)

# GPU="--before FILE KERNEL...": an earlier benchmarks/out/gpu.json beside it; only these kernels.
.PHONY: bench-gpu
bench-gpu: all  ## kernels on the emulated GPU, the same by OpenMP, and on PoCL
	@$(BIN)/python benchmarks/gpu.py $(GPU)

# EXAMPLES="--before FILE NAME...": an earlier benchmarks/out/gpu_examples.json beside it; only these programs.
.PHONY: bench-gpu-examples
bench-gpu-examples: all  ## examples/gpu on the emulated GPU, and their OpenMP twins on the host
	@$(BIN)/python benchmarks/gpu_examples.py $(EXAMPLES)

.PHONY: bench-gpu-races
bench-gpu-races: all  ## examples/gpu on the emulated GPU with and without GOMPY_CHECK=race, CUDA and OpenMP
	@$(BIN)/python benchmarks/gpu_races.py $(EXAMPLES)

# ISPRAS="--device nvidia --runtime gompy --runtime stock": other options than all that is there, with plots.
bench-ispras: all  ## the four loops of the paper on GCC's PTX, over size, teams, threads, simd; plots
	@$(BIN)/python -c 'import matplotlib' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'matplotlib>=3.7'
	@$(BIN)/python benchmarks/ispras/run.py --plot $(ISPRAS)

clean:  ## remove what the build made, keep .venv
	rm -rf build gompy/_native gompy/*/*.so $(GENERATED) examples/out testsuite/out benchmarks/out
	find . -path ./$(VENV) -prune -o -name __pycache__ -prune -exec rm -rf {} +

distclean: clean  ## remove .venv too
	rm -rf $(VENV) *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
