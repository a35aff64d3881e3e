# A plain front to the CMake build.
#   make             build the library and the program into build/release
#   make run         train, calibrate, predict, score and evaluate on the digits that ship (runs/quickstart, about two minutes)
#   make test        the whole test suite; ends with "N passed, N failed, N skipped"
#   make install     PREFIX=/usr/local DESTDIR=
#   make check-all   gcc and clang, sanitizers, fuzzing, every vector tier (long)
#   make bench       speed, one JSON line a figure
#   make format      clang-format over the sources
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

# A build folder keeps the generator it was first configured with.
build: setup
	@generator=Ninja; command -v ninja >/dev/null 2>&1 || generator="Unix Makefiles"; \
	if [ ! -f $(BUILD)/CMakeCache.txt ]; then cmake -S . -B $(BUILD) -G "$$generator" $(CMAKE_ARGS); \
	elif [ -n "$(CMAKE_ARGS)" ]; then cmake -S . -B $(BUILD) $(CMAKE_ARGS); fi
	@cmake --build $(BUILD) -j $(JOBS)

run: build
	$(BUILD)/vargate run

test: build
ifneq ($(SETUP),no)
	@sh scripts/setup.sh tests
endif
	@sh scripts/test.sh $(BUILD) $(JOBS)

install: build
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

check-all:
ifneq ($(SETUP),no)
	@sh scripts/setup.sh checks
endif
	@sh scripts/check-all.sh $(JOBS)

bench: build
	@cmake --build $(BUILD) -j $(JOBS) --target bench-programs
	@sh scripts/bench.sh $(BUILD)

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build

.PHONY: all setup build run test install check-all bench format clean
