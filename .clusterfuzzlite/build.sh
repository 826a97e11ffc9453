#!/bin/bash -eu
# The same targets as on OSS-Fuzz.
exec bash "$SRC/conch/fuzz/oss-fuzz/build.sh"
