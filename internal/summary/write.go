package summary

import (
	"context"
	"errors"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

const (
	// inputMessages and inputChars bound what one model call reads; a longer backlog takes several summaries.
	inputMessages = 200
	inputChars    = 24_000
	// maxSteps bounds the summaries that one call writes of a backlog; the sweep goes on.
	maxSteps = 5
	// answerTimeout bounds the model call that goes on behind an extractive summary (design 4.2).
	answerTimeout = 20 * time.Second
	// maxChars bounds a summary's text, so that session records stay small.
	maxChars = 800
)

// Summarize brings a session's summary up to date, a backlog in a few steps, each with at most one model call. It
// reports whether the model's own summary covers the session now. Its errors are the store's; a model that fails
// leaves an extractive summary behind and is reported, for the sweep to try again.
func (s *Service) Summarize(ctx context.Context, user conversation.UserID, session conversation.Session) (complete bool, err error) {
	session, err = s.advance(ctx, user, session)
	if isUnindexed(err) {
		s.Report(ctx, "index summary", err)
		return false, nil // the session stays due
	}
	return err == nil && upToDate(session), err
}

// advance is Summarize; it returns the session with its summary as far as it came. Where the summary is stored and
// only the index did not take it, its error is an unindexed one.
func (s *Service) advance(ctx context.Context, user conversation.UserID, session conversation.Session) (after conversation.Session, failed error) {
	for steps := 0; !upToDate(session) && steps < maxSteps; steps++ {
		next, err := s.step(ctx, user, session)
		if fault.Is(err, fault.Conflict) {
			return session, nil // another worker's summary covers as much
		}
		if failed = err; err != nil && !isUnindexed(err) {
			return session, err
		}
		if next.SummarizedSeq == session.SummarizedSeq && !(unfinished(session) && !unfinished(next)) {
			return next, failed
		}
		session = next
	}
	return session, failed
}

// unindexed is a summary that is stored and could not be indexed.
type unindexed struct{ err error }

func (u unindexed) Error() string { return "index summary: " + u.err.Error() }
func (u unindexed) Unwrap() error { return u.err }

func isUnindexed(err error) bool {
	var u unindexed
	return errors.As(err, &u)
}

// upToDate reports whether the model's own summary covers the session, and says of it what it is.
func upToDate(s conversation.Session) bool {
	return s.SummarizedSeq >= s.LastSeq && !unfinished(s)
}

// step writes one summary and returns the session with it.
func (s *Service) step(ctx context.Context, user conversation.UserID, session conversation.Session) (conversation.Session, error) {
	messages, err := s.Store.MessagesAfter(ctx, user, session, session.SummarizedSeq, inputMessages)
	if err != nil {
		return session, err
	}
	in := newInput(session, messages)
	if len(in.lines) == 0 {
		// Nothing was said that a summary could tell: what there is stands, and the watermark rises.
		return s.save(ctx, user, session, in.carryOver(session))
	}
	return s.ask(ctx, user, session, in)
}

// ask gives the model its time. When that is over an extractive summary stands in while the same call goes on.
func (s *Service) ask(ctx context.Context, user conversation.UserID, session conversation.Session, in input) (conversation.Session, error) {
	if !s.Background {
		return s.standIn(ctx, user, session, in)
	}
	call, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answers := make(chan answer, 1)
	go func() { answers <- s.tryComplete(call, user, in) }()

	patience := time.NewTimer(s.Timeout)
	defer patience.Stop()
	select {
	case a := <-answers:
		return s.take(ctx, user, session, in, a)
	case <-patience.C:
	}
	between, err := s.standIn(ctx, user, session, in)
	a := <-answers // the call's own deadline bounds the wait
	if err == nil || isUnindexed(err) {
		session = between
	} else if a.err != nil || fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return session, err
	}
	return s.take(ctx, user, session, in, a) // a stand-in that could not be stored is not missed where there is better
}

// take stores the model's answer; where it failed, a stand-in covers what no summary covers yet.
func (s *Service) take(ctx context.Context, user conversation.UserID, session conversation.Session, in input, a answer) (conversation.Session, error) {
	if a.err == nil {
		return s.save(ctx, user, session, draft{text: a.text, kind: conversation.ByModel, model: a.model, through: in.through, at: in.at})
	}
	s.Report(ctx, "summarize session", a.err)
	if session.Summary != nil && session.Summary.CoveredThrough >= in.through {
		return session, nil
	}
	return s.standIn(ctx, user, session, in)
}

// standIn stores an extractive summary. It does not raise the model's watermark: the session stays due.
func (s *Service) standIn(ctx context.Context, user conversation.UserID, session conversation.Session, in input) (conversation.Session, error) {
	if session.Summary != nil && session.Summary.CoveredThrough >= in.through && !unfinished(session) {
		return session, nil
	}
	text := Extract(in.previous, in.lines, maxChars)
	return s.save(ctx, user, session, draft{text: text, kind: conversation.Extractive, through: in.through, at: in.at})
}

// draft is a summary's text and what it covers.
type draft struct {
	text    string
	kind    conversation.SummaryKind
	model   string
	through int
	at      time.Time
}

// save stores a draft as the session's summary and makes it findable. An index that fails is an unindexed error, and
// the session has its summary all the same.
func (s *Service) save(ctx context.Context, user conversation.UserID, session conversation.Session, d draft) (conversation.Session, error) {
	record, err := s.record(session, d)
	if err != nil {
		return session, err
	}
	if err := s.Store.SaveSummary(ctx, user, session, record); err != nil {
		return session, err
	}
	if record.Kind == conversation.ByModel {
		session.SummarizedSeq = max(session.SummarizedSeq, record.CoveredThrough)
	}
	if record.Text == "" {
		return session, nil
	}
	session.Summary = &conversation.SessionSummary{
		Text: record.Text, Tokens: record.Tokens, Kind: record.Kind, InProgress: record.InProgress,
		CoveredThrough: record.CoveredThrough, UpdatedAt: record.UpdatedAt,
	}
	if err := s.Index.IndexSummary(ctx, user, record); err != nil {
		return session, unindexed{err}
	}
	return session, nil
}

// record completes a draft to the record of the session's context.
func (s *Service) record(session conversation.Session, d draft) (Summary, error) {
	surface, err := conversation.SurfaceOf(session.Context)
	if err != nil {
		return Summary{}, err
	}
	return Summary{
		RecordType: surface.Writes, SubjectID: subject(session, surface), SessionID: session.ID,
		Context: session.Context, CoachID: session.CoachID, Text: d.text, Tokens: s.Tokens.Count(d.text),
		Kind: d.kind, InProgress: session.Status != conversation.Completed, CoveredThrough: d.through,
		OccurredAt: d.at, UpdatedAt: conversation.Milliseconds(s.Now()), Fields: fields(session, surface),
		Model: d.model, PromptVersion: promptVersion, Generation: session.Generation,
	}, nil
}

// errNoText is a model's answer without a summary in it.
var errNoText = errors.New("the model's summary is empty")
