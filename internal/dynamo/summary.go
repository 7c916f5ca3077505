package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/summary"
)

var (
	_ summary.Store = (*Store)(nil)
	_ memory.Store  = (*Store)(nil)
)

// SaveSummary stores the summary's record and the session's copy of it, and raises the watermark when the model wrote
// it, in one transaction on condition that the session is still this one and that the summary replaces what it has.
// One without a text raises the watermark alone.
func (s *Store) SaveSummary(ctx context.Context, user conversation.UserID, session conversation.Session, sum summary.Summary) error {
	const op = "save summary"
	sum.Generation = session.Generation
	it, err := encodeSummary(user, sum)
	sk, ok := sessionSK(session.Context, session.ID)
	if err != nil || !ok {
		return failed(op, errBadKey)
	}
	t := s.transaction()
	place := t.update(key{partition(user), sk}, summaryCopy(sum), isIncarnation(session).And(replaces(sum), nothingDeletedSince(session)))
	if sum.Text != "" {
		t.set(it)
	}
	refused, err := s.commit(ctx, op, t, s.patience())
	if err != nil || refused == nil {
		return err
	}
	met, _ := refused.met(place)
	now, ok := decodeSession(met)
	if !ok || now.Generation != session.Generation || !now.CreatedAt.Equal(session.CreatedAt) {
		return fault.Missing("session")
	}
	if refused.unsure && now.Summary != nil && now.Summary.Text == sum.Text && now.Summary.UpdatedAt.Equal(conversation.Milliseconds(sum.UpdatedAt)) {
		return nil // an earlier try, whose answer was lost
	}
	return fault.New(fault.Conflict, "the session has a better summary, or lost a message")
}

// summaryCopy is what the session's record takes of its summary.
func summaryCopy(sum summary.Summary) expression.UpdateBuilder {
	watermark := expression.Set(field(attrSummarizedSeq), value(whole(sum.CoveredThrough)))
	if sum.Text == "" {
		return watermark
	}
	var u expression.UpdateBuilder
	if sum.Kind == conversation.ByModel {
		u = watermark
	}
	return u.Set(field(attrSummary), value(text(sum.Text))).
		Set(field(attrSummaryTokens), value(whole(sum.Tokens))).
		Set(field(attrSummaryKind), value(text(string(sum.Kind)))).
		Set(field(attrSummaryInProgress), value(flag(sum.InProgress))).
		Set(field(attrSummaryCoveredSeq), value(whole(sum.CoveredThrough))).
		Set(field(attrSummaryUpdatedAt), value(moment(sum.UpdatedAt)))
}

// replaces is summary.Summary's Replaces as a condition on the session's record.
func replaces(sum summary.Summary) expression.ConditionBuilder {
	covered, through := field(attrSummaryCoveredSeq), value(whole(sum.CoveredThrough))
	more := expression.AttributeNotExists(covered).Or(covered.LessThan(through))
	if sum.Text == "" {
		return field(attrSummarizedSeq).LessThan(through)
	}
	kind := field(attrSummaryKind)
	var better []expression.ConditionBuilder
	if sum.Kind == conversation.ByModel {
		better = append(better, kind.Equal(value(text(string(conversation.Extractive)))))
	}
	if !sum.InProgress {
		better = append(better, field(attrSummaryInProgress).Equal(value(flag(true))).
			And(kind.Equal(value(text(string(sum.Kind))))))
	}
	for _, b := range better {
		more = more.Or(covered.Equal(through).And(b))
	}
	return more
}

// nothingDeletedSince is the condition that the session has lost no message since it was read: a summary that is made
// of one must not be stored after it is deleted.
func nothingDeletedSince(session conversation.Session) expression.ConditionBuilder {
	if len(session.Deleted) == 0 {
		return expression.AttributeNotExists(field(attrDeleted))
	}
	return field(attrDeleted).Equal(value(text(session.Deleted.String())))
}

// MarkIndexed raises the session's watermark from exactly from-1 to through.
func (s *Store) MarkIndexed(ctx context.Context, user conversation.UserID, ref memory.SessionRef, from, through int) error {
	sk, ok := sessionSK(ref.Context, ref.SessionID)
	if !ok {
		return fault.Missing("session")
	}
	u := expression.Set(field(attrIndexedSeq), value(whole(through)))
	cond := field(attrGeneration).Equal(value(whole(ref.Generation))).
		And(field(attrIndexedSeq).Equal(value(whole(from - 1))))
	_, err := s.updateItem(ctx, key{partition(user), sk}, u, cond)
	met, refused := conditionFailed(err)
	switch {
	case !refused:
		return failed("mark indexed", err)
	case !met.has(attrPlacement) || met.whole(attrGeneration) != ref.Generation:
		return fault.Missing("session")
	}
	return fault.New(fault.Conflict, "the watermark stands elsewhere")
}
