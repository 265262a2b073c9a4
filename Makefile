# Every target asks scripts/need for what it uses: installed when root, named otherwise.

.DEFAULT_GOAL := help
.PHONY: help build demo test bench coverage attribution fuzz soak soak-san lab5-network labs predict docs clean

help: ## Lists these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## Builds the release binary
	@scripts/need $@
	cargo build --release --locked --package wirespeed

demo: ## Builds it and takes a tour of about a minute, of a SAN in memory
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@# A goal that this machine does not meet is an answer of the tour, not a failure of the build.
	@cargo run --release --locked --quiet -- demo || test $$? -eq 1

test: ## Format, lints, tests, the rules of the house, and 10 s of fuzzing a parser
	@scripts/need $@
	scripts/check

bench: ## Ten interleaved pairs against fio a comparison, on one core; the simulator against others
	@scripts/need $@
	cargo bench --locked --bench peers
	cargo bench --locked --package sim --bench engine --bench estimate --bench labs

coverage: ## Whether the simulator's intervals of confidence hold as often as they say: 2,000 seeds a load, an hour or more
	@scripts/need $@
	cargo test --release --locked --package sim --test it -- study:: --ignored --nocapture

attribution: ## Whether the hop that limits is found in 1,000 simulated labs, half of them of fresh seeds: minutes
	@scripts/need $@
	cargo test --release --locked --package findings --test it -- --ignored --nocapture planted::what_is_planted_in_a_thousand

fuzz: ## Ten minutes of fuzzing a parser
	@scripts/need $@
	scripts/fuzz long

soak: ## An hour of verified load in ./soak, in which nothing may be found (SOAK=10m for less)
	@scripts/need $@
	@mkdir -p soak && cd soak && rm -f soak?.dat soak?.state && \
		cargo run --release --locked --quiet --manifest-path ../Cargo.toml --package wirespeed -- \
		run ../scenarios/soak.toml --set plan.measure=$${SOAK:-1h}

soak-san: ## Ten minutes of verified load over iSCSI on our target, and as long on tgt (SOAK=60, in seconds, for less)
	@scripts/need $@
	WIRESPEED_SOAK=$${SOAK:-600} cargo test --release --locked --quiet -p san --test it -- --nocapture \
		goes_on_and_on

lab5-network: ## Lab 5's network matrix over a veth pair, as root (MEASURE=3s a step); the review is left in ./lab5
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/lab5-network

predict: ## Predicts runs on an embedded SAN, then measures them: about four minutes, on a machine that does nothing else
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	cargo build --release --locked --package calibrate --example prediction
	@scripts/predict

labs: ## The published labs by both solvers: docs/ledger.md, docs/labs.md, and a review each in ./labs
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/labs

docs: ## Writes the generated documents anew; a test fails when they are stale
	@scripts/need $@
	UPDATE_DOCS=1 cargo test --locked --quiet -p scenario -p findings -p review -p wirespeed documents

clean: ## Removes everything that was built or found by fuzzing
	cargo clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts
