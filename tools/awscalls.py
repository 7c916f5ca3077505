"""Checks commands of the AWS CLI by botocore's models: prints each service, operation or option that does not exist. What
docs/operating.md asks for in an incident has to be allowed by the deployer's policy, too.

Usage: awscalls.py '[{"where": "docs/page.md:1", "words": ["sqs", "purge-queue", "--queue-url", "…"]}]'
"""
import json
import sys

import botocore.session
from botocore import xform_name

GLOBAL = {"--query", "--output", "--region", "--profile"}
# The CLI gives an option another name where it has one of its own, such as --endpoint-url.
RENAMED = {"sns": {"--notification-endpoint"}}


with open("infra/deploy/policy.json", encoding="utf-8") as file:
    ALLOWED = {action for statement in json.load(file)["Statement"] for action in statement["Action"]}


def refused(session, words):
    """Says that the deployer's policy does not allow a command."""
    service, operation, *_ = words
    model = session.get_service_model(service)
    name = next((n for n in model.operation_names if xform_name(n, "-") == operation), "FilterLogEvents")
    action = f"{service}:{name}"
    return "" if action in ALLOWED else f"the deployer's policy does not allow {action}"


def problem(session, words):
    service, operation, *rest = words
    if service == "logs" and operation == "tail":  # made by the CLI itself
        return next((f"no option {w}" for w in rest if w.startswith("--") and w not in {"--since", "--filter-pattern"}), "")
    if service not in session.get_available_services():
        return f"no service {service}"
    model = session.get_service_model(service)
    name = next((n for n in model.operation_names if xform_name(n, "-") == operation), None)
    if name is None:
        return f"no operation {operation}"
    shape = model.operation_model(name).input_shape
    known = {"--" + xform_name(member, "-") for member in (shape.members if shape else {})} | GLOBAL | RENAMED.get(service, set())
    return next((f"no option {word}" for word in rest if word.startswith("--") and word not in known), "")


def main():
    session = botocore.session.get_session()
    for call in json.loads(sys.argv[1]) or []:
        wrong = problem(session, call["words"])
        if not wrong and call["where"].startswith("docs/operating.md:"):
            wrong = refused(session, call["words"])
        if wrong:
            print(f"{call['where']}: {wrong}")


main()
