package dynamo

// The names of attributes in keys, indexes, expressions and records. Those of design 3 are part of the data model:
// an app may read them.
const (
	attrPK         = "pk"
	attrSK         = "sk"
	attrGeneration = "generation"
	attrCreatedAt  = "createdAt"
	attrUpdatedAt  = "updatedAt"

	// Messages.
	attrMessageID     = "messageId"
	attrSeq           = "seq"
	attrRole          = "role"
	attrContent       = "content"
	attrTokens        = "tokens"
	attrTimestamp     = "timestamp"
	attrSourceContext = "sourceContext"
	attrSourceID      = "sourceId"
	attrCoachID       = "coachId"
	attrAgentID       = "agentId"
	attrMode          = "mode"
	attrMetadata      = "metadata"
	// attrBorn is when the message's session was created, in epoch milliseconds: an index that lags behind a
	// deletion shows messages of an earlier session of the same id, which are told apart by it.
	attrBorn = "born"

	// Sessions.
	attrEntityType    = "entityType"
	attrStatus        = "status"
	attrTitle         = "title"
	attrAttributes    = "attributes"
	attrMessageCount  = "messageCount"
	attrLastSeq       = "lastSeq"
	attrDeleted       = "deletedSeqs"
	attrStartedAt     = "startedAt"
	attrLastMessageAt = "lastMessageAt"
	attrLeftAt        = "leftAt"
	attrPlacement     = "placement"
	attrVersion       = "version"
	attrSummarizedSeq = "summarizedSeq"
	attrIndexedSeq    = "indexedSeq"
	attrExtractedSeq  = "extractedSeq"
	attrActiveAt      = "activeAt"
	attrDueShard      = "dueShard"
	attrDueAt         = "dueAt"

	// A session's copy of its summary.
	attrSummary           = "summary"
	attrSummaryKind       = "summaryKind"
	attrSummaryInProgress = "summaryInProgress"
	attrSummaryCoveredSeq = "summaryCoveredSeq"
	attrSummaryUpdatedAt  = "summaryUpdatedAt"

	// Idempotency records.
	attrBodyHash   = "bodyHash"
	attrSessionSK  = "sessionSk"
	attrKeys       = "keys"
	attrState      = "state"
	attrLease      = "lease"
	attrLeaseUntil = "leaseUntil"
	attrAnswerKey  = "answerKey"
)
