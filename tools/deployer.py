"""Checks that infra/deploy/policy.json allows what the deployment of the templates needs, and no more."""

import json
import pathlib

import cfnlint

POLICY = "infra/deploy/policy.json"
# The longest policy within a role, without white space (IAM User Guide, "IAM and AWS STS quotas"), and what the
# names of a stage may add to the file, which has short words in their places.
LONGEST, NAMES = 10_240, 1_000

# NEEDS are the actions that CloudFormation takes, with the rights of who deploys, for each type of resource.
NEEDS = {
    "AWS::ApiGateway::Deployment": "apigateway: DELETE GET PATCH POST PUT",
    "AWS::ApiGateway::RestApi": "apigateway: DELETE GET PATCH POST PUT",
    "AWS::ApiGateway::Stage": "apigateway: DELETE GET PATCH POST PUT",
    # The first API of an account makes the role by which API Gateway calls other services.
    "AWS::ApiGatewayV2::Api": "apigateway: DELETE GET PATCH POST PUT iam: CreateServiceLinkedRole",
    "AWS::ApiGatewayV2::Stage": "apigateway: DELETE GET PATCH POST "
    "logs: CreateLogDelivery DeleteLogDelivery DescribeLogGroups DescribeResourcePolicies GetLogDelivery "
    "ListLogDeliveries PutResourcePolicy UpdateLogDelivery",
    "AWS::CloudFormation::Stack": "cloudformation: CreateStack DeleteStack DescribeStacks UpdateStack TagResource "
    "UntagResource s3: GetObject",
    "AWS::CloudWatch::Alarm": "cloudwatch: DeleteAlarms DescribeAlarms ListTagsForResource PutMetricAlarm TagResource "
    "UntagResource",
    "AWS::CloudWatch::Dashboard": "cloudwatch: DeleteDashboards GetDashboard PutDashboard",
    "AWS::CodeDeploy::Application": "codedeploy: CreateApplication DeleteApplication GetApplication ListTagsForResource "
    "TagResource UntagResource",
    "AWS::CodeDeploy::DeploymentGroup": "codedeploy: CreateDeploymentGroup DeleteDeploymentGroup GetDeploymentConfig "
    "GetDeploymentGroup ListDeployments ListTagsForResource TagResource UntagResource UpdateDeploymentGroup iam: PassRole",
    # A table is retained, so no right to delete one.
    "AWS::DynamoDB::Table": "dynamodb: CreateTable DescribeContinuousBackups DescribeContributorInsights "
    "DescribeKinesisStreamingDestination DescribeTable DescribeTimeToLive GetResourcePolicy ListTagsOfResource "
    "TagResource UntagResource UpdateContinuousBackups UpdateTable UpdateTimeToLive",
    "AWS::IAM::Policy": "iam: DeleteRolePolicy GetRolePolicy PutRolePolicy",
    "AWS::IAM::Role": "iam: CreateRole DeleteRole DeleteRolePolicy GetRole GetRolePolicy ListAttachedRolePolicies "
    "ListRolePolicies PutRolePolicy TagRole UntagRole UpdateAssumeRolePolicy UpdateRole UpdateRoleDescription",
    # An update of an alias with a deployment group is a deployment.
    "AWS::Lambda::Alias": "codedeploy: CreateDeployment GetApplicationRevision GetDeployment GetDeploymentConfig "
    "GetDeploymentGroup RegisterApplicationRevision StopDeployment "
    "lambda: CreateAlias DeleteAlias GetAlias GetProvisionedConcurrencyConfig UpdateAlias",
    "AWS::Lambda::EventInvokeConfig": "lambda: DeleteFunctionEventInvokeConfig GetFunctionEventInvokeConfig "
    "PutFunctionEventInvokeConfig UpdateFunctionEventInvokeConfig",
    "AWS::Lambda::EventSourceMapping": "lambda: CreateEventSourceMapping DeleteEventSourceMapping "
    "GetEventSourceMapping ListTags TagResource UntagResource UpdateEventSourceMapping",
    "AWS::Lambda::Function": "iam: PassRole lambda: CreateFunction DeleteFunction DeleteFunctionConcurrency "
    "GetFunction GetFunctionCodeSigningConfig GetFunctionConfiguration GetFunctionRecursionConfig "
    "GetRuntimeManagementConfig ListTags PutFunctionConcurrency TagResource UntagResource UpdateFunctionCode "
    "UpdateFunctionConfiguration "
    "s3: GetObject",
    "AWS::Lambda::Permission": "lambda: AddPermission GetPolicy RemovePermission",
    "AWS::Lambda::Url": "lambda: CreateFunctionUrlConfig DeleteFunctionUrlConfig GetFunctionUrlConfig "
    "UpdateFunctionUrlConfig",
    # Versions are retained, too: they go with their function.
    "AWS::Lambda::Version": "lambda: GetFunctionConfiguration GetProvisionedConcurrencyConfig "
    "GetRuntimeManagementConfig ListVersionsByFunction PublishVersion",
    "AWS::Logs::LogGroup": "logs: CreateLogGroup DeleteLogGroup DeleteRetentionPolicy DescribeLogGroups "
    "ListTagsForResource PutRetentionPolicy TagResource UntagResource",
    "AWS::SQS::Queue": "sqs: CreateQueue DeleteQueue GetQueueAttributes GetQueueUrl ListQueueTags SetQueueAttributes "
    "TagQueue UntagQueue",
    "AWS::Scheduler::Schedule": "iam: PassRole scheduler: CreateSchedule DeleteSchedule GetSchedule UpdateSchedule",
    "AWS::StepFunctions::StateMachine": "iam: PassRole s3: GetObject states: CreateStateMachine DeleteStateMachine "
    "DescribeStateMachine ListTagsForResource TagResource UntagResource UpdateStateMachine",
    "AWS::WAFv2::WebACL": "wafv2: CreateWebACL DeleteWebACL GetWebACL ListTagsForResource TagResource UntagResource "
    "UpdateWebACL",
    "AWS::WAFv2::WebACLAssociation": "apigateway: SetWebACL wafv2: AssociateWebACL DisassociateWebACL GetWebACL "
    "GetWebACLForResource",
}

# COMMANDS are the actions of the commands themselves.
COMMANDS = {
    "sam deploy": "cloudformation: CreateChangeSet DeleteChangeSet DescribeChangeSet DescribeStackEvents "
    "DescribeStackResources DescribeStacks ExecuteChangeSet GetTemplate GetTemplateSummary ListStackResources "
    "s3: ListBucket PutObject",
    "sam deploy, which makes its bucket the first time": "s3: CreateBucket GetBucketPolicy GetEncryptionConfiguration "
    "PutBucketPolicy PutBucketPublicAccessBlock PutBucketTagging PutBucketVersioning PutEncryptionConfiguration",
    "make deploy": "cloudwatch: DescribeAlarms lambda: GetAccountSettings GetFunctionConcurrency secretsmanager: DescribeSecret",
    "throughline bootstrap": "secretsmanager: CreateSecret GetSecretValue",
    "an update that fails": "cloudformation: CancelUpdateStack ContinueUpdateRollback",
    "make teardown": "cloudformation: DeleteStack ListChangeSets s3: DeleteObject",
    "docs/operating.md and docs/deploying.md, of logs, metrics, dead letters and the trial of an alarm": "cloudwatch: GetMetricData "
    "ListMetrics SetAlarmState logs: FilterLogEvents sqs: PurgeQueue ReceiveMessage",
    "throughline record": "dynamodb: DescribeStream GetRecords GetShardIterator",
    "throughline brake": "lambda: DeleteFunctionConcurrency GetFunctionConcurrency PutFunctionConcurrency",
    "throughline app, throughline restore": "cloudformation: CreateChangeSet DeleteChangeSet DescribeChangeSet DescribeStacks "
    "ExecuteChangeSet GetTemplate ListStackResources lambda: GetFunctionConfiguration s3: PutObject",
}


def actions(words):
    """Returns the actions of a text such as "iam: GetRole PassRole s3: GetObject"."""
    found, service = set(), ""
    for word in words.split():
        if word.endswith(":"):
            service = word
        else:
            found.add(service + word)
    return found


def problems(templates):
    """Yields what the policy lacks for the resources of the templates, what it has besides, and what IAM refuses."""
    with open(POLICY, encoding="utf-8") as file:
        policy = json.load(file)
    allowed = [a for s in policy["Statement"] for a in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])]
    needed = set().union(*(actions(words) for words in COMMANDS.values()))
    for kind in sorted({r["Type"] for t in templates for r in t["Resources"].values()}):
        if kind not in NEEDS:
            yield f"the actions for {kind} are not known: add them to tools/deployer.py and to the policy"
        needed |= actions(NEEDS.get(kind, ""))
    yield from (f"lacks {action}" for action in sorted(needed - set(allowed)))
    yield from (f"allows {action}, which nothing needs" for action in sorted(set(allowed) - needed))
    yield from (f"allows {action}, which IAM does not have" for action in allowed if not exists(action))
    yield from (f"allows {action} twice" for action in sorted({a for a in allowed if allowed.count(a) > 1}))
    length = len(json.dumps(policy, separators=(",", ":")))
    if length > LONGEST - NAMES:
        yield f"has {length} characters without a stage's names, and a role takes {LONGEST}"


def exists(action):
    """Reports whether IAM has an action, by the list that comes with cfn-lint."""
    service, _, name = action.partition(":")
    return name.lower() in {known.lower() for known in SERVICES.get(service, {}).get("Actions", [])}


SERVICES = json.loads((pathlib.Path(cfnlint.__file__).parent / "data/AdditionalSpecs/Policies.json").read_text())
