#!/usr/bin/env bash
# Prints the path of a schemathesis of the pinned version, after installing it when needed.
# All else goes to stderr. Exit code 3: this machine cannot have it (no Python, no pip, no package index).
#
# It lands in $ISOCHRON_CACHE_DIR, else $XDG_CACHE_HOME/isochron, else node_modules/.cache of this repository.
set -euo pipefail

version=4.32.5
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${ISOCHRON_CACHE_DIR:-${XDG_CACHE_HOME:+$XDG_CACHE_HOME/isochron}}
folder=${cache:-$root/node_modules/.cache}/schemathesis-$version
tool=$folder/bin/schemathesis
complete=$folder/.complete

unavailable() {
  echo "schemathesis $version is not available: $1" >&2
  exit 3
}

# The marker is written last: an installation that was interrupted is done again.
if [[ ! -e $complete || ! -x $tool ]]; then
  command -v python3 >/dev/null || unavailable 'install python3 (3.10 or newer).'
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || unavailable 'it needs Python 3.10 or newer.'
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  python3 -m venv "$folder" >&2 || { rm -rf "$folder"; unavailable 'install pip and venv for python3 (package python3-venv).'; }
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "schemathesis==$version" >&2 ||
    unavailable 'pip could not install it (see above); is the Python package index reachable?'
  touch "$complete"
fi
echo "$tool"
