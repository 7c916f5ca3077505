package table

// The names of stored attributes.
const (
	AttrPK         = "pk"
	AttrSK         = "sk"
	AttrGeneration = "generation"
	AttrCreatedAt  = "createdAt"
	AttrCreation   = "creation"
	AttrUpdatedAt  = "updatedAt"

	// Messages.
	AttrMessageID    = "messageId"
	AttrSeq          = "seq"
	AttrRole         = "role"
	AttrContent      = "content"
	AttrTokens       = "tokens"
	AttrCleanBy      = "cleanBy"
	AttrTimestamp    = "timestamp"
	AttrSourceID     = "sourceId"
	AttrCoachID      = "coachId"
	attrAgentID      = "agentId"
	AttrMode         = "mode"
	AttrMetadata     = "metadata"
	attrAwaitsAnswer = "awaitsAnswer" // only where it is true
	AttrForgotten    = "forgotten"    // only where it is true
	attrNoIndex      = "noIndex"      // only where it is true
	attrNoExtract    = "noExtract"    // only where it is true
	AttrParts        = "parts"        // as JSON
	attrClientID     = "clientMessageId"
	AttrMessageSK    = "messageSk" // of a clientMessageId
	// AttrSessionCreatedAt is in epoch milliseconds, in a session and in what belongs to it. It distinguishes the session
	// from a deleted one of the same id, whose messages an index may still show.
	AttrSessionCreatedAt = "sessionCreatedAtMs"

	// Sessions.
	AttrEntityType         = "entityType"
	AttrStatus             = "status"
	AttrTitle              = "title"
	AttrAttributes         = "attributes"
	AttrMessageCount       = "messageCount"
	AttrLastSeq            = "lastSeq"
	AttrDeletedSeqs        = "deletedSeqs"
	AttrForgottenSeqs      = "forgottenSeqs"
	AttrStartedAt          = "startedAt"
	AttrLastMessageAt      = "lastMessageAt"
	AttrLeftAt             = "leftAt"
	AttrSessionCompletedAt = "sessionCompletedAt"
	AttrPlacement          = "placement"
	AttrOutgrown           = "outgrown"
	AttrVersion            = "version"
	AttrSummarizedSeq      = "summarizedSeq"
	AttrSummarizedAt       = "summarizedAt" // the time of the message of summarizedSeq
	AttrIndexedSeq         = "indexedSeq"
	AttrIndexedAt          = "indexedAt"     // the time of the message of indexedSeq
	AttrIndexingUntil      = "indexingUntil" // the end of the claim of a worker that indexes the session
	AttrExtractedSeq       = "extractedSeq"
	AttrExtractedAt        = "extractedAt" // the time of the message of extractedSeq
	AttrReading            = "reading"     // conversation.Reading as JSON
	AttrUserSeq            = "userSeq"
	AttrUrgentSeq          = "urgentSeq"
	AttrActiveAt           = "activeAt"
	AttrCoachKey           = "coachKey"
	AttrDueShard           = "dueShard"
	AttrDueAt              = "dueAt"
	// AttrClaimedVersion is the version of the record when a worker claimed it, and is there while the claim lasts.
	AttrClaimedVersion = "claimedVersion"
	AttrClaimedAt      = "claimedAt"
	AttrClaimedBy      = "claimedBy" // a random token of the claim, and there while it lasts
	AttrFailures       = "failures"  // since work on the record last succeeded
	AttrDueSince       = "dueSince"  // when the first of these claims found the record due

	// AttrOrigin marks what the migration writes (docs/adr/0023).
	AttrOrigin = "origin"

	// A session's copy of its summary.
	AttrSummary           = "summary"
	AttrSummaryTokens     = "summaryTokens"
	AttrSummaryTags       = "summaryTags"
	AttrSummaryKind       = "summaryKind"
	AttrSummaryInProgress = "summaryInProgress"
	AttrSummaryCoveredSeq = "summaryCoveredSeq"
	AttrSummaryUpdatedAt  = "summaryUpdatedAt"
	AttrSummaryModel      = "summaryModel"
	AttrSummaryFields     = "summaryFields"
	AttrSummaryDigest     = "summaryDigest"
	AttrSummaryDays       = "summaryDays"
	attrDayFrom           = "from" // within a day of summaryDays
	attrDayTo             = "to"
	AttrSummaryAskedAt    = "summaryAskedAt"   // when the messages since the summary reached their number
	AttrSummaryIndexedAt  = "summaryIndexedAt" // the summaryUpdatedAt of the summary that is indexed

	// A summary's own record.
	AttrSessionID     = "sessionId"
	AttrFields        = "fields"
	AttrModel         = "model"
	AttrPromptVersion = "promptVersion"

	// Stored prompts.
	AttrText = "text"

	// Idempotency records.
	AttrBodyHash    = "bodyHash"
	AttrSessionSK   = "sessionSk"
	AttrRecordID    = "recordId"
	AttrMessageSKs  = "messageSks"
	AttrDeletedIDs  = "deletedIds"  // of a truncation, or of its tombstone
	AttrMessageSeqs = "messageSeqs" // only where some of the messages were stored before
	AttrState       = "state"
	AttrLease       = "lease"
	AttrLeaseUntil  = "leaseUntil"
	AttrAnswerSK    = "answerSk"

	// The mark of the answer that is being generated.
	AttrTurnSK      = "turnSk"
	AttrPromptID    = "promptId"
	AttrJoinedUntil = "joinedUntil"

	// The prompt that is kept of a turn.
	AttrPromptData = "promptData"

	// Limits of users.
	AttrRequests = "requests"
	AttrPermit   = "slot" // of the idempotency record of a turn

	// Documents.
	AttrNamespace  = "namespace"
	AttrValue      = "value"
	AttrIndexPaths = "indexPaths" // absent for the whole value
	AttrWriteToken = "writeToken" // of the put that wrote the record

	// Deletions and erasures.
	AttrDeletedAt   = "deletedAt"
	AttrSweeps      = "sweeps"
	AttrEmptied     = "emptied"
	AttrFiles       = "files"
	AttrErasing     = "erasing"
	AttrErasedAt    = "erasedAt"
	AttrCounts      = "counts"
	AttrVectorCount = "vectorCount"
	AttrLeft        = "left"

	// Long-term records. Like a session's, their version counts writes.
	AttrPatterns   = "patterns"
	AttrWins       = "wins"
	AttrStruggles  = "struggles"
	AttrContexts   = "contexts"
	AttrCoveredTo  = "coveredTo"
	AttrConfidence = "confidence"
	AttrMessageIDs = "messageIds"
	AttrMemoryID   = "memoryId"
	AttrLikeness   = "likeness"   // of what was deleted, as longterm.Likeness
	AttrAboutWords = "aboutWords" // the likeness of whom it was about
	AttrNames      = "names"      // the likeness of the names in what was deleted
	AttrRejected   = "rejected"   // it waited for a review
	AttrAskedAt    = "askedAt"    // when the user asked to delete it
	AttrMoved      = "moved"      // it became past as it was
	AttrFrom       = "from"
	AttrUntil      = "until"
	AttrSaidUntil  = "saidUntil"
	AttrDueOn      = "dueOn" // of a todo: the name dueAt is that of the due index
	AttrMemory     = "memory"
	AttrUnshared   = "unshared"
	AttrShared     = "shared"
)
