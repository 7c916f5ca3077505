package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
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
	sk, ok := table.SessionSK(session.Context, session.ID)
	if err != nil || !ok {
		return table.Failed(op, table.ErrInvalidKey)
	}
	u, err := setSessionSummary(user, sum)
	if err != nil {
		return table.Failed(op, err)
	}
	t := s.db.Transaction()
	place := t.Update(table.UserKey(user, sk), u,
		table.IsIncarnation(session).And(isReplacedBy(sum), isDeletedSeqs(session)))
	if sum.Text != "" {
		t.Replace(it)
	}
	if sum.IsNewForSpine(session) {
		addSpineDue(t, user, session, s.db.DueAfterIdle())
	}
	failures, err := s.db.Commit(ctx, op, t, s.db.Backoff())
	if err != nil || failures == nil {
		return err
	}
	existing, _ := failures.Existing(place)
	now, ok := s.db.DecodeSession(existing)
	if !ok || !now.IsSame(session) {
		return fault.Missing("session")
	}
	if failures.Ambiguous && isSaved(sum, now) {
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
	watermark := table.SetWatermark(expression.UpdateBuilder{}, table.AttrSummarizedSeq, table.AttrSummarizedAt,
		conversation.Watermark{Seq: sum.CoveredThrough, At: sum.CoveredAt})
	if sum.Text == "" {
		return watermark.Remove(table.Field(table.AttrSummaryAskedAt)), nil
	}
	own := table.Item{}
	if err := own.SetDocument(table.AttrSummaryFields, sum.OwnFields); err != nil {
		return expression.UpdateBuilder{}, err
	}
	var u expression.UpdateBuilder
	if sum.Kind == conversation.ByModel {
		u = watermark
	}
	u = table.SetOrRemove(u, table.AttrSummaryModel, table.StringAttr(sum.Model), sum.Model != "")
	u = table.SetOrRemove(u, table.AttrSummaryDigest, table.StringAttr(sum.Digest), sum.Digest != "")
	u = table.SetOrRemove(u, table.AttrSummaryFields, own[table.AttrSummaryFields], own.Has(table.AttrSummaryFields))
	u = table.SetOrRemove(u, table.AttrSummaryDays, table.DaysAttr(sum.Days), len(sum.Days) > 0)
	u = u.Remove(table.Field(table.AttrSummaryIndexedAt)).Remove(table.Field(table.AttrSummaryAskedAt))
	return u.Set(table.Field(table.AttrCoachKey), table.Value(table.StringAttr(table.CoachKey(user, sum.CoachID)))).
		Set(table.Field(table.AttrSummary), table.Value(table.StringAttr(sum.Text))).
		Set(table.Field(table.AttrSummaryTokens), table.Value(table.IntAttr(sum.Tokens))).
		Set(table.Field(table.AttrSummaryTags), table.Value(table.ListAttr(sum.Tags))).
		Set(table.Field(table.AttrSummaryKind), table.Value(table.StringAttr(string(sum.Kind)))).
		Set(table.Field(table.AttrSummaryInProgress), table.Value(table.BoolAttr(sum.InProgress))).
		Set(table.Field(table.AttrSummaryCoveredSeq), table.Value(table.IntAttr(sum.CoveredThrough))).
		Set(table.Field(table.AttrSummaryUpdatedAt), table.Value(table.TimeAttr(sum.UpdatedAt))), nil
}

// removeSessionSummary removes the session's copy of its summary. path returns where its attributes are.
func removeSessionSummary(u expression.UpdateBuilder, path func(name string) string) expression.UpdateBuilder {
	for _, name := range []string{
		table.AttrSummary, table.AttrSummaryTokens, table.AttrSummaryTags, table.AttrSummaryKind,
		table.AttrSummaryInProgress, table.AttrSummaryCoveredSeq,
		table.AttrSummaryUpdatedAt, table.AttrSummaryModel, table.AttrSummaryDigest, table.AttrSummaryFields,
		table.AttrSummaryDays,
		table.AttrSummaryIndexedAt, table.AttrSummaryAskedAt,
	} {
		u = u.Remove(table.Field(path(name)))
	}
	return u
}

// isReplacedBy is summary.Summary.Replaces as a condition on the session's record.
func isReplacedBy(sum summary.Summary) expression.ConditionBuilder {
	covered, through := table.Field(table.AttrSummaryCoveredSeq), table.Value(table.IntAttr(sum.CoveredThrough))
	replaced := expression.AttributeNotExists(covered).Or(covered.LessThan(through))
	if sum.Text == "" {
		return table.Field(table.AttrSummarizedSeq).LessThan(through)
	}
	equal := covered.Equal(through)
	sameAttributes := expression.AttributeNotExists(table.Field(table.AttrSummaryDigest))
	if sum.Digest != "" {
		sameAttributes = table.Field(table.AttrSummaryDigest).Equal(table.Value(table.StringAttr(sum.Digest)))
	}
	replaced = replaced.Or(equal.And(expression.Not(sameAttributes),
		table.Field(table.AttrVersion).Equal(table.Value(table.IntAttr(sum.SessionVersion)))))
	kind := table.Field(table.AttrSummaryKind)
	var better []expression.ConditionBuilder
	if sum.Kind == conversation.ByModel {
		better = append(better, kind.Equal(table.Value(table.StringAttr(string(conversation.Extractive)))))
	}
	if !sum.InProgress {
		better = append(better, table.Field(table.AttrSummaryInProgress).Equal(table.Value(table.BoolAttr(true))).
			And(kind.Equal(table.Value(table.StringAttr(string(sum.Kind))))))
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
		return expression.AttributeNotExists(table.Field(table.AttrDeletedSeqs))
	}
	return table.Field(table.AttrDeletedSeqs).Equal(table.Value(table.StringAttr(session.Deleted.String())))
}

func encodeSummary(user conversation.UserID, s summary.Summary, of conversation.Session) (table.Item, error) {
	sk, ok := table.SummarySK(s.RecordType, s.SessionID)
	if !ok {
		return nil, table.ErrInvalidKey
	}
	it := table.UserKey(user, sk).Attributes()
	it.SetString(table.AttrSubjectID, s.SubjectID)
	it[table.AttrSourceContext] = table.StringAttr(s.Context)
	it.SetString(table.AttrCoachID, s.CoachID)
	it[table.AttrSummary] = table.StringAttr(s.Text)
	it[table.AttrTokens] = table.IntAttr(s.Tokens)
	it.SetStrings(table.AttrSummaryTags, s.Tags)
	it[table.AttrSummaryKind] = table.StringAttr(string(s.Kind))
	it[table.AttrSummaryInProgress] = table.BoolAttr(s.InProgress)
	it[table.AttrSummaryCoveredSeq] = table.IntAttr(s.CoveredThrough)
	it.SetTime(table.AttrOccurredAt, s.OccurredAt)
	it[table.AttrUpdatedAt] = table.TimeAttr(s.UpdatedAt)
	it.SetString(table.AttrModel, s.Model)
	it.SetString(table.AttrPromptVersion, s.PromptVersion)
	it[table.AttrGeneration] = table.IntAttr(s.Generation)
	it[table.AttrSessionCreatedAt] = table.IntAttr(of.CreatedAt.UnixMilli())
	return it, it.SetDocument(table.AttrFields, s.Fields)
}

// decodeSummary reads a summary's record. ok is false for records of other kinds.
func decodeSummary(it table.Item) (s summary.Summary, ok bool) {
	rest, ok := strings.CutPrefix(it.String(table.AttrSK), table.SummaryPrefix)
	recordType, session, found := strings.Cut(rest, "#")
	if !ok || !found {
		return summary.Summary{}, false
	}
	return summary.Summary{
		RecordType: conversation.RecordType(recordType), SessionID: session, SubjectID: it.String(table.AttrSubjectID),
		Context: it.String(table.AttrSourceContext), CoachID: it.String(table.AttrCoachID),
		Text:   it.String(table.AttrSummary),
		Tokens: int(it.Int64(table.AttrTokens)), Tags: it.Strings(table.AttrSummaryTags),
		Kind:       conversation.SummaryKind(it.String(table.AttrSummaryKind)),
		InProgress: it.Bool(table.AttrSummaryInProgress), CoveredThrough: int(it.Int64(table.AttrSummaryCoveredSeq)),
		OccurredAt: it.Time(table.AttrOccurredAt), UpdatedAt: it.Time(table.AttrUpdatedAt),
		Fields: it.Document(table.AttrFields),
		Model:  it.String(table.AttrModel), PromptVersion: it.String(table.AttrPromptVersion),
		Generation: it.Int64(table.AttrGeneration),
	}, true
}
