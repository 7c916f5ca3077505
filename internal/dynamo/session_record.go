package dynamo

import (
	"maps"
	"time"

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
	if err := it.setDocument(attrAttributes, s.Attributes); err != nil {
		return nil, k, err
	}
	if s.Placement != conversation.Shared {
		it.setArray()
	}
	if s.Placement == conversation.Embedded {
		it[attrOwn] = ownAttributes(s).attribute()
	} else {
		maps.Copy(it, sharedAttributes(user, s))
	}
	it[attrEntityType] = stringAttr(surface.EntityType)
	it[attrPlacement] = stringAttr(string(s.Placement))
	it[attrGeneration] = intAttr(s.Generation)
	return it, k, nil
}

// ownAttributes returns what Throughline knows of a session beside its messages. In an embedded session's record it is
// in a map of its own, because other names are the app's (docs/adr/0023).
func ownAttributes(s conversation.Session) item {
	it := item{
		attrStatus: stringAttr(string(s.Status)), attrCoachID: stringAttr(s.CoachID),
		attrSessionCreatedAt: intAttr(s.CreatedAt.UnixMilli()), attrVersion: intAttr(s.Version),
	}
	it.setString(attrMode, s.Mode)
	it.setString(attrTitle, s.Title)
	it.setString(attrDeletedSeqs, s.Deleted.String())
	it.setTime(attrSessionCompletedAt, s.CompletedAt)
	return it
}

// sharedAttributes returns what stands in the record of a session outside of the app's record: ownAttributes, the
// counters and the attributes of the indexes.
func sharedAttributes(user conversation.UserID, s conversation.Session) item {
	it := ownAttributes(s)
	for name, n := range map[string]int{
		attrMessageCount: s.MessageCount, attrLastSeq: s.LastSeq,
		attrSummarizedSeq: s.Summarized.Seq, attrIndexedSeq: s.Indexed.Seq, attrExtractedSeq: s.Extracted.Seq,
	} {
		it[name] = intAttr(n)
	}
	if s.LastSeq > 0 {
		it[attrUserSeq], it[attrUrgentSeq] = intAttr(s.UserSeq), intAttr(s.UrgentSeq)
	}
	if s.EmbeddedSeq > 0 {
		it[attrEmbeddedSeq] = intAttr(s.EmbeddedSeq)
	}
	it[attrActiveAt] = timeAttr(s.ActiveAt())
	if s.MessageCount > 0 {
		it[attrStartedAt], it[attrLastMessageAt] = timeAttr(s.StartedAt), timeAttr(s.LastMessageAt)
	}
	if s.HasContent() {
		it[attrCoachKey] = stringAttr(coachKey(user, s.CoachID))
	}
	return it
}

// keptAttributes are the attributes at the top of a dual or shared session's record that an embedded session keeps, in
// one map. derivedAttributes are the others of Throughline's, which follow from the array or are of the indexes.
var (
	keptAttributes = []string{
		attrStatus, attrCoachID, attrMode, attrTitle, attrSessionCreatedAt, attrVersion, attrDeletedSeqs,
		attrSessionCompletedAt, attrLeftAt, attrSummarizedSeq, attrSummarizedAt, attrIndexedSeq, attrIndexedAt,
		attrExtractedSeq, attrExtractedAt, attrReading, attrSummary, attrSummaryTokens, attrSummaryTags,
		attrSummaryKind, attrSummaryInProgress, attrSummaryCoveredSeq, attrSummaryUpdatedAt, attrSummaryModel,
		attrSummaryFields, attrSummaryDigest, attrSummaryDays, attrSummaryIndexedAt,
	}
	derivedAttributes = []string{
		attrMessageCount, attrLastSeq, attrUserSeq, attrUrgentSeq, attrStartedAt, attrLastMessageAt, attrActiveAt,
		attrCoachKey, attrDueAt, attrDueShard, attrClaimedVersion, attrClaimedBy, attrFailures, attrDueSince,
		attrIndexingUntil, attrSummaryAskedAt, attrEmbeddedSeq, attrOutgrown, attrOrigin, attrCreation,
	}
)

// decodeSession reads a session's record. ok is false for records of other kinds. The generation of an app's own record
// is 0, see recordSet.session.
func decodeSession(it item) (s conversation.Session, ok bool) {
	context, id, ok := parseSessionSK(it.string(attrSK))
	if !ok {
		return conversation.Session{}, false
	}
	switch placement := conversation.Placement(it.string(attrPlacement)); placement {
	case conversation.Shared:
		s = decodeOwn(it)
		s.Attributes = it.document(attrAttributes)
	case conversation.Dual:
		s = decodeOwn(it)
		s.Entries = len(it.array())
		s.Attributes = it.attributesOnly()
	default:
		return decodeEmbedded(it, conversation.Session{ID: id, Context: context}), true
	}
	s.ID, s.Context, s.Placement = id, context, conversation.Placement(it.string(attrPlacement))
	s.Generation = it.int64(attrGeneration)
	return s, true
}

// decodeOwn reads the attributes of Throughline.
func decodeOwn(it item) conversation.Session {
	deleted, err := conversation.ParseSeqSet(it.string(attrDeletedSeqs))
	if err != nil {
		deleted = nil // readers then look for the deleted messages, which costs a read
	}
	return conversation.Session{
		CoachID: it.string(attrCoachID), Mode: it.string(attrMode),
		Status: conversation.Status(it.string(attrStatus)), Title: it.string(attrTitle),
		MessageCount: int(it.int64(attrMessageCount)), LastSeq: int(it.int64(attrLastSeq)), Deleted: deleted,
		CreatedAt: sessionCreatedAt(it), StartedAt: it.time(attrStartedAt),
		LastMessageAt: it.time(attrLastMessageAt), LeftAt: it.time(attrLeftAt),
		CompletedAt: it.time(attrSessionCompletedAt),
		Summary:     decodeSessionSummary(it),
		Summarized:  conversation.Watermark{Seq: int(it.int64(attrSummarizedSeq)), At: it.time(attrSummarizedAt)},
		Indexed:     conversation.Watermark{Seq: int(it.int64(attrIndexedSeq)), At: it.time(attrIndexedAt)},
		Extracted:   conversation.Watermark{Seq: int(it.int64(attrExtractedSeq)), At: it.time(attrExtractedAt)},
		Reading:     decodeReading(it),
		UserSeq:     int(it.int64(attrUserSeq)), UrgentSeq: int(it.int64(attrUrgentSeq)),
		EmbeddedSeq: int(it.int64(attrEmbeddedSeq)),
		Version:     it.int64(attrVersion), DueAt: it.time(attrDueAt),
		ClaimedVersion: it.int64(attrClaimedVersion),
	}
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
		Fields: it.document(attrSummaryFields), Digest: it.string(attrSummaryDigest), Days: decodeDays(it),
		Indexed: it.has(attrSummaryIndexedAt) && it.string(attrSummaryIndexedAt) == it.string(attrSummaryUpdatedAt),
	}
}

// session returns the session of a user's record, unless it is absent or of an earlier generation. The record of the
// generation has to be read too.
func (r recordSet) session(user conversation.UserID, k key) (conversation.Session, bool) {
	it, _ := r.current(user, k)
	s, ok := decodeSession(it)
	if isAppsOwn(s) {
		s.Generation = r.generation(user)
	}
	return s, ok
}

// isUnchanged is the condition that a session is as the writer has read it. Appends and edits raise the version, a step
// of the migration changes the placement, and an erasure or a deletion makes it another incarnation. The app changes
// the length of its array.
func isUnchanged(s conversation.Session) expression.ConditionBuilder {
	switch {
	case s.Placement == conversation.Shared:
		return field(attrVersion).Equal(value(intAttr(s.Version))).
			And(field(attrPlacement).Equal(value(stringAttr(string(s.Placement)))), isIncarnation(s))
	case isAppsOwn(s):
		return isIncarnation(s).And(hasEntries(s))
	}
	version := attrVersion
	if s.Placement == conversation.Embedded {
		version = ownPath(attrVersion)
	}
	return field(version).Equal(value(intAttr(s.Version))).
		And(field(attrPlacement).Equal(value(stringAttr(string(s.Placement)))), isIncarnation(s), hasEntries(s))
}

// isIncarnation is the condition that the record still is this session, whatever was written to it since, and not a
// later one of the same id. An app's own record has nothing to tell by.
func isIncarnation(s conversation.Session) expression.ConditionBuilder {
	created := attrSessionCreatedAt
	switch {
	case isAppsOwn(s):
		return exists().And(expression.AttributeNotExists(field(attrPlacement)))
	case s.Placement == conversation.Embedded:
		created = ownPath(attrSessionCreatedAt)
	}
	return field(attrGeneration).Equal(value(intAttr(s.Generation))).
		And(field(created).Equal(value(intAttr(s.CreatedAt.UnixMilli()))))
}

// setWatermark sets a watermark in the attributes of its seq and its time.
func setWatermark(u expression.UpdateBuilder, seq, at string, w conversation.Watermark) expression.UpdateBuilder {
	return setOrRemove(u.Set(field(seq), value(intAttr(w.Seq))), at, timeAttr(w.At), !w.At.IsZero())
}

// setCounters sets what an append or the deletion of a message changes. A session is in the index of its coach as long
// as it has messages or a summary. The write is one of the session's own, and not of the migration.
func setCounters(user conversation.UserID, s conversation.Session) expression.UpdateBuilder {
	u := expression.Set(field(attrVersion), value(intAttr(s.Version))).
		Set(field(attrMessageCount), value(intAttr(s.MessageCount))).
		Set(field(attrLastSeq), value(intAttr(s.LastSeq))).
		Set(field(attrActiveAt), value(timeAttr(s.ActiveAt()))).
		Set(field(attrUserSeq), value(intAttr(s.UserSeq))).
		Set(field(attrUrgentSeq), value(intAttr(s.UrgentSeq))).
		Remove(field(attrOrigin))
	if s.MessageCount == 0 {
		return u.Remove(field(attrStartedAt)).Remove(field(attrLastMessageAt)).Remove(field(attrCoachKey))
	}
	return u.Set(field(attrStartedAt), value(timeAttr(s.StartedAt))).
		Set(field(attrLastMessageAt), value(timeAttr(s.LastMessageAt))).
		Set(field(attrCoachKey), value(stringAttr(coachKey(user, s.CoachID))))
}

// sessionCreatedAt returns when the session of a record, or of what belongs to it, was created.
func sessionCreatedAt(it item) time.Time {
	if !it.has(attrSessionCreatedAt) {
		return time.Time{}
	}
	return time.UnixMilli(it.int64(attrSessionCreatedAt)).UTC()
}
