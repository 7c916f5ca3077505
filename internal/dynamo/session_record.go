package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
)

// encodeSession makes the record of a session that is created. Every later write is an update of single attributes,
// so that what an app keeps in the same record stays untouched.
func encodeSession(user conversation.UserID, s conversation.Session) (item, key, error) {
	sk, ok := sessionSK(s.Context, s.ID)
	surface, err := conversation.SurfaceOf(s.Context)
	if err != nil || !ok {
		return nil, key{}, err
	}
	k := key{partition(user), sk}
	it := k.attributes()
	it[attrEntityType] = text(surface.EntityType)
	it[attrStatus] = text(string(s.Status))
	it[attrCoachID] = text(s.CoachID)
	it.setText(attrMode, s.Mode)
	it.setText(attrTitle, s.Title)
	it[attrCreatedAt] = moment(s.CreatedAt)
	it[attrActiveAt] = moment(s.ActiveAt())
	it[attrPlacement] = text(string(s.Placement))
	for name, n := range map[string]int{
		attrMessageCount: s.MessageCount, attrLastSeq: s.LastSeq, attrSummarizedSeq: s.SummarizedSeq,
		attrIndexedSeq: s.IndexedSeq, attrExtractedSeq: s.ExtractedSeq,
	} {
		it[name] = whole(n)
	}
	it[attrVersion] = whole(s.Version)
	it[attrGeneration] = whole(s.Generation)
	return it, k, it.setDocument(attrAttributes, s.Attributes)
}

// decodeSession reads a session's record; ok is false for records of other kinds, and for an app's own record that
// Throughline has not taken over.
func decodeSession(it item) (s conversation.Session, ok bool) {
	context, id, ok := parseSessionSK(it.text(attrSK))
	if !ok || !it.has(attrPlacement) {
		return conversation.Session{}, false
	}
	deleted, err := conversation.ParseSeqSet(it.text(attrDeleted))
	if err != nil {
		deleted = nil // readers then look for what is missing, which costs a read
	}
	return conversation.Session{
		ID: id, Context: context, CoachID: it.text(attrCoachID), Mode: it.text(attrMode),
		Status: conversation.Status(it.text(attrStatus)), Title: it.text(attrTitle),
		Attributes:   it.document(attrAttributes),
		MessageCount: int(it.whole(attrMessageCount)), LastSeq: int(it.whole(attrLastSeq)), Deleted: deleted,
		CreatedAt: it.time(attrCreatedAt), StartedAt: it.time(attrStartedAt),
		LastMessageAt: it.time(attrLastMessageAt), LeftAt: it.time(attrLeftAt),
		Summary:       decodeSessionSummary(it),
		SummarizedSeq: int(it.whole(attrSummarizedSeq)), IndexedSeq: int(it.whole(attrIndexedSeq)),
		ExtractedSeq: int(it.whole(attrExtractedSeq)),
		Placement:    conversation.Placement(it.text(attrPlacement)),
		Version:      it.whole(attrVersion), Generation: it.whole(attrGeneration), DueAt: it.time(attrDueAt),
	}, true
}

func decodeSessionSummary(it item) *conversation.SessionSummary {
	if !it.has(attrSummaryKind) {
		return nil
	}
	return &conversation.SessionSummary{
		Text: it.text(attrSummary), Tokens: int(it.whole(attrSummaryTokens)), Kind: conversation.SummaryKind(it.text(attrSummaryKind)),
		InProgress:     it.flag(attrSummaryInProgress),
		CoveredThrough: int(it.whole(attrSummaryCoveredSeq)),
		UpdatedAt:      it.time(attrSummaryUpdatedAt),
	}
}

// standsAs is the condition that a session still is what a writer knows of it: appends and edits raise the version,
// a migration step changes the placement, erasing the generation, and deleting leaves another birth.
func standsAs(s conversation.Session) expression.ConditionBuilder {
	return field(attrVersion).Equal(value(whole(s.Version))).
		And(field(attrPlacement).Equal(value(text(string(s.Placement)))), isIncarnation(s))
}

// isIncarnation is the condition that the record is this session, whatever was written to it since, and neither gone
// nor made anew under the same id.
func isIncarnation(s conversation.Session) expression.ConditionBuilder {
	return field(attrGeneration).Equal(value(whole(s.Generation))).
		And(field(attrCreatedAt).Equal(value(moment(s.CreatedAt))))
}

// counters sets what an append or the deletion of a message changes.
func counters(s conversation.Session) expression.UpdateBuilder {
	u := expression.Set(field(attrVersion), value(whole(s.Version))).
		Set(field(attrMessageCount), value(whole(s.MessageCount))).
		Set(field(attrLastSeq), value(whole(s.LastSeq))).
		Set(field(attrActiveAt), value(moment(s.ActiveAt())))
	if s.MessageCount == 0 {
		return u.Remove(field(attrStartedAt)).Remove(field(attrLastMessageAt))
	}
	return u.Set(field(attrStartedAt), value(moment(s.StartedAt))).
		Set(field(attrLastMessageAt), value(moment(s.LastMessageAt)))
}
