package table

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// ownNames are the attributes of what Throughline knows of a session beside its messages and what follows from these.
var ownNames = []string{
	AttrStatus, AttrCoachID, AttrSessionCreatedAt, AttrVersion, AttrMode, AttrTitle, AttrDeletedSeqs,
	AttrSessionCompletedAt,
}

// OwnAttributes returns what Throughline knows of a session beside its messages and what follows from these.
func OwnAttributes(s conversation.Session) Item { return Encode(s).Only(ownNames...) }

// SharedAttributes returns the attributes of a session's record outside of the app's record: those of its fields, and
// those of the indexes.
func SharedAttributes(user conversation.UserID, s conversation.Session) Item {
	it := Encode(s)
	it.Set(AttrActiveAt, s.ListedAt())
	if s.HasContent() {
		it.Set(AttrCoachKey, CoachKey(user, s.CoachID))
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
	s.ID, s.Context, s.Attributes = id, context, it.Document(AttrAttributes)
	return s, true
}

// DecodeOwn reads the attributes of Throughline.
func DecodeOwn(it Item) conversation.Session {
	s := Decode[conversation.Session](it)
	if it.Has(AttrSummaryKind) {
		summary := Decode[conversation.SessionSummary](it)
		summary.Indexed = it.Has(AttrSummaryIndexedAt) && it.String(AttrSummaryIndexedAt) == it.String(AttrSummaryUpdatedAt)
		if d := summary.Days; len(d) == 1 && d[0].Text == "" {
			d[0].Text, d[0].Tokens = summary.Text, summary.Tokens
		}
		s.Summary = &summary
	}
	return s
}

// EncodeDays returns a session's days as they are stored: the text of an only one, which is that of the summary, is
// stored once.
func EncodeDays(days []conversation.DaySummary, summary string) []conversation.DaySummary {
	if len(days) == 1 && days[0].Text == summary {
		return []conversation.DaySummary{{From: days[0].From, To: days[0].To}}
	}
	return days
}

// SetCounters sets what an append or the deletion of a message changes. A session is in the index of its coach as long
// as it has messages or a summary. The write is one of the session's own, and not of the migration.
func SetCounters(user conversation.UserID, s conversation.Session) Update {
	u := Set(AttrActiveAt, s.ListedAt()).Remove(AttrOrigin).
		Apply(Encode(s), AttrVersion, AttrMessageCount, AttrLastSeq, AttrUserSeq).
		Set(AttrUrgentSeq, s.UrgentSeq) // even 0: the filters of the stream look for it
	if s.MessageCount == 0 {
		return u.Remove(AttrStartedAt, AttrLastMessageAt, AttrCoachKey)
	}
	return u.Set(AttrStartedAt, s.StartedAt).
		Set(AttrLastMessageAt, s.LastMessageAt).
		Set(AttrCoachKey, CoachKey(user, s.CoachID))
}

// SessionCreatedAt returns when the session of a record, or of what belongs to it, was created.
func SessionCreatedAt(it Item) time.Time {
	if !it.Has(AttrSessionCreatedAt) {
		return time.Time{}
	}
	return time.UnixMilli(it.Int64(AttrSessionCreatedAt)).UTC()
}
