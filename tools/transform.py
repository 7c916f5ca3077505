"""Checks the CloudFormation template that SAM makes of template.yaml, because that one is deployed.

SAM adds resources. These decide who may do what: the two permissions of the public function URL, the authorizer of
every route, the names of schedules, and the roles. The outputs have to name what there is to operate. Of the templates of
nested stacks, which follow, only names are checked. The deployer's policy has to cover what all but the console need.
"""

import json
import os
import sys

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

import deployer

# The ways in which a name can contain the stack's, as JSON.
STACK_NAMES = ('"AWS::StackName"', "${AWS::StackName}", "${Prefix}", '{"Ref": "Prefix"}')
# The names of these are names within another resource.
NAMED_WITHIN = {"AWS::IAM::Policy", "AWS::ApiGatewayV2::Stage"}

PUBLIC = {(path, method) for path in ("/openapi.json", "/docs") for method in ("get", "head")}


def transformed(path):
    """Returns the CloudFormation template that SAM makes of the template at path."""
    with open(path, encoding="utf-8") as file:
        template = yaml_parse(file.read())
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
        if resource["Type"] == "AWS::Serverless::StateMachine":
            resource["Properties"]["DefinitionUri"] = "s3://bucket/key"
    return Translator({}, Parser()).translate(template, {})


def of_type(template, kind):
    """Yields the properties of every resource of a type, with their names."""
    for name, resource in template["Resources"].items():
        if resource["Type"] == kind:
            yield name, resource["Properties"]


def url_problems(template):
    """A public URL answers 403 unless both permissions are there (since October 2025)."""
    granted = [p for _, p in of_type(template, "AWS::Lambda::Permission") if p["Principal"] == "*"]
    if not any(p["Action"] == "lambda:InvokeFunctionUrl" and p.get("FunctionUrlAuthType") == "NONE" for p in granted):
        yield "the function URL lacks lambda:InvokeFunctionUrl with FunctionUrlAuthType NONE"
    if not any(p["Action"] == "lambda:InvokeFunction" and p.get("InvokedViaFunctionUrl") for p in granted):
        yield "the function URL lacks lambda:InvokeFunction with InvokedViaFunctionUrl true"
    if len(granted) != 2:
        yield f"{len(granted)} permissions are public, 2 are meant to be"


def route_problems(template):
    """Every route but the two documents needs a token, and no route takes preflights from the gateway."""
    for name, api in of_type(template, "AWS::ApiGatewayV2::Api"):
        for path, methods in api["Body"]["paths"].items():
            for method, route in methods.items():
                if method in ("options", "x-amazon-apigateway-any-method"):
                    yield f"{name}: {method} {path} takes preflights, which the gateway has to answer"
                want = "NONE" if (path, method) in PUBLIC else "Jwt"
                if route.get("security") != [{want: []}]:
                    yield f"{name}: {method} {path} has security {route.get('security')}, not {want}"


def role_problems(template):
    """Roles have exact permissions: no managed policy, no star in an action, no resource "*" except for X-Ray."""
    policies = list(of_type(template, "AWS::IAM::Policy"))
    for name, role in of_type(template, "AWS::IAM::Role"):
        if role.get("ManagedPolicyArns"):
            yield f"{name}: has managed policies"
        policies += [(name, policy) for policy in role.get("Policies", [])]
    for name, policy in policies:
        for statement in policy["PolicyDocument"]["Statement"]:
            yield from (f"{name}: {problem}" for problem in statement_problems(statement))


def output_problems(template):
    """Every function, queue and state machine of the stack is named by an output, for who operates it."""
    named = {o["Value"]["Ref"] for o in template["Outputs"].values() if isinstance(o["Value"], dict) and "Ref" in o["Value"]}
    for kind in ("AWS::Lambda::Function", "AWS::SQS::Queue", "AWS::StepFunctions::StateMachine"):
        for name, _ in of_type(template, kind):
            if name not in named:
                yield f"no output names {name}"


def name_problems(template):
    """A name that is fixed has the stack's name in it, so that several stages fit into one account and region.

    A nested stack knows the stack's name as its parameter Prefix.
    """
    for name, resource in template["Resources"].items():
        if resource["Type"] in NAMED_WITHIN:
            continue
        kind = resource["Type"].rpartition("::")[2]
        for key in ("Name", kind + "Name"):
            value = resource.get("Properties", {}).get(key)
            if value is not None and not any(part in json.dumps(value) for part in STACK_NAMES):
                yield f"{name}: {key} {json.dumps(value)} is the same in every stage: it has no ${{AWS::StackName}}"


def statement_problems(statement):
    actions, resources = as_list(statement["Action"]), as_list(statement["Resource"])
    if any("*" in action for action in actions):
        yield f"allows {actions}"
    if "*" in resources and not all(action.startswith("xray:") for action in actions):
        yield f"allows {actions} on everything"


def as_list(value):
    return value if isinstance(value, list) else [value]


def main():
    # SAM needs a region to write ARNs; any region works.
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    problems, stage = [], []
    for number, path in enumerate(sys.argv[1:]):
        template = transformed(path)
        checks = [name_problems]
        if "console" not in path:
            stage.append(template)
        if number == 0:
            checks += [url_problems, route_problems, role_problems, output_problems]
        problems += [f"{path}: {problem}" for check in checks for problem in check(template)]
    problems += [f"{deployer.POLICY}: {problem}" for problem in deployer.problems(stage)]
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
