# Commands for the CMake build.
#   make             build the library, the program and, where cmocka is installed, the tests into build/release
#   make run         build the program and train, predict, calibrate, score and evaluate on the digits that ship
#                    (runs/quickstart, about a minute)
#   make test        the whole test suite; ends with "N passed, N failed, N skipped"
#   make install     PREFIX=/usr/local DESTDIR=; make uninstall removes what the last install wrote
#   make wheels      Python wheels for x86_64 and aarch64 and the source distribution, in dist/
#   make deb         Debian packages, in dist/
#   make docs        the documentation site, in build/site
#   make check-all   gcc and clang, sanitizers, fuzzing, every vector tier (long)
#   make coverage    lines and branches of src/ that the tests run (long: everything is built and tested again)
#   make bench       speed, one JSON line per figure
#   make format      clang-format, ruff and prettier over the sources
#   make clean
# Missing packages are installed with apt where that is possible (scripts/setup.sh); SETUP=no leaves the system alone.
BUILD ?= build/release
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SETUP ?= yes
CMAKE_ARGS ?=

all: build

setup:
ifneq ($(SETUP),no)
	@sh scripts/setup.sh
endif

setup-tests:
ifneq ($(SETUP),no)
	@sh scripts/setup.sh tests
endif

# A build folder keeps the generator it was first configured with.
configure: setup
	@generator=Ninja; command -v ninja >/dev/null 2>&1 || generator="Unix Makefiles"; \
	if [ ! -f $(BUILD)/CMakeCache.txt ]; then cmake -S . -B $(BUILD) -G "$$generator" $(CMAKE_ARGS); \
	elif [ -n "$(CMAKE_ARGS)" ]; then cmake -S . -B $(BUILD) $(CMAKE_ARGS); fi

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

run: configure
	@cmake --build $(BUILD) -j $(JOBS) --target vargate-cli
	$(BUILD)/vargate run

# VG_TESTS=ON: without cmocka this fails here, instead of testing nothing.
test: setup-tests configure
	@grep -q '^VG_TESTS:[A-Z]*=ON$$' $(BUILD)/CMakeCache.txt || cmake -S . -B $(BUILD) -DVG_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@sh scripts/test.sh $(BUILD) $(JOBS)

install: configure
	@cmake --build $(BUILD) -j $(JOBS) --target vargate-product
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"
	@sed 's,^,$(DESTDIR),' $(BUILD)/install_manifest.txt > $(BUILD)/installed.txt; echo >> $(BUILD)/installed.txt

# What the last `make install` wrote, and the folders named vargate that are then empty.
uninstall:
	@[ -f $(BUILD)/installed.txt ] || { echo "nothing was installed from $(BUILD)"; exit 1; }
	@xargs -d '\n' rm -f -- < $(BUILD)/installed.txt
	@sed 's,/[^/]*$$,,' $(BUILD)/installed.txt | sed -n 's,\(.*/vargate\)/.*,&\n\1,p; /\/vargate$$/p' | sort -ru | \
	    xargs -r -d '\n' rmdir -p --ignore-fail-on-non-empty 2>/dev/null || true
	@rm $(BUILD)/installed.txt

wheels:
	@sh scripts/wheels.sh

deb:
	@sh scripts/deb.sh

docs: configure
	@cmake --build $(BUILD) -j $(JOBS) --target vargate-cli vargate-shared
	@sh scripts/docs.sh $(BUILD)

check-all:
ifneq ($(SETUP),no)
	@sh scripts/setup.sh checks
endif
	@sh scripts/check-all.sh $(JOBS)

coverage: setup-tests
	@cmake --preset coverage -DVG_TESTS=ON >/dev/null
	@cmake --build build/coverage -j $(JOBS)
	@find build/coverage -name '*.gcda' -delete
	@STRIDE=sites ctest --test-dir build/coverage -j $(JOBS) -E '^check_' || true
	@for tier in avx2 portable; do \
		VARGATE_CPU=$$tier ctest --test-dir build/coverage -j $(JOBS) -R '^test_measures' || true; \
	done
	@python3 scripts/coverage.py build/coverage --lines 95 --branches 85

bench: configure
	@cmake --build $(BUILD) -j $(JOBS) --target vargate-product bench-programs
	@sh scripts/bench.sh $(BUILD)

format:
	@sh scripts/format.sh

clean:
	rm -rf build

.PHONY: all setup setup-tests configure build run test install uninstall wheels deb docs check-all coverage bench
.PHONY: format clean
