#!/bin/bash -eu
# Builds the fuzz targets that need no Triton into $OUT, each with inputs to begin with, options and, where the input is text,
# a dictionary. OSS-Fuzz and ClusterFuzzLite run it in their image; `.ci/farm` runs it without one.
source=${CERITH_SOURCE:-$SRC/cerith}
work=${WORK:-$(mktemp -d)}

# Targets that run Triton's interpreter: a farm has none.
left_out=" case_interpreter "

# The fuzzed code has no `unsafe` code, so without the address sanitizer no bug of Cerith is missed.
sanitizer=none
if [ "${SANITIZER:-address}" = address ]; then sanitizer=address; fi

cd "$source"
# Flags for the targets are not for the command that makes seeds; where it is built already, it is named.
if [ -n "${CERITH_SEEDS:-}" ]; then
  "$CERITH_SEEDS" "$work/seeds"
else
  env -u RUSTFLAGS -u RUSTC_BOOTSTRAP cargo run --quiet -p cerith-laws --example seeds -- "$work/seeds"
fi
cargo fuzz build --release --debug-assertions --sanitizer "$sanitizer"

for target in $(cargo fuzz list); do
  case "$left_out" in *" $target "*) continue ;; esac
  cp "fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  mkdir -p "$work/seeds/$target"
  if [ -d "fuzz/regressions/$target" ]; then cp "fuzz/regressions/$target"/* "$work/seeds/$target/"; fi
  (cd "$work/seeds/$target" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
  printf '[libfuzzer]\nmax_len = 16384\n' >"$OUT/$target.options"
done
for target in frontend_text case_file; do
  cp fuzz/triton.dict "$OUT/$target.dict"
done
