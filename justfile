# The daily commands. `.ci/run` runs what a change must pass.

# Lists the commands.
default:
    @just --list

# Formats Rust and Python.
fmt:
    cargo fmt --all
    ruff format harness/worker harness/recording/python cases examples docs .ci/strict .ci/example .ci/publish .ci/publish-inductor .ci/publish-stages

# What CI checks before it tests.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

# The tests of one crate: `just test case`, `just test case --test it diagnostics`.
test CRATE *ARGS:
    cargo test -p cerith-{{CRATE}} {{ARGS}}

# The tests of the binary: `just cli --test it gate`.
cli *ARGS:
    cargo test -p cerith {{ARGS}}

# The corpus, or a part of it: `just run alias layout`.
run *FILTERS:
    cargo run --release --quiet -- run {{FILTERS}}

# One fuzz target for a minute: `just fuzz case_file`.
fuzz TARGET SECONDS="60":
    RUSTC_BOOTSTRAP=1 cargo fuzz run --release --debug-assertions --sanitizer none {{TARGET}} -- -max_total_time={{SECONDS}} -max_len=16384

# The documentation, in target/site. `CERITH_DOCS=write just cli --test needs docs` writes what its commands print.
site:
    .ci/site

# The changed crates and the corpus, in minutes.
quick:
    .ci/run quick

# What a change must pass, or some of its steps: `just ci format lints`.
ci *STEPS:
    .ci/run {{STEPS}}

# What takes longer: `just nightly example`.
nightly *STEPS:
    .ci/nightly {{STEPS}}
