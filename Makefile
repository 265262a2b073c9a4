# Every target runs scripts/need, which installs missing packages as root, and names them otherwise.

.DEFAULT_GOAL := help
.PHONY: help build demo test bench coverage attribution monitoring fuzz guard soak soak-san soak-losses soak-power large fits replay hostile lab5-network lab labs predict serve-cost static guests backup fleet docs dist reproducible clean

help: ## List these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## Build the release binary
	@scripts/need $@
	cargo build --release --locked --package wirespeed

demo: ## Build, then run and review a SAN in memory, about a minute
	@scripts/need $@
	cargo build --profile demo --locked --package wirespeed
	@# A goal that this machine does not meet is a result of the demo, not a failure of the build.
	@cargo run --profile demo --locked --quiet -- demo || test $$? -eq 1

test: ## Format, lints, tests, repository rules, and 5 s of fuzzing per parser
	@scripts/need $@
	scripts/check

bench: ## Ten interleaved pairs per comparison with fio, on one core; the simulator against others
	@scripts/need $@
	cargo bench --locked --bench peers
	cargo bench --locked --package sim --bench engine --bench estimate --bench labs

coverage: ## Coverage of the simulator's confidence intervals: 2,000 seeds per load, an hour or more
	@scripts/need $@
	cargo test --release --locked --package sim --test it -- stated_coverage --ignored --nocapture

attribution: ## Bottleneck attribution in 1,000 simulated labs, half of them with new seeds: minutes
	@scripts/need $@
	cargo test --release --locked --package findings --test it -- --ignored --nocapture planted::what_is_planted_in_a_thousand

monitoring: ## Answers to the monitoring of 207 simulated labs, the weights fitted anew on 74 of them: minutes
	@scripts/need $@
	cargo test --release --locked --package import --test it -- --ignored --nocapture weights::the_weights_of_observed

fuzz: ## Ten minutes of fuzzing per parser
	@scripts/need $@
	scripts/fuzz long

guard: ## More than 1,000 attempts to write where it was not granted, as root: minutes
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/guard
	cargo test --locked --package wirespeed --test it -- --ignored --nocapture the_guard_holds_on_lio

soak: ## An hour of verified load in ./soak without any error (SOAK=10m for less)
	@scripts/need $@
	@mkdir -p soak && cd soak && rm -f soak?.dat soak?.state && \
		cargo run --release --locked --quiet --manifest-path ../Cargo.toml --package wirespeed -- \
		run ../scenarios/soak.toml --set plan.measure=$${SOAK:-1h}

soak-san: ## Ten minutes of verified iSCSI load on our target, then on tgt (SOAK=60, in seconds, for less)
	@scripts/need $@
	WIRESPEED_SOAK=$${SOAK:-600} cargo test --release --locked --quiet -p san --test it -- --nocapture \
		goes_on_and_on

soak-losses: ## Kills, resets, loss of a target and of its LUN under verified iSCSI load (ROUNDS=20 of each)
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/soak-losses

soak-power: ## Thirty cuts of power under verified iSCSI load, as root: lost, reordered and torn sectors (CUTS=30)
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/soak-power
	@scripts/soak-power --lying

fits: ## Traces of 13 shapes against the workloads that are fitted to them, both on a simulated lab: a minute
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/fits

replay: ## How late a replay at a million I/Os a second is, arrivals of two states as captured, and captured times against fio's, as root: minutes
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/replay
	@scripts/bursts
	cargo test --locked --package wirespeed --test it -- --ignored --nocapture captured_times

large: ## An esxtop file of 300 MB and 50,000 columns and a trace of 10 GB (TRACE_GB=1 for less): seconds and memory; minutes
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/large

hostile: ## 402 hostile ways to use the program, as root: files, peers, surroundings; minutes
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@python3 scripts/hostile

lab5-network: ## Lab 5's network matrix over a veth pair, as root (MEASURE=3s per step); review in ./lab5
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/lab5-network

lab: ## Emulated labs, as root: 60 planted bottlenecks, labs 1, 2 and 5 in small, 100 random kills; minutes
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/lab

predict: ## Predict runs on an embedded SAN, then measure them: a quarter of an hour, on an idle machine
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	cargo build --release --locked --package calibrate --example prediction
	@scripts/predict

serve-cost: ## What the page costs: a load with and without 20 viewers, in pairs; memory, lateness, first paint; minutes
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/serve-cost
	cargo test --locked --package wirespeed --test it -- --ignored --nocapture a_record_grows_to_an_hour

labs: ## Score the published labs with both solvers: docs/ledger.md, docs/labs.md, reviews in ./labs
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/labs

static: ## Build wirespeed as one stripped file without libraries, below 25 MB: ./wirespeed-static
	@scripts/need $@
	@scripts/static

guests: ## Virtual machines for minutes: a full port, PVSCSI against LSI, fifty killed runs, paths lost under Linux, a host that fails, bonds and VLANs of emulated labs
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	cargo test --locked --package wirespeed --test it -- --ignored --nocapture \
		fifty_runs_that_are_killed lost_and_returns_ten_times both_ways_of_capture \
		guests_of_a_host_that_fails reached_by_the_guests_kernel emulated_labs_have_bonds_and_vlans
	@scripts/guests

backup: ## A backup predicted on an idle machine; a drive beside a disk; 200 kills each of a library under a copy and under filemarks (WIRESPEED_KILLS=200); Bacula (WIRESPEED_BACULA_MB=256)
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	cargo test --locked --package wirespeed --test it -- --ignored --nocapture a_backup_is_predicted
	cargo test --locked --package san --test it -- --ignored --nocapture a_copy_to_tape_survives_many_kills
	WIRESPEED_KILLS=$${WIRESPEED_KILLS:-200} cargo test --locked --package san --test it -- --nocapture acknowledged_filemarks
	cargo test --locked --package wirespeed --test it -- --ignored --nocapture bacula_backs_up
	@scripts/tape-speed

fleet: ## Faults of a fleet, 50 rounds of each under load; 200 agents, and the curve to 1,000 stand-ins: an hour
	@scripts/need $@
	cargo build --release --locked --package wirespeed
	@scripts/fleet-faults
	WIRESPEED=$$PWD/target/release/wirespeed cargo test --locked --package wirespeed --test it -- \
		--ignored --nocapture --test-threads 1 two_hundred_agents a_thousand_stand_ins

docs: ## Regenerate the generated documents, and build all pages as one searchable site with its links checked: target/site/book
	@scripts/need $@
	UPDATE_DOCS=1 cargo test --locked --quiet -p scenario -p findings -p review -p wirespeed documents
	@scripts/site

dist: ## Packages in ./dist: static binary, .deb, wheel, bill of materials; each installed in a clean place and tried
	@scripts/need $@
	@scripts/dist check

reproducible: ## The packages built twice from one commit, in two folders, and compared: half an hour
	@scripts/need dist
	@scripts/dist twice

clean: ## Remove build output and fuzzing results
	cargo clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts
