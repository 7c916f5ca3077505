"""Which failures that schemathesis reports are right answers of the API: those by rules that no schema can express."""

import json
import urllib.parse

import schemathesis

# How the field and the message of an error begin, for each rule.
RULES = [
    # A cursor is bound to its user, path and query.
    ("cursor", "is not a cursor of this list"),
    ("after", "is not the after of an export's last line"),
    # The tz database changes, so the schema does not list its names.
    ("timezone", "is not the IANA name of a time zone"),
    ("timezone", "must be an IANA time zone such as Europe/Berlin"),
    # No schema knows which characters are seen.
    ("content", "must have visible text"),
    ("title", "must have visible text"),
    ("note", "must have visible text"),
    # Rules between two fields, or between a field and the stored records or the clock.
    ("to", "lies before from"),
    ("completedAt", "needs the status COMPLETED, and the todo is "),
    ("endedReason", "needs validUntil, until or supersededBy"),
    ("until", "must not be over when from begins"),
    ("supersededBy", "must be the id of another memory"),
    # No schema has the calendar: the 31st of February.
    ("from", "must be a day such as 2026-11-20, or an RFC 3339 time"),
    ("until", "must be a day such as 2026-11-20, or an RFC 3339 time"),
    ("dueAt", "must be a day such as 2026-11-20, or an RFC 3339 time"),
    ("timestamp", "must lie at most 5 minutes in the future"),
    ("messageId", "names "),
    ("message", "does not fit: the budget is "),
    # The app's own objects: JSON has numbers that no double has, and any depth.
    ("attributes", "is a number that would not come back exactly: "),
    ("attributes", "must be nested at most 16 deep"),
    ("attributes", "must have names of 1 to 255 bytes "),
    ("messages", "must be at most 98 together with their clientMessageIds"),
    # A turn ends with the user's text, and with an answer or the reason why there is none.
    ("messages", "must end with a text of the user"),
    ("message", "is needed, or else messages: one of the two"),
    ("content", "is required where there are no parts and no error"),
    ("afterSeq", "is needed, or lastN instead of it"),
    ("afterSeq", "would delete "),
    # A query has JSON as text.
    ("value", "is a number that would not come back exactly: "),
    ("after", "is empty"),
    ("filter", "is empty"),
    ("attributes", "is empty"),
    ("filter", "must be a JSON object without repeated names"),
    ("attributes", "must be a JSON object without repeated names"),
    ("index[", "must be $, or names joined by dots"),
    ("filter", "is a number that would not come back exactly: "),
    ("filter", "must take at most "),  # a limit of all names and texts together
    ("filter", "must have names of 1 to 255 bytes "),  # a schema counts characters
]

# The rules of a message, wherever a list has some.
MESSAGE_RULES = [
    "must not lie before the message in front of it",
    "must lie at most 5 minutes in the future",
    "is a number that would not come back exactly: ",
    "must be nested at most 16 deep",
    "must have names of 1 to 255 bytes ",
    # It has a content or parts, and which fields a part has depends on its type.
    "must be 1 byte to 256 KiB long",
    "is required in a part of the type ",
    "is no field of a part of the type ",
    "is repeated in this call",
]
RULES += [(field, text) for field in ("messages[", "replacement[", "message.", "parts[") for text in MESSAGE_RULES]

# The paths of records that a repeated POST named again. They may have been deleted since the first POST.
repeated = set()


# The first and the last day of which not every time is valid. Which ones are not depends on the offset.
EDGES = ("0001-01-01T", "9999-12-31T")


def at_edge(error, case):
    text = json.dumps([case.body, case.query], default=str)
    return error["message"].startswith("must be an RFC 3339 time from ") and any(day in text for day in EDGES)


def by_rule(error):
    return any(error["field"].startswith(field) and error["message"].startswith(text) for field, text in RULES)


@schemathesis.hook
def after_call(context, case, response):
    if response.headers.get("idempotency-replayed"):
        repeated.update(response.headers.get("location", []))


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drop a failure that one of the rules explains completely."""
    if failure.code == "ST302":  # a created record is not there
        return urllib.parse.unquote(urllib.parse.urlsplit(response.request.url).path) not in repeated
    if failure.code != "ST202" or response.status_code != 422:  # a schema-valid request was rejected
        return True
    problem = json.loads(response.content)
    if problem["code"] == "idempotency_mismatch":  # the same key with another body
        return False
    errors = problem.get("errors", [])
    return not errors or not all(by_rule(error) or at_edge(error, case) for error in errors)
