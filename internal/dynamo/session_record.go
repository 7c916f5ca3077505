package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
)

// encodeSession returns the record of a new session. Every later write updates single attributes, so that attributes of
// the app's own stay in the record.
func encodeSession(user conversation.UserID, s conversation.Session) (item, key, error) {
	sk, ok := sessionSK(s.Context, s.ID)
	surface, err := conversation.SurfaceOf(s.Context)
	if err != nil || !ok {
		return nil, key{}, errInvalidKey
	}
	k := key{partition(user), sk}
	it := k.attributes()
	it[attrEntityType] = stringAttr(surface.EntityType)
	it[attrStatus] = stringAttr(string(s.Status))
	it[attrCoachID] = stringAttr(s.CoachID)
	it.setString(attrMode, s.Mode)
	it.setString(attrTitle, s.Title)
	it[attrCreatedAt] = timeAttr(s.CreatedAt)
	it[attrActiveAt] = timeAttr(s.ActiveAt())
	it[attrPlacement] = stringAttr(string(s.Placement))
	for name, n := range map[string]int{
		attrMessageCount: s.MessageCount, attrLastSeq: s.LastSeq,
		attrSummarizedSeq: s.Summarized.Seq, attrIndexedSeq: s.Indexed.Seq, attrExtractedSeq: s.Extracted.Seq,
	} {
		it[name] = intAttr(n)
	}
	it[attrVersion] = intAttr(s.Version)
	it[attrGeneration] = intAttr(s.Generation)
	return it, k, it.setDocument(attrAttributes, s.Attributes)
}

// decodeSession reads a session's record. ok is false for records of other kinds, and for an app's own session that has
// not been migrated.
func decodeSession(it item) (s conversation.Session, ok bool) {
	context, id, ok := parseSessionSK(it.string(attrSK))
	if !ok || !it.has(attrPlacement) {
		return conversation.Session{}, false
	}
	deleted, err := conversation.ParseSeqSet(it.string(attrDeletedSeqs))
	if err != nil {
		deleted = nil // readers then look for the deleted messages, which costs a read
	}
	return conversation.Session{
		ID: id, Context: context, CoachID: it.string(attrCoachID), Mode: it.string(attrMode),
		Status: conversation.Status(it.string(attrStatus)), Title: it.string(attrTitle),
		Attributes:   it.document(attrAttributes),
		MessageCount: int(it.int64(attrMessageCount)), LastSeq: int(it.int64(attrLastSeq)), Deleted: deleted,
		CreatedAt: it.time(attrCreatedAt), StartedAt: it.time(attrStartedAt),
		LastMessageAt: it.time(attrLastMessageAt), LeftAt: it.time(attrLeftAt),
		CompletedAt: it.time(attrSessionCompletedAt),
		Summary:     decodeSessionSummary(it),
		Summarized:  conversation.Watermark{Seq: int(it.int64(attrSummarizedSeq)), At: it.time(attrSummarizedAt)},
		Indexed:     conversation.Watermark{Seq: int(it.int64(attrIndexedSeq)), At: it.time(attrIndexedAt)},
		Extracted:   conversation.Watermark{Seq: int(it.int64(attrExtractedSeq)), At: it.time(attrExtractedAt)},
		UserSeq:     int(it.int64(attrUserSeq)), UrgentSeq: int(it.int64(attrUrgentSeq)),
		Placement: conversation.Placement(it.string(attrPlacement)),
		Version:   it.int64(attrVersion), Generation: it.int64(attrGeneration), DueAt: it.time(attrDueAt),
		ClaimedVersion: it.int64(attrClaimedVersion),
	}, true
}

func decodeSessionSummary(it item) *conversation.SessionSummary {
	if !it.has(attrSummaryKind) {
		return nil
	}
	return &conversation.SessionSummary{
		Text: it.string(attrSummary), Tokens: int(it.int64(attrSummaryTokens)),
		Tags:           it.strings(attrSummaryTags),
		Kind:           conversation.SummaryKind(it.string(attrSummaryKind)),
		InProgress:     it.bool(attrSummaryInProgress),
		CoveredThrough: int(it.int64(attrSummaryCoveredSeq)),
		UpdatedAt:      it.time(attrSummaryUpdatedAt), Model: it.string(attrSummaryModel),
		Fields: it.document(attrSummaryFields), Digest: it.string(attrSummaryDigest),
		Indexed: it.has(attrSummaryIndexedAt) && it.string(attrSummaryIndexedAt) == it.string(attrSummaryUpdatedAt),
	}
}

// isUnchanged is the condition that a session is as the writer has read it. Appends and edits raise the version, a step
// of the migration changes the placement, and an erasure or a deletion makes it another incarnation.
func isUnchanged(s conversation.Session) expression.ConditionBuilder {
	return field(attrVersion).Equal(value(intAttr(s.Version))).
		And(field(attrPlacement).Equal(value(stringAttr(string(s.Placement)))), isIncarnation(s))
}

// isIncarnation is the condition that the record still is this session, whatever was written to it since, and not a
// later one of the same id.
func isIncarnation(s conversation.Session) expression.ConditionBuilder {
	return field(attrGeneration).Equal(value(intAttr(s.Generation))).
		And(field(attrCreatedAt).Equal(value(timeAttr(s.CreatedAt))))
}

// setWatermark sets a watermark in the attributes of its seq and its time.
func setWatermark(u expression.UpdateBuilder, seq, at string, w conversation.Watermark) expression.UpdateBuilder {
	return setOrRemove(u.Set(field(seq), value(intAttr(w.Seq))), at, timeAttr(w.At), !w.At.IsZero())
}

// setCounters sets what an append or the deletion of a message changes. A session is in the index of its coach as long
// as it has messages or a summary.
func setCounters(user conversation.UserID, s conversation.Session) expression.UpdateBuilder {
	u := expression.Set(field(attrVersion), value(intAttr(s.Version))).
		Set(field(attrMessageCount), value(intAttr(s.MessageCount))).
		Set(field(attrLastSeq), value(intAttr(s.LastSeq))).
		Set(field(attrActiveAt), value(timeAttr(s.ActiveAt()))).
		Set(field(attrUserSeq), value(intAttr(s.UserSeq))).
		Set(field(attrUrgentSeq), value(intAttr(s.UrgentSeq)))
	if s.MessageCount == 0 {
		return u.Remove(field(attrStartedAt)).Remove(field(attrLastMessageAt)).Remove(field(attrCoachKey))
	}
	return u.Set(field(attrStartedAt), value(timeAttr(s.StartedAt))).
		Set(field(attrLastMessageAt), value(timeAttr(s.LastMessageAt))).
		Set(field(attrCoachKey), value(stringAttr(coachKey(user, s.CoachID))))
}
