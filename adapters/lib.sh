# What the checks of adapters and examples share. Each sources it in its own folder.
set -euo pipefail
: "${THROUGHLINE:?run make adapters, which starts a stack}" "${TOOLS:?run make adapters, which names the folder}"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
uv=$root/.cache/uv/bin/uv

# install_npm installs what package-lock.json pins; with NEWEST=1, the newest versions of what package.json names.
install_npm() {
  if [ -n "${NEWEST:-}" ]; then
    node -e 'const { devDependencies = {}, dependencies = {} } = JSON.parse(require("fs").readFileSync("package.json"));
      const pinned = ([name, version]) => !version.startsWith("file:") && !["typescript", "esbuild"].includes(name);
      console.log(Object.entries({ ...dependencies, ...devDependencies }).filter(pinned).map(([name]) => name + "@latest").join("\n"));' |
      xargs npm install --ignore-scripts --no-save --no-package-lock --silent
    npm ls --depth=0 || true
  elif [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
    npm ci --ignore-scripts --silent 2>/dev/null || npm ci --ignore-scripts
    touch node_modules/.package-lock.json
  fi
}

# install_python makes the virtual environment $TOOLS/venv of requirements.txt, which pins by hash; with NEWEST=1, of the newest
# versions of what requirements.in names. $python is its interpreter.
install_python() {
  python=$TOOLS/venv/bin/python
  if [ -z "${NEWEST:-}" ] && [ "$TOOLS/venv/.stamp" -nt requirements.txt ]; then return; fi
  if [ -n "${NEWEST:-}" ]; then
    sed -E '/^#/d; s/[=<>~].*//' requirements.in | xargs "$root/tools/venv" "$uv" "$TOOLS/venv" --upgrade
    "$uv" pip list --python "$python"
  else
    "$root/tools/venv" "$uv" "$TOOLS/venv" --require-hashes --no-deps -r requirements.txt
  fi
  touch "$TOOLS/venv/.stamp"
}

# node_tests FILE... runs tests. A skipped test is a failed one.
node_tests() {
  node --test --test-reporter=spec "$@" | tee "$TOOLS/tests.log"
  grep -q '^ℹ skipped 0$' "$TOOLS/tests.log" && grep -q '^ℹ todo 0$' "$TOOLS/tests.log" || { echo "a test was skipped" >&2; return 1; }
}

# packed NAME imports the package of this folder as its users get it: from its archive, and those of the packages that it shares.
packed() {
  local modules=$TOOLS/packed/node_modules folder archive
  rm -rf "$TOOLS/packed"
  mkdir -p "$modules/@throughline"
  find "$PWD/node_modules" -mindepth 1 -maxdepth 1 ! -name '.*' ! -name @throughline -exec ln -s {} "$modules" \;
  for folder in ../../clients/typescript .; do
    archive=$(cd "$folder" && npm pack --ignore-scripts --silent --pack-destination "$TOOLS/packed")
    tar -xzf "$TOOLS/packed/$archive" -C "$TOOLS/packed"
    mv "$TOOLS/packed/package" "$modules/$(node -p 'require(process.argv[1]).name' "$TOOLS/packed/package/package.json")"
  done
  (cd "$TOOLS/packed" && node --input-type=module -e "await import('$1')")
}

# readme COMMAND... runs the programs of README.md.
readme() { "$root/adapters/readme" README.md "$@"; }

# python_tests FOLDER runs tests. A skipped test is a failed one.
python_tests() {
  "$python" -m pytest "$@" | tee "$TOOLS/tests.log"
  if grep -qE '[0-9]+ (skipped|xfailed|xpassed)' "$TOOLS/tests.log"; then echo "a test was skipped" >&2; return 1; fi
}

# python_suite PACKAGE FILE... runs tests of a framework from its source distribution, with the conftest.py of the folder suite.
# requirements-suite.txt pins it by hash; with NEWEST=1 it is that of the installed version. Tests that cannot pass are named there.
python_suite() {
  local suite=$TOOLS/suite name=$1 version here=$PWD
  shift
  version=$("$python" -c 'import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))' "$name")
  if [ ! -f "$suite/$name-$version" ]; then
    rm -rf "$suite" && mkdir -p "$suite"
    local pip=("${uv%/*}/python" -m pip --python "$python" download --quiet --disable-pip-version-check --no-deps --no-binary :all: --no-build-isolation)
    if [ -n "${NEWEST:-}" ]; then "${pip[@]}" -d "$suite" "$name==$version"
    else "${pip[@]}" -d "$suite" --require-hashes -r requirements-suite.txt; fi
    tar -xzf "$suite"/*.tar.gz -C "$suite" --strip-components=1
    touch "$suite/$name-$version"
  fi
  cp suite/conftest.py "$suite/conftest.py"
  (cd "$suite" && PYTHONPATH=$(IFS=:; printf '%s' "$here/../../clients/python/src:$here/../testing-python:$here/src:$suite") \
    python_tests -c "$here/pytest.ini" "${@/#/tests/}")
}
