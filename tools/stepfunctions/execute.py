"""Executes a state machine's definition with moto's Step Functions, which runs the interpreter of LocalStack.

Usage: execute.py DEFINITION FUNCTION_ARN, with executions' inputs as lines of standard input. For each it prints one
line of JSON: status, output, error and cause. Calls of Lambda go to AWS_ENDPOINT_URL_LAMBDA. Before the first execution
it checks the definition with cfn-lint.
"""

import json
import logging
import os
import sys
import time
import uuid

# moto's calls are answered in this process and Lambda's endpoint is local, so the credentials are never checked.
os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local", AWS_DEFAULT_REGION="us-east-1")

import boto3
from cfnlint.api import ManualArgs, lint
from moto import mock_aws

ROLE = "arn:aws:iam::123456789012:role/segments"
CONFIG = {
    "stepfunctions": {"execute_state_machine": True},
    "core": {"passthrough": {"services": ["lambda"], "urls": [os.environ["AWS_ENDPOINT_URL_LAMBDA"] + "/.*"]}},
}


def problems(definition):
    """Returns what cfn-lint finds in the definition. It does not read a definition that is a file of its own."""
    machine = {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {"RoleArn": ROLE, "Definition": json.loads(definition)},
    }
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"Segments": machine}}
    return [str(match) for match in lint(json.dumps(template), config=ManualArgs(regions=["us-east-1"]))]


def execute(client, machine, text):
    arn = client.start_execution(stateMachineArn=machine, name=str(uuid.uuid4()), input=text)["executionArn"]
    while (execution := client.describe_execution(executionArn=arn))["status"] == "RUNNING":
        time.sleep(0.02)
    return {name: execution.get(name) for name in ("status", "output", "error", "cause")}


def main(path, function):
    logging.disable()  # the interpreter logs the errors that an execution reports
    with open(path, encoding="utf-8") as file:
        definition = file.read().replace("${MigrateFunctionArn}", function)
    if found := problems(definition):
        sys.exit("\n".join(found))
    with mock_aws(config=CONFIG):
        client = boto3.client("stepfunctions")
        created = client.create_state_machine(name="segments", definition=definition, roleArn=ROLE, type="STANDARD")
        for line in sys.stdin:
            print(json.dumps(execute(client, created["stateMachineArn"], line)), flush=True)


main(*sys.argv[1:])
