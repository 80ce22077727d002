#!/usr/bin/env bash
# Gradescope runs this once, to build the image in which submissions are graded.
set -euo pipefail

cd "${AUTOGRADER:-/autograder}"
source source/settings.sh

apt-get update
apt-get install -y --no-install-recommends python3 python3-venv
python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  python=python3.11 # what Ubuntu 22.04 offers besides its own 3.10
  apt-get install -y --no-install-recommends python3.11 python3.11-venv
fi

"$python" -m venv venv
venv/bin/pip install --no-cache-dir -e source
