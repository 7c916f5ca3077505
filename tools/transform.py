"""Checks the CloudFormation template that SAM makes of template.yaml, because that one is deployed.

SAM adds resources. These decide who may do what: the two permissions of the public function URL, the authorizer of
every route, the names of schedules, the roles, and the aliases that all callers invoke. The outputs have to name what there is to operate. Of the templates of
nested stacks, which follow, only names are checked. The deployer's policy has to cover what all but the console need.
"""

import json
import logging
import os
import sys

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

import deployer

# The ways in which a name can contain the stack's, as JSON.
STACK_NAMES = ('"AWS::StackName"', "${AWS::StackName}", "${Prefix}", '{"Ref": "Prefix"}')
# The names of these are names within another resource.
NAMED_WITHIN = {"AWS::IAM::Policy", "AWS::ApiGateway::Stage", "AWS::ApiGatewayV2::Stage", "AWS::Lambda::Alias"}

# What SAM adds to the logical id of a function for that of its alias live.
ALIAS = "Aliaslive"

PUBLIC = {(path, method) for path in ("/openapi.json", "/docs") for method in ("get", "head")}
# The function mcp checks tokens itself, and answers with where they come from.
PUBLIC |= {("/mcp", method) for method in ("get", "post", "delete")}
PUBLIC |= {("/.well-known/oauth-protected-resource" + path, "get") for path in ("", "/mcp")}


def transformed(path, **parameters):
    """Returns the CloudFormation template that SAM makes of the template at path, with values of its parameters."""
    with open(path, encoding="utf-8") as file:
        template = yaml_parse(file.read())
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
        if resource["Type"] == "AWS::Serverless::StateMachine":
            resource["Properties"]["DefinitionUri"] = "s3://bucket/key"
    return Translator({}, Parser()).translate(template, parameters)


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


def gateway_problems(template):
    """The chat's gateway streams, has a throttle and a firewall, and is there where the function URL is not."""
    kinds = ("RestApi", "Deployment", "Stage")
    doors = {r["Type"]: r for r in template["Resources"].values() if r["Type"].startswith(("AWS::ApiGateway::", "AWS::WAFv2::"))}
    for kind in [f"AWS::ApiGateway::{k}" for k in kinds] + ["AWS::WAFv2::WebACL", "AWS::WAFv2::WebACLAssociation"]:
        if doors.get(kind, {}).get("Condition") != "HasChatGateway":
            yield f"the chat's gateway has no {kind}"
    urls = [r for r in template["Resources"].values() if r["Type"] == "AWS::Lambda::Url"]
    if any(url.get("Condition") != "HasChatUrl" for url in urls):
        yield "a function URL is open beside the gateway"
    for _, api in of_type(template, "AWS::ApiGateway::RestApi"):
        for path, methods in api["Body"]["paths"].items():
            integration = methods["x-amazon-apigateway-any-method"]["x-amazon-apigateway-integration"]
            if integration.get("responseTransferMode") != "STREAM":
                yield f"{path} does not stream"
            if ":live/response-streaming-invocations" not in json.dumps(integration["uri"]):
                yield f"{path} does not invoke the alias as a stream"
    for name, stage in of_type(template, "AWS::ApiGateway::Stage"):
        throttled = [s for s in stage.get("MethodSettings", []) if s.get("ThrottlingRateLimit") and s["ResourcePath"] == "/*"]
        if not throttled:
            yield f"{name} has no throttle"


def firewall_problems(template):
    """A page may see what the firewall answers, and is told when to come again."""
    for name, acl in of_type(template, "AWS::WAFv2::WebACL"):
        for rule in acl["Rules"]:
            answer = rule.get("Action", {}).get("Block", {}).get("CustomResponse")
            headers = {h["Name"] for h in (answer or {}).get("ResponseHeaders", [])}
            if answer and "access-control-allow-origin" not in headers:
                yield f"{name}: no page sees the {answer['ResponseCode']} of {rule['Name']}"
            if answer and answer["ResponseCode"] == 429 and "retry-after" not in headers:
                yield f"{name}: {rule['Name']} does not say when to come again"


def route_problems(template):
    """Every route but the two documents and those of mcp needs a token, and no route takes preflights from the gateway."""
    throttled = {k for _, s in of_type(template, "AWS::ApiGatewayV2::Stage") for k in s.get("RouteSettings", {})}
    for name, api in of_type(template, "AWS::ApiGatewayV2::Api"):
        for path, methods in api["Body"]["paths"].items():
            for method, route in methods.items():
                if method in ("options", "x-amazon-apigateway-any-method"):
                    yield f"{name}: {method} {path} takes preflights, which the gateway has to answer"
                key = f"{method.upper()} {path}"
                if (path, method) in PUBLIC and key not in throttled:
                    yield f"{name}: {key} needs no token and has no throttle of its own"
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
        for statement in statements(policy):
            yield from (f"{name}: {problem}" for problem in statement_problems(statement))


def output_problems(template):
    """Every function, queue and state machine of the stack is named by an output, for who operates it."""
    named = {o["Value"]["Ref"] for o in template["Outputs"].values() if isinstance(o["Value"], dict) and "Ref" in o["Value"]}
    named |= {name.removesuffix(ALIAS) for name in named}
    for kind in ("AWS::Lambda::Function", "AWS::SQS::Queue", "AWS::StepFunctions::StateMachine"):
        for name, _ in of_type(template, kind):
            if name not in named:
                yield f"no output names {name}"


def log_problems(template):
    """LOG_LEVEL alone decides what is logged: Lambda drops lines below INFO unless the application's level is TRACE."""
    for name, function in of_type(template, "AWS::Lambda::Function"):
        if function.get("LoggingConfig", {}).get("ApplicationLogLevel") != "TRACE":
            yield f"{name}: Lambda drops what LOG_LEVEL=DEBUG asks for"


def alarm_problems(template):
    """An alarm takes ten metrics at most (Amazon CloudWatch User Guide, "Alarm data queries")."""
    for name, alarm in of_type(template, "AWS::CloudWatch::Alarm"):
        metrics = [m for m in alarm.get("Metrics", []) if "MetricStat" in m]
        if len(metrics) > 10:
            yield f"{name} has {len(metrics)} metrics, and an alarm takes 10"


def alias_problems(template):
    """Whatever invokes a function invokes its alias, so that a release reaches all callers in the same steps."""
    functions = [name for name, _ in of_type(template, "AWS::Lambda::Function")]
    for function in functions:
        alias = template["Resources"].get(function + ALIAS, {}).get("Properties", {})
        if alias.get("Name") != "live":
            yield f"{function} has no alias live"
    targets = [(n, p["FunctionName"]) for n, p in of_type(template, "AWS::Lambda::EventSourceMapping")]
    targets += [(n, p["FunctionName"]) for n, p in of_type(template, "AWS::Lambda::Permission")]
    targets += [(n, p["Target"]["Arn"]) for n, p in of_type(template, "AWS::Scheduler::Schedule")]
    targets += [(n, p["TargetFunctionArn"]) for n, p in of_type(template, "AWS::Lambda::Url")]
    for name, machine in of_type(template, "AWS::StepFunctions::StateMachine"):
        targets += [(name, value) for value in machine["DefinitionSubstitutions"].values()]
    for name, target in targets:
        if target.get("Ref", "").removesuffix(ALIAS) not in functions or not target["Ref"].endswith(ALIAS):
            yield f"{name} is about {json.dumps(target)}, which is no alias"
    for name, config in of_type(template, "AWS::Lambda::EventInvokeConfig"):
        if config["Qualifier"] != "live":
            yield f"{name} has not the qualifier live"
    yield from (f"{problem} invokes no alias" for problem in bare_invocations(template))


def bare_invocations(template):
    """Yields what names a function where its alias is meant: the gateway's integrations, and rights to invoke."""
    for name, api in of_type(template, "AWS::ApiGatewayV2::Api"):
        for path, methods in api["Body"]["paths"].items():
            for method, route in methods.items():
                if ALIAS not in json.dumps(route["x-amazon-apigateway-integration"]["uri"]):
                    yield f"{name}: {method} {path}"
    for name, role in of_type(template, "AWS::IAM::Role"):
        for statement in (s for policy in role.get("Policies", []) for s in statements(policy)):
            if "lambda:InvokeFunction" in as_list(statement["Action"]):
                resources = [json.dumps(resource) for resource in as_list(statement["Resource"])]
                yield from (f"{name}: {r}" for r in resources if ALIAS not in r and not r.endswith(':live"}'))


def release_problems(template, path):
    """A release goes by CodeDeploy, goes back at an alarm, and is a new version of each function."""
    groups = dict(of_type(template, "AWS::CodeDeploy::DeploymentGroup"))
    aliases = {name: r for name, r in template["Resources"].items() if r["Type"] == "AWS::Lambda::Alias"}
    for name, alias in aliases.items():
        update = alias.get("UpdatePolicy", {}).get("CodeDeployLambdaAliasUpdate", {})
        group = groups.get(update.get("DeploymentGroupName", {}).get("Ref"), {})
        back = group.get("AutoRollbackConfiguration", {})
        alarms = json.dumps(group.get("AlarmConfiguration", {}).get("Alarms", []))
        own = f'"ReleaseAlarms", "Outputs.{name.removesuffix("Function" + ALIAS)}"'
        if not back.get("Enabled") or "DEPLOYMENT_STOP_ON_ALARM" not in back["Events"] or own not in alarms:
            yield f"{name} does not go back at the alarm of its function"
    at_once = transformed(path, GradualReleases="false")["Resources"].values()
    if any(r["Type"].startswith("AWS::CodeDeploy::") or "UpdatePolicy" in r for r in at_once):
        yield "GradualReleases=false leaves something of CodeDeploy"
    first, again, second = (versions(transformed(path, Release=r)) for r in ("0" * 12, "0" * 12, "1" * 12))
    if first != again or first & second or len(first) != len(aliases):
        yield "a release does not make one new version of each function"


def versions(template):
    return {name for name, _ in of_type(template, "AWS::Lambda::Version")}


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


def statements(policy):
    """Yields the statements of a policy, also those that a condition adds."""
    for statement in policy["PolicyDocument"]["Statement"]:
        yield statement["Fn::If"][1] if "Fn::If" in statement else statement


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
    logging.getLogger("samtranslator").setLevel(logging.ERROR)
    problems, stage = [], []
    for number, path in enumerate(sys.argv[1:]):
        template = transformed(path)
        checks = [name_problems, alarm_problems]
        if "console" not in path:
            stage.append(template)
        if number == 0:
            checks += [url_problems, gateway_problems, firewall_problems, route_problems, role_problems, output_problems, alias_problems, log_problems]
            problems += [f"{path}: {problem}" for problem in release_problems(template, path)]
        problems += [f"{path}: {problem}" for check in checks for problem in check(template)]
    problems += [f"{deployer.POLICY}: {problem}" for problem in deployer.problems(stage)]
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
