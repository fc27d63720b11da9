"""Rules for a key of the operator's own. Where none is given, AWS's keys encrypt and roles need nothing."""

from collections.abc import Iterator
from typing import Any, Final

from tests.template.expansion import Expanded, named
from tests.template.rules.access import listed, statements

STORES: Final = {"DynamoDB::Table": "table", "SQS::Queue": "queue", "S3::Bucket": "bucket"}
_ENCRYPTING: Final = {"sqs:SendMessage", "s3:PutObject"}
"""Actions for which the caller makes a data key. DynamoDB makes those of tables by a grant."""


def one_key_encrypts_all(template: Expanded) -> Iterator[str]:
    keys = {name: key for kind in STORES for name, key in _keys(template, kind)}
    for name, key in keys.items():
        if key not in (given := set(keys.values()) - {""}) and given:
            yield f"{name}: is not encrypted with the key that encrypts the others"


def _keys(template: Expanded, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the key of each store; '' where it is AWS's."""
    for name, store in template.of(kind):
        match kind:
            case "DynamoDB::Table":
                yield name, store.get("SSESpecification", {}).get("KMSMasterKeyId", "")
            case "SQS::Queue":
                yield name, store.get("KmsMasterKeyId", "")
            case _:
                yield name, _default(store).get("KMSMasterKeyID", "")


def _default(bucket: dict[str, Any]) -> dict[str, Any]:
    (rule,) = bucket.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", [{}])
    default: dict[str, Any] = rule.get("ServerSideEncryptionByDefault", {})
    return default


def roles_may_use_the_key_and_no_other(template: Expanded) -> Iterator[str]:
    """Tables, queues and buckets use a customer's key with the permissions of whoever calls them."""
    given = {key for kind in STORES for _, key in _keys(template, kind)} - {""}
    for name, function in template.of("Lambda::Function"):
        own = [statement for role, statement in statements(template) if role == named(function["Role"])]
        actions = {str(action) for one in own for action in listed(one["Action"])}
        wanted = {"kms:Decrypt", *(["kms:GenerateDataKey"] if actions & _ENCRYPTING else [])} if given else set()
        granted = {action for action in actions if action.startswith("kms:")}
        if granted != wanted:
            yield f"{name}: expected {_said(wanted)}, got {_said(granted)}"
        for one in own:
            uses = any(str(action).startswith("kms:") for action in listed(one["Action"]))
            if uses and not {str(resource) for resource in listed(one["Resource"])} <= given:
                yield f"{name}: may use a key that encrypts nothing of the stack"


def _said(actions: set[str]) -> str:
    return " and ".join(sorted(actions)) or "no permission for keys"
