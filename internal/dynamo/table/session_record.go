package table

import (
	"encoding/json"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// OwnAttributes returns what Throughline knows of a session beside its messages and what follows from these.
func OwnAttributes(s conversation.Session) Item {
	it := Item{
		AttrStatus: StringAttr(string(s.Status)), AttrCoachID: StringAttr(s.CoachID),
		AttrSessionCreatedAt: IntAttr(s.CreatedAt.UnixMilli()), AttrVersion: IntAttr(s.Version),
	}
	it.SetString(AttrMode, s.Mode)
	it.SetString(AttrTitle, s.Title)
	it.SetString(AttrDeletedSeqs, s.Deleted.String())
	it.SetTime(AttrSessionCompletedAt, s.CompletedAt)
	return it
}

// SharedAttributes returns the attributes of a session's record outside of the app's record: OwnAttributes, the
// counters and the attributes of the indexes.
func SharedAttributes(user conversation.UserID, s conversation.Session) Item {
	it := OwnAttributes(s)
	for name, n := range map[string]int{
		AttrMessageCount: s.MessageCount, AttrLastSeq: s.LastSeq,
		AttrSummarizedSeq: s.Summarized.Seq, AttrIndexedSeq: s.Indexed.Seq, AttrExtractedSeq: s.Extracted.Seq,
	} {
		it[name] = IntAttr(n)
	}
	if s.LastSeq > 0 {
		it[AttrUserSeq], it[AttrUrgentSeq] = IntAttr(s.UserSeq), IntAttr(s.UrgentSeq)
	}
	it[AttrActiveAt] = TimeAttr(s.ListedAt())
	if s.MessageCount > 0 {
		it[AttrStartedAt], it[AttrLastMessageAt] = TimeAttr(s.StartedAt), TimeAttr(s.LastMessageAt)
	}
	if s.HasContent() {
		it[AttrCoachKey] = StringAttr(CoachKey(user, s.CoachID))
	}
	return it
}

// DecodeShared reads the record of a session of the shared store. ok is false for other records.
func DecodeShared(it Item) (s conversation.Session, ok bool) {
	context, id, ok := ParseSessionSK(it.String(AttrSK))
	if !ok || !IsOfSharedStore(it) {
		return conversation.Session{}, false
	}
	s = DecodeOwn(it)
	s.ID, s.Context, s.Generation = id, context, it.Int64(AttrGeneration)
	s.Attributes = it.Document(AttrAttributes)
	return s, true
}

// DecodeOwn reads the attributes of Throughline.
func DecodeOwn(it Item) conversation.Session {
	deleted, err := conversation.ParseSeqSet(it.String(AttrDeletedSeqs))
	if err != nil {
		deleted = nil // readers then look for the deleted messages, which costs a read
	}
	return conversation.Session{
		CoachID: it.String(AttrCoachID), Mode: it.String(AttrMode),
		Status: conversation.Status(it.String(AttrStatus)), Title: it.String(AttrTitle),
		MessageCount: int(it.Int64(AttrMessageCount)), LastSeq: int(it.Int64(AttrLastSeq)), Deleted: deleted,
		CreatedAt: SessionCreatedAt(it), StartedAt: it.Time(AttrStartedAt),
		LastMessageAt: it.Time(AttrLastMessageAt), LeftAt: it.Time(AttrLeftAt),
		CompletedAt: it.Time(AttrSessionCompletedAt),
		Summary:     decodeSessionSummary(it),
		Summarized:  conversation.Watermark{Seq: int(it.Int64(AttrSummarizedSeq)), At: it.Time(AttrSummarizedAt)},
		Indexed:     conversation.Watermark{Seq: int(it.Int64(AttrIndexedSeq)), At: it.Time(AttrIndexedAt)},
		Extracted:   conversation.Watermark{Seq: int(it.Int64(AttrExtractedSeq)), At: it.Time(AttrExtractedAt)},
		Reading:     decodeReading(it),
		UserSeq:     int(it.Int64(AttrUserSeq)), UrgentSeq: int(it.Int64(AttrUrgentSeq)),
		Version: it.Int64(AttrVersion), DueAt: it.Time(AttrDueAt),
		ClaimedVersion: it.Int64(AttrClaimedVersion), ClaimedAt: it.Time(AttrClaimedAt),
	}
}

func decodeSessionSummary(it Item) *conversation.SessionSummary {
	if !it.Has(AttrSummaryKind) {
		return nil
	}
	return &conversation.SessionSummary{
		Text: it.String(AttrSummary), Tokens: int(it.Int64(AttrSummaryTokens)),
		Tags:           it.Strings(AttrSummaryTags),
		Kind:           conversation.SummaryKind(it.String(AttrSummaryKind)),
		InProgress:     it.Bool(AttrSummaryInProgress),
		CoveredThrough: int(it.Int64(AttrSummaryCoveredSeq)),
		UpdatedAt:      it.Time(AttrSummaryUpdatedAt), Model: it.String(AttrSummaryModel),
		Fields: it.Document(AttrSummaryFields), Digest: it.String(AttrSummaryDigest), Days: decodeDays(it),
		Indexed: it.Has(AttrSummaryIndexedAt) && it.String(AttrSummaryIndexedAt) == it.String(AttrSummaryUpdatedAt),
	}
}

// SetCounters sets what an append or the deletion of a message changes. A session is in the index of its coach as long
// as it has messages or a summary. The write is one of the session's own, and not of the migration.
func SetCounters(user conversation.UserID, s conversation.Session) Update {
	u := Set(AttrVersion, IntAttr(s.Version)).
		Set(AttrMessageCount, IntAttr(s.MessageCount)).
		Set(AttrLastSeq, IntAttr(s.LastSeq)).
		Set(AttrActiveAt, TimeAttr(s.ListedAt())).
		Set(AttrUserSeq, IntAttr(s.UserSeq)).
		Set(AttrUrgentSeq, IntAttr(s.UrgentSeq)).
		Remove(AttrOrigin)
	if s.MessageCount == 0 {
		return u.Remove(AttrStartedAt, AttrLastMessageAt, AttrCoachKey)
	}
	return u.Set(AttrStartedAt, TimeAttr(s.StartedAt)).
		Set(AttrLastMessageAt, TimeAttr(s.LastMessageAt)).
		Set(AttrCoachKey, StringAttr(CoachKey(user, s.CoachID)))
}

// SessionCreatedAt returns when the session of a record, or of what belongs to it, was created.
func SessionCreatedAt(it Item) time.Time {
	if !it.Has(AttrSessionCreatedAt) {
		return time.Time{}
	}
	return time.UnixMilli(it.Int64(AttrSessionCreatedAt)).UTC()
}

// decodeReading reads what setExtracted writes. A record without it, or with what is no JSON, had no bad answer.
func decodeReading(it Item) (r conversation.Reading) {
	if json.Unmarshal([]byte(it.String(AttrReading)), &r) != nil {
		return conversation.Reading{}
	}
	return r
}
