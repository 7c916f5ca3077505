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
	attrTickets       = "tickets"
	attrServed        = "served"
	attrSummarizedSeq = "summarizedSeq"
	attrIndexedSeq    = "indexedSeq"
	attrExtractedSeq  = "extractedSeq"
	attrActiveAt      = "activeAt"
	attrDueShard      = "dueShard"
	attrDueAt         = "dueAt"

	// A session's copy of its summary.
	attrSummary           = "summary"
	attrSummaryTokens     = "summaryTokens"
	attrSummaryKind       = "summaryKind"
	attrSummaryInProgress = "summaryInProgress"
	attrSummaryCoveredSeq = "summaryCoveredSeq"
	attrSummaryUpdatedAt  = "summaryUpdatedAt"

	// A summary's own record.
	attrSessionID     = "sessionId"
	attrOccurredAt    = "occurredAt"
	attrFields        = "fields"
	attrModel         = "model"
	attrPromptVersion = "promptVersion"

	// Kept prompts.
	attrRecipe   = "recipe"
	attrManifest = "manifest"
	attrText     = "text"

	// Idempotency records.
	attrBodyHash   = "bodyHash"
	attrSessionSK  = "sessionSk"
	attrRecordID   = "recordId"
	attrKeys       = "keys"
	attrState      = "state"
	attrLease      = "lease"
	attrLeaseUntil = "leaseUntil"
	attrAnswerKey  = "answerKey"

	// Deletions and erasures.
	attrVectors     = "vectors"
	attrEmptied     = "emptied"
	attrBuriedAt    = "buriedAt"
	attrRound       = "round"
	attrErasing     = "erasing"
	attrErasedAt    = "erasedAt"
	attrCounts      = "counts"
	attrVectorCount = "vectorCount"

	// Long-term memory. Version counts a record's writes, as it does a session's.
	attrName         = "name"
	attrEmail        = "email"
	attrJoinedAt     = "joinedAt"
	attrAbout        = "about"
	attrPatterns     = "patterns"
	attrWins         = "wins"
	attrStruggles    = "struggles"
	attrLastUpdated  = "lastUpdated"
	attrPersona      = "persona"
	attrGoalType     = "goalType"
	attrNote         = "note"
	attrType         = "type"
	attrPinned       = "pinned"
	attrSource       = "source"
	attrConfidence   = "confidence"
	attrMessageIDs   = "messageIds"
	attrValidUntil   = "validUntil"
	attrSupersededBy = "supersededBy"
	attrCompletedAt  = "completedAt"
	attrCrossContext = "crossContext"
	attrMemory       = "memory"
	attrUnshared     = "unshared"
	attrTimezone     = "timezone"
)
