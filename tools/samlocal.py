"""Prints the file for "sam local invoke --env-vars", to run a function on this machine with a deployed stack.

SAM gives a local function logical ids where AWS gives it names: TABLE_NAME would be "Table". The stack's outputs have
the real names.
"""

import json
import sys

import boto3
import tomlkit
from botocore.exceptions import BotoCoreError, ClientError

# The environment variables that name resources, and the stack outputs with the names.
VARIABLES = {
    "TABLE_NAME": "TableName",
    "ERASURES_TABLE": "ErasuresTableName",
    "PROMPT_FUNCTION": "PromptFunctionName",
}


def outputs(stack, region):
    """Returns the outputs of a deployed stack by their keys."""
    described = boto3.client("cloudformation", region_name=region).describe_stacks(StackName=stack)
    return {o["OutputKey"]: o["OutputValue"] for o in described["Stacks"][0].get("Outputs", [])}


def main():
    environment, config = sys.argv[1:3]
    with open(config, encoding="utf-8") as file:
        settings = tomlkit.load(file)[environment]["global"]["parameters"]
    try:
        found = outputs(settings["stack_name"], settings["region"])
    except (BotoCoreError, ClientError) as problem:
        sys.exit(f"samlocal: read stack {settings['stack_name']}: {problem}")
    json.dump({"Parameters": {name: found[key] for name, key in VARIABLES.items()}}, sys.stdout)


main()
