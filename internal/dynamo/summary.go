package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
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

// NewSummarySource returns the stores of the summary service.
func NewSummarySource(db *DB) SummarySource {
	return SummarySource{NewSessionReader(db), NewMessageStore(db), NewSummaryStore(db), NewDueStore(db)}
}

// SaveSummary stores a summary and the session's copy of it in one transaction. It raises the watermark when the model
// wrote the summary. Its conditions are that the session is still the same one, that it has no better summary, and that
// it has lost no message since it was read, and none was forgotten. A summary without text only raises the watermark.
func (s *SummaryStore) SaveSummary(ctx context.Context, user conversation.UserID, session conversation.Session,
	sum summary.Summary,
) error {
	const op = "save summary"
	sum.Generation = session.Generation
	it, err := encodeSummary(user, sum, session)
	if err != nil {
		return table.Failed(op, err)
	}
	t := s.db.Transaction()
	place := t.Update(table.KeyOfSession(user, session), setSessionSummary(user, sum),
		table.IsIncarnation(session).And(isReplacedBy(sum), isDeletedSeqs(session), isForgottenSeqs(session)))
	if sum.Text != "" {
		t.Replace(it)
	}
	if sum.IsNewForSpine(session) {
		at := conversation.Milliseconds(s.db.Now().Add(s.db.spineWait))
		addSpineDue(t, user, session, at, false)
	}
	t.DoneIf(func(r table.RecordSet) bool {
		now, ok := s.db.DecodeSession(r[table.KeyOfSession(user, session)])
		return ok && now.IsSame(session) && isSaved(sum, now)
	}, table.KeyOfSession(user, session))
	failures, err := s.db.Commit(ctx, op, t, s.db.Backoff())
	if err != nil || failures == nil {
		return err
	}
	existing := failures[place]
	now, ok := s.db.DecodeSession(existing)
	if !ok || !now.IsSame(session) {
		return fault.Missing("session")
	}
	return fault.New(fault.Conflict, "the session has a better summary, or lost a message")
}

// ForgetSummary removes the summary of a session that was read, on condition that it is still the same. It tries again
// when another writer came first.
func (s *SummaryStore) ForgetSummary(ctx context.Context, user conversation.UserID, read conversation.Session,
) (t erasure.Tombstone, err error) {
	const op = "forget summary"
	k := table.KeyOfSession(user, read)
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		before, _, err := NewSessionReader(s.db).record(ctx, user, k)
		if err != nil {
			return false, err
		}
		if before.Summary == nil || !before.Summary.UpdatedAt.Equal(read.Summary.UpdatedAt) || !before.IsSame(read) {
			t = erasure.Tombstone{}
			return true, nil
		}
		d := messageDeletion{tx: s.db.Transaction(), after: before, tombstone: erasure.Tombstone{
			User: user, Generation: before.Generation, Session: &before, DeletedAt: s.db.Now(),
		}}
		d.after.Summary, d.after.Summarized = nil, conversation.Watermark{}
		u := renewSummary(s.db, &d, before, table.Update{})
		d.tx.Update(k, u, table.IsUnchanged(before).And(hasSameSummary(before)))
		t = d.tombstone
		failures, err := s.db.Commit(ctx, op, d.tx, b)
		return failures == nil, err
	})
	return t, err
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
func setSessionSummary(user conversation.UserID, sum summary.Summary) table.Update {
	covered := conversation.Watermark{Seq: sum.CoveredThrough, At: sum.CoveredAt}
	watermark := table.Update{}.SetWatermark(table.AttrSummarizedSeq, table.AttrSummarizedAt, covered)
	if sum.Text == "" {
		return watermark.Remove(table.AttrSummaryAskedAt)
	}
	own := table.Encode(conversation.SessionSummary{
		Text: sum.Text, Tokens: sum.Tokens, Tags: sum.Tags, Kind: sum.Kind, InProgress: sum.InProgress,
		CoveredThrough: sum.CoveredThrough, UpdatedAt: sum.UpdatedAt, Model: sum.Model, Fields: sum.OwnFields,
		Digest: sum.Digest, Days: table.EncodeDays(sum.Days, sum.Text),
	})
	own.Set(table.AttrCoachKey, table.CoachKey(user, sum.CoachID))
	var u table.Update
	if sum.Kind == conversation.ByModel {
		u = watermark
	}
	return u.Apply(own, append(summaryNames(), table.AttrCoachKey)...)
}

// summaryNames are the attributes of a session's copy of its summary.
func summaryNames() []string {
	return append(table.NamesOf[conversation.SessionSummary](), table.AttrSummaryIndexedAt, table.AttrSummaryAskedAt)
}

// removeSessionSummary removes the session's copy of its summary. path returns where its attributes are.
func removeSessionSummary(u table.Update, path func(name string) string) table.Update {
	for _, name := range summaryNames() {
		u = u.Remove(path(name))
	}
	return u
}

// isReplacedBy is summary.Summary.Replaces as a condition on the session's record.
func isReplacedBy(sum summary.Summary) table.Condition {
	covered, through := table.Field(table.AttrSummaryCoveredSeq), table.Value(sum.CoveredThrough)
	replaced := expression.AttributeNotExists(covered).Or(covered.LessThan(through))
	if sum.Text == "" {
		return table.Field(table.AttrSummarizedSeq).LessThan(through)
	}
	equal := covered.Equal(through)
	sameAttributes := table.Lacks(table.AttrSummaryDigest)
	if sum.Digest != "" {
		sameAttributes = table.Is(table.AttrSummaryDigest, sum.Digest)
	}
	replaced = replaced.Or(equal.And(expression.Not(sameAttributes),
		table.Is(table.AttrVersion, sum.SessionVersion)))
	kind := table.Field(table.AttrSummaryKind)
	var better []table.Condition
	if sum.Kind == conversation.ByModel {
		better = append(better, kind.Equal(table.Value(conversation.Extractive)))
	}
	if !sum.InProgress {
		better = append(better, table.Is(table.AttrSummaryInProgress, true).
			And(kind.Equal(table.Value(sum.Kind))))
	}
	for _, b := range better {
		replaced = replaced.Or(equal.And(sameAttributes, b))
	}
	return replaced
}

// isDeletedSeqs is the condition that the session has lost no message since it was read. A summary that was made of a
// message must not be stored after that message is deleted.
func isDeletedSeqs(session conversation.Session) table.Condition {
	return isSeqSet(table.AttrDeletedSeqs, session.Deleted)
}

func isSeqSet(name string, set conversation.SeqSet) table.Condition {
	if len(set) == 0 {
		return table.Lacks(name)
	}
	return table.Is(name, set.String())
}

func encodeSummary(user conversation.UserID, s summary.Summary, of conversation.Session) (table.Item, error) {
	sk, ok := table.SummarySK(s.RecordType, s.SessionID)
	if !ok {
		return nil, table.ErrInvalidKey
	}
	it := table.Encode(s).With(table.UserKey(user, sk).Attributes())
	it.Set(table.AttrSessionCreatedAt, of.CreatedAt.UnixMilli())
	return it, it.SetDocument(table.AttrFields, s.Fields)
}

// decodeSummary reads a summary's record. ok is false for records of other kinds.
func decodeSummary(it table.Item) (s summary.Summary, ok bool) {
	rest, ok := strings.CutPrefix(it.String(table.AttrSK), table.SummaryPrefix)
	recordType, session, found := strings.Cut(rest, "#")
	if !ok || !found {
		return summary.Summary{}, false
	}
	s = table.Decode[summary.Summary](it)
	s.RecordType, s.SessionID, s.Fields = conversation.RecordType(recordType), session, it.Document(table.AttrFields)
	return s, true
}
