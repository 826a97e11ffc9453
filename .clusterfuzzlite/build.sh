#!/bin/bash -eu
# The same targets as on OSS-Fuzz.
exec bash "$SRC/cerith/fuzz/oss-fuzz/build.sh"
