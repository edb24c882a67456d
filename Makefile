# A thin front of CMake: each goal installs what is missing, configures and builds, then does its work.
.PHONY: build test torture demo train-demo bisector coverage bench bench-torch fuzz format clean
PRESET = dev

build:
	@sh scripts/bootstrap.sh
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build build

test: build
	@ctest --test-dir build -L quick -j2 --output-on-failure

torture: build
	@cmake --build build --target mutants
	@python3 cases/sweep/array.py told
	@ctest --test-dir build -L torture -j2 --output-on-failure

demo: build
	@sh scripts/demo.sh

train-demo: build
	@sh scripts/train-demo.sh

bisector:
	@sh scripts/bootstrap.sh bisector
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build build --target bisector

bench: build
	@python3 bench/bench.py

# against PyTorch on the CPU: installs it into build/torch (some GB); 77 where it cannot be had
bench-torch: build
	@python3 bench/torch_step.py

coverage:
	@sh scripts/coverage.sh

fuzz: build
	@sh scripts/fuzz.sh

format:
	@sh scripts/format.sh

clean:
	rm -rf build
