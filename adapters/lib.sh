# What the checks of adapters and examples share. Each sources it in its own folder.
set -euo pipefail
: "${THROUGHLINE:?run make adapters, which starts a stack}" "${TOOLS:?run make adapters, which names the folder}"
lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

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
  rm -rf "$TOOLS/venv"
  python3 -m venv "$TOOLS/venv"
  local pip=("$python" -m pip install --quiet --disable-pip-version-check)
  if [ -n "${NEWEST:-}" ]; then
    sed -E 's/[=<>~].*//' requirements.in | xargs "${pip[@]}" --upgrade
    "$python" -m pip list --disable-pip-version-check
  else
    "${pip[@]}" --require-hashes --no-deps -r requirements.txt
  fi
  touch "$TOOLS/venv/.stamp"
}

# node_tests FILE... runs tests. A skipped test is a failed one.
node_tests() {
  node --test --test-reporter=spec "$@" | tee "$TOOLS/tests.log"
  grep -q '^ℹ skipped 0$' "$TOOLS/tests.log" && grep -q '^ℹ todo 0$' "$TOOLS/tests.log" || { echo "a test was skipped" >&2; return 1; }
}

# readme COMMAND... runs the programs of README.md.
readme() { "$lib/readme" README.md "$@"; }
