#!/bin/sh
# Fetch the course's datasets: ./datasets.sh --help. The same as `course data`, from any folder and
# without activating anything.

root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1

python=python3
for candidate in "$root/.venv/bin/python" "$root/.venv/Scripts/python.exe"; do
    if [ -x "$candidate" ]; then python=$candidate; fi
done

# -P: the caller's folder may contain another `course`, which must not be used instead of this one.
PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
if ! "$python" -P -c 'import click, filelock, pooch, remotezip, tqdm' 2>/dev/null; then
    echo "$python is not Python 3.11 or newer with the course's packages: run 'pip install -e .' in $root" >&2
    exit 1
fi
exec "$python" -P -m course.cli.data "$@"
