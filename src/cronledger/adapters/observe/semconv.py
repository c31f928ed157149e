"""The names of OpenTelemetry's semantic conventions that we use; those of messaging may change."""

from __future__ import annotations

SYSTEM = "messaging.system"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION = "messaging.destination.name"
BATCH_COUNT = "messaging.batch.message_count"
MESSAGE_ID = "messaging.message.id"
ERROR_TYPE = "error.type"

KEY = "cronledger.key"
KIND = "cronledger.kind"
ATTEMPT = "cronledger.attempt"
OUTCOME = "cronledger.outcome"
MISSING = "cronledger.missing"
UNEXPECTED = "cronledger.unexpected"
ORPHANED = "cronledger.orphaned"

US = "cronledger"
SEND = "send"
PROCESS = "process"
