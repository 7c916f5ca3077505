package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
)

// SummaryStore saves session summaries. It is safe for concurrent use.
type SummaryStore struct{ db *DB }

// NewSummaryStore returns the summaries of a DB.
func NewSummaryStore(db *DB) *SummaryStore { return &SummaryStore{db} }

// SummarySource is what the summary service reads and writes.
type SummarySource struct {
	*SessionReader
	*MessageStore
	*SummaryStore
	*DueStore
}

var _ summary.Store = SummarySource{}

// NewSummarySource returns the stores of the summary service.
func NewSummarySource(db *DB) SummarySource {
	return SummarySource{NewSessionReader(db), NewMessageStore(db), NewSummaryStore(db), NewDueStore(db)}
}

// SaveSummary stores a summary and the session's copy of it in one transaction. It raises the watermark when the model
// wrote the summary. Its conditions are that the session is still the same one, that it has no better summary, and that
// it has lost no message since it was read. A summary without text only raises the watermark.
func (s *SummaryStore) SaveSummary(ctx context.Context, user conversation.UserID, session conversation.Session,
	sum summary.Summary,
) error {
	const op = "save summary"
	sum.Generation = session.Generation
	it, err := encodeSummary(user, sum, session)
	sk, ok := sessionSK(session.Context, session.ID)
	if err != nil || !ok {
		return failed(op, errInvalidKey)
	}
	u, err := setSessionSummary(user, sum)
	if err != nil {
		return failed(op, err)
	}
	t := s.db.transaction()
	place := t.update(key{partition(user), sk}, u,
		isIncarnation(session).And(isReplacedBy(sum), isDeletedSeqs(session)))
	if sum.Text != "" {
		t.replace(it)
	}
	if sum.IsNewForSpine(session) {
		addSpineDue(t, user, session, s.db.dueAfterIdle())
	}
	failures, err := s.db.commit(ctx, op, t, s.db.backoff())
	if err != nil || failures == nil {
		return err
	}
	existing, _ := failures.existing(place)
	now, ok := decodeSession(existing)
	if !ok || !now.IsSame(session) {
		return fault.Missing("session")
	}
	if failures.ambiguous && isSaved(sum, now) {
		return nil // an earlier attempt stored it, and its answer was lost
	}
	return fault.New(fault.Conflict, "the session has a better summary, or lost a message")
}

// isSaved reports whether a session has this very summary, or for one without text, its watermark.
func isSaved(sum summary.Summary, in conversation.Session) bool {
	if sum.Text == "" {
		return in.Summarized.Seq == sum.CoveredThrough
	}
	return in.Summary != nil && in.Summary.Text == sum.Text &&
		in.Summary.UpdatedAt.Equal(conversation.Milliseconds(sum.UpdatedAt))
}

// setSessionSummary updates the session's copy of its summary. A session without messages enters the index of its
// coach.
func setSessionSummary(user conversation.UserID, sum summary.Summary) (expression.UpdateBuilder, error) {
	watermark := setWatermark(expression.UpdateBuilder{}, attrSummarizedSeq, attrSummarizedAt,
		conversation.Watermark{Seq: sum.CoveredThrough, At: sum.CoveredAt})
	if sum.Text == "" {
		return watermark.Remove(field(attrSummaryAskedAt)), nil
	}
	own := item{}
	if err := own.setDocument(attrSummaryFields, sum.OwnFields); err != nil {
		return expression.UpdateBuilder{}, err
	}
	var u expression.UpdateBuilder
	if sum.Kind == conversation.ByModel {
		u = watermark
	}
	u = setOrRemove(u, attrSummaryModel, stringAttr(sum.Model), sum.Model != "")
	u = setOrRemove(u, attrSummaryDigest, stringAttr(sum.Digest), sum.Digest != "")
	u = setOrRemove(u, attrSummaryFields, own[attrSummaryFields], own.has(attrSummaryFields))
	u = setOrRemove(u, attrSummaryDays, daysAttr(sum.Days), len(sum.Days) > 0)
	u = u.Remove(field(attrSummaryIndexedAt)).Remove(field(attrSummaryAskedAt))
	return u.Set(field(attrCoachKey), value(stringAttr(coachKey(user, sum.CoachID)))).
		Set(field(attrSummary), value(stringAttr(sum.Text))).
		Set(field(attrSummaryTokens), value(intAttr(sum.Tokens))).
		Set(field(attrSummaryTags), value(listAttr(sum.Tags))).
		Set(field(attrSummaryKind), value(stringAttr(string(sum.Kind)))).
		Set(field(attrSummaryInProgress), value(boolAttr(sum.InProgress))).
		Set(field(attrSummaryCoveredSeq), value(intAttr(sum.CoveredThrough))).
		Set(field(attrSummaryUpdatedAt), value(timeAttr(sum.UpdatedAt))), nil
}

// removeSessionSummary removes the session's copy of its summary. path returns where its attributes are.
func removeSessionSummary(u expression.UpdateBuilder, path func(name string) string) expression.UpdateBuilder {
	for _, name := range []string{
		attrSummary, attrSummaryTokens, attrSummaryTags, attrSummaryKind, attrSummaryInProgress, attrSummaryCoveredSeq,
		attrSummaryUpdatedAt, attrSummaryModel, attrSummaryDigest, attrSummaryFields, attrSummaryDays,
		attrSummaryIndexedAt, attrSummaryAskedAt,
	} {
		u = u.Remove(field(path(name)))
	}
	return u
}

// isReplacedBy is summary.Summary.Replaces as a condition on the session's record.
func isReplacedBy(sum summary.Summary) expression.ConditionBuilder {
	covered, through := field(attrSummaryCoveredSeq), value(intAttr(sum.CoveredThrough))
	replaced := expression.AttributeNotExists(covered).Or(covered.LessThan(through))
	if sum.Text == "" {
		return field(attrSummarizedSeq).LessThan(through)
	}
	equal := covered.Equal(through)
	sameAttributes := expression.AttributeNotExists(field(attrSummaryDigest))
	if sum.Digest != "" {
		sameAttributes = field(attrSummaryDigest).Equal(value(stringAttr(sum.Digest)))
	}
	replaced = replaced.Or(equal.And(expression.Not(sameAttributes),
		field(attrVersion).Equal(value(intAttr(sum.SessionVersion)))))
	kind := field(attrSummaryKind)
	var better []expression.ConditionBuilder
	if sum.Kind == conversation.ByModel {
		better = append(better, kind.Equal(value(stringAttr(string(conversation.Extractive)))))
	}
	if !sum.InProgress {
		better = append(better, field(attrSummaryInProgress).Equal(value(boolAttr(true))).
			And(kind.Equal(value(stringAttr(string(sum.Kind))))))
	}
	for _, b := range better {
		replaced = replaced.Or(equal.And(sameAttributes, b))
	}
	return replaced
}

// isDeletedSeqs is the condition that the session has lost no message since it was read. A summary that was made of a
// message must not be stored after that message is deleted.
func isDeletedSeqs(session conversation.Session) expression.ConditionBuilder {
	if len(session.Deleted) == 0 {
		return expression.AttributeNotExists(field(attrDeletedSeqs))
	}
	return field(attrDeletedSeqs).Equal(value(stringAttr(session.Deleted.String())))
}

func encodeSummary(user conversation.UserID, s summary.Summary, of conversation.Session) (item, error) {
	sk, ok := summarySK(s.RecordType, s.SessionID)
	if !ok {
		return nil, errInvalidKey
	}
	it := key{partition(user), sk}.attributes()
	it.setString(attrSubjectID, s.SubjectID)
	it[attrSourceContext] = stringAttr(s.Context)
	it.setString(attrCoachID, s.CoachID)
	it[attrSummary] = stringAttr(s.Text)
	it[attrTokens] = intAttr(s.Tokens)
	it.setStrings(attrSummaryTags, s.Tags)
	it[attrSummaryKind] = stringAttr(string(s.Kind))
	it[attrSummaryInProgress] = boolAttr(s.InProgress)
	it[attrSummaryCoveredSeq] = intAttr(s.CoveredThrough)
	it.setTime(attrOccurredAt, s.OccurredAt)
	it[attrUpdatedAt] = timeAttr(s.UpdatedAt)
	it.setString(attrModel, s.Model)
	it.setString(attrPromptVersion, s.PromptVersion)
	it[attrGeneration] = intAttr(s.Generation)
	it[attrSessionCreatedAt] = intAttr(of.CreatedAt.UnixMilli())
	return it, it.setDocument(attrFields, s.Fields)
}

// decodeSummary reads a summary's record. ok is false for records of other kinds.
func decodeSummary(it item) (s summary.Summary, ok bool) {
	rest, ok := strings.CutPrefix(it.string(attrSK), summaryPrefix)
	recordType, session, found := strings.Cut(rest, "#")
	if !ok || !found {
		return summary.Summary{}, false
	}
	return summary.Summary{
		RecordType: conversation.RecordType(recordType), SessionID: session, SubjectID: it.string(attrSubjectID),
		Context: it.string(attrSourceContext), CoachID: it.string(attrCoachID), Text: it.string(attrSummary),
		Tokens: int(it.int64(attrTokens)), Tags: it.strings(attrSummaryTags),
		Kind:       conversation.SummaryKind(it.string(attrSummaryKind)),
		InProgress: it.bool(attrSummaryInProgress), CoveredThrough: int(it.int64(attrSummaryCoveredSeq)),
		OccurredAt: it.time(attrOccurredAt), UpdatedAt: it.time(attrUpdatedAt), Fields: it.document(attrFields),
		Model: it.string(attrModel), PromptVersion: it.string(attrPromptVersion), Generation: it.int64(attrGeneration),
	}, true
}
