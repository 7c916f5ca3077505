package dynamo

// The names of stored attributes.
const (
	attrPK         = "pk"
	attrSK         = "sk"
	attrGeneration = "generation"
	attrCreatedAt  = "createdAt"
	attrCreation   = "creation"
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
	attrAwaitsAnswer  = "awaitsAnswer" // only where it is true
	attrForgotten     = "forgotten"    // only where it is true
	attrNoIndex       = "noIndex"      // only where it is true
	attrNoExtract     = "noExtract"    // only where it is true
	attrParts         = "parts"        // as JSON
	attrClientID      = "clientMessageId"
	attrMessageSK     = "messageSk" // of a clientMessageId
	// attrSessionCreatedAt is in epoch milliseconds, in a session and in what belongs to it. It tells the session from a
	// deleted one of the same id, whose messages an index may still show.
	attrSessionCreatedAt = "sessionCreatedAtMs"

	// Sessions.
	attrEntityType         = "entityType"
	attrStatus             = "status"
	attrTitle              = "title"
	attrAttributes         = "attributes"
	attrMessageCount       = "messageCount"
	attrLastSeq            = "lastSeq"
	attrDeletedSeqs        = "deletedSeqs"
	attrStartedAt          = "startedAt"
	attrLastMessageAt      = "lastMessageAt"
	attrLeftAt             = "leftAt"
	attrSessionCompletedAt = "sessionCompletedAt"
	attrPlacement          = "placement"
	attrEmbeddedSeq        = "embeddedSeq"
	attrOutgrown           = "outgrown"
	attrVersion            = "version"
	attrSummarizedSeq      = "summarizedSeq"
	attrSummarizedAt       = "summarizedAt" // the time of the message of summarizedSeq
	attrIndexedSeq         = "indexedSeq"
	attrIndexedAt          = "indexedAt"     // the time of the message of indexedSeq
	attrIndexingUntil      = "indexingUntil" // the end of the claim of a worker that indexes the session
	attrExtractedSeq       = "extractedSeq"
	attrExtractedAt        = "extractedAt" // the time of the message of extractedSeq
	attrReading            = "reading"     // conversation.Reading as JSON
	attrUserSeq            = "userSeq"
	attrUrgentSeq          = "urgentSeq"
	attrActiveAt           = "activeAt"
	attrCoachKey           = "coachKey"
	attrDueShard           = "dueShard"
	attrDueAt              = "dueAt"
	// attrClaimedVersion is the version of the record when a worker claimed it, and is there while the claim lasts.
	attrClaimedVersion = "claimedVersion"
	attrClaimedBy      = "claimedBy" // a random token of the claim, and there while it lasts
	attrFailures       = "failures"  // since work on the record last succeeded
	attrDueSince       = "dueSince"  // when the first of these claims found the record due

	// Sessions of an app that migrates (docs/adr/0023).
	attrMessages  = "messages"    // the array in the attributes, and the one that is parked
	attrOwn       = "throughline" // what an embedded session's record holds of ours
	attrAppValues = "appValues"
	attrOrigin    = "origin"

	// A session's copy of its summary.
	attrSummary           = "summary"
	attrSummaryTokens     = "summaryTokens"
	attrSummaryTags       = "summaryTags"
	attrSummaryKind       = "summaryKind"
	attrSummaryInProgress = "summaryInProgress"
	attrSummaryCoveredSeq = "summaryCoveredSeq"
	attrSummaryUpdatedAt  = "summaryUpdatedAt"
	attrSummaryModel      = "summaryModel"
	attrSummaryFields     = "summaryFields"
	attrSummaryDigest     = "summaryDigest"
	attrSummaryDays       = "summaryDays"
	attrDayFrom           = "from" // within a day of summaryDays
	attrDayTo             = "to"
	attrSummaryAskedAt    = "summaryAskedAt"   // when the messages since the summary reached their number
	attrSummaryIndexedAt  = "summaryIndexedAt" // the summaryUpdatedAt of the summary that is indexed

	// A summary's own record.
	attrSessionID     = "sessionId"
	attrOccurredAt    = "occurredAt"
	attrFields        = "fields"
	attrSubjectID     = "subjectId"
	attrModel         = "model"
	attrPromptVersion = "promptVersion"

	// Stored prompts.
	attrRecipe   = "recipe"
	attrManifest = "manifest"
	attrText     = "text"

	// Idempotency records.
	attrBodyHash    = "bodyHash"
	attrSessionSK   = "sessionSk"
	attrRecordID    = "recordId"
	attrMessageSKs  = "messageSks"
	attrDeletedIDs  = "deletedIds"  // of a truncation, or of its tombstone
	attrMessageSeqs = "messageSeqs" // only where some of the messages were stored before
	attrState       = "state"
	attrLease       = "lease"
	attrLeaseUntil  = "leaseUntil"
	attrAnswerSK    = "answerSk"

	// The mark of the answer that is being generated.
	attrTurnSK      = "turnSk"
	attrPromptID    = "promptId"
	attrJoinedUntil = "joinedUntil"

	// The prompt that is kept of a turn.
	attrPromptData = "promptData"

	// Limits of users.
	attrRequests = "requests"
	attrSlot     = "slot" // of the idempotency record of a turn

	// Documents.
	attrNamespace   = "namespace"
	attrDocumentKey = "documentKey"
	attrValue       = "value"
	attrIndexPaths  = "indexPaths" // absent for the whole value
	attrWriteToken  = "writeToken" // of the put that wrote the record

	// Deletions and erasures.
	attrVectors     = "vectors"
	attrEmptied     = "emptied"
	attrDeletedAt   = "deletedAt"
	attrSweeps      = "sweeps"
	attrErasing     = "erasing"
	attrErasedAt    = "erasedAt"
	attrCounts      = "counts"
	attrVectorCount = "vectorCount"
	attrLeft        = "left"
	attrVectorIndex = "vectorIndex"
	// The index that a user is being moved to, how far that is, and the index that the user was moved out of.
	attrTargetIndex  = "targetIndex"
	attrMovedThrough = "movedThrough"
	attrRetiredIndex = "retiredIndex"

	// The state of the migration.
	attrStage      = "stage"
	attrPercent    = "percent"
	attrCleaned    = "cleaned"
	attrChangedAt  = "changedAt"
	attrBackfilled = "backfilled"
	attrVerifiedAt = "verifiedAt"

	// The progress of a reindex.
	attrSegments = "segments"
	attrAfter    = "after"
	attrDone     = "done"

	// Long-term records. Like a session's, their version counts writes.
	attrName         = "name"
	attrEmail        = "email"
	attrJoinedAt     = "joinedAt"
	attrAbout        = "about"
	attrPatterns     = "patterns"
	attrWins         = "wins"
	attrStruggles    = "struggles"
	attrLastUpdated  = "lastUpdated"
	attrContexts     = "contexts"
	attrCoveredTo    = "coveredTo"
	attrPersona      = "persona"
	attrGoalType     = "goalType"
	attrNote         = "note"
	attrType         = "type"
	attrPinned       = "pinned"
	attrSource       = "source"
	attrConfidence   = "confidence"
	attrMessageIDs   = "messageIds"
	attrMemoryID     = "memoryId"
	attrLikeness     = "likeness" // of what was deleted, as longterm.Likeness
	attrValidUntil   = "validUntil"
	attrSupersededBy = "supersededBy"
	attrEndedReason  = "endedReason"
	attrUntil        = "until"
	attrSaidAt       = "saidAt"
	attrDueOn        = "dueOn" // of a todo: the name dueAt is that of the due index
	attrBy           = "by"
	attrCompletedAt  = "completedAt"
	attrCrossContext = "crossContext"
	attrMemory       = "memory"
	attrUnshared     = "unshared"
	attrShared       = "shared"
	attrTimezone     = "timezone"
)
