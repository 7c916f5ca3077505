package summary

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/sweep"
)

const (
	// inputMessages and inputChars limit the input of one model call; a longer backlog takes several summaries.
	inputMessages = 200
	inputChars    = 24_000
	// maxSteps limits the summaries that a visit of the sweep writes for a backlog; the next one goes on.
	maxSteps = 5
	// answerTimeout limits a model call that goes on after a fallback summary. A patient one may take longer.
	answerTimeout = 20 * time.Second
	// maxChars limits a summary's text, so that session records stay small.
	maxChars = 800
)

// task is why a summary is written. patient says that nobody waits for it: the sweep writes it.
type task struct {
	reason  TriggerReason
	patient bool
}

// advance brings a session's summary up to date, or as far as so many steps do. A backlog takes several, each with at
// most one model call. It returns the session with the last summary that was stored. Its error is an indexError when
// that summary is not indexed. When the model fails, a fallback summary is stored and the failure is reported.
func (s *Service) advance(
	ctx context.Context, user conversation.UserID, session conversation.Session, t task, steps int,
) (after conversation.Session, failed error) {
	for step := 0; !upToDate(session) && step < steps; step++ {
		if end, ok := ctx.Deadline(); step > 0 && ok && time.Until(end) < stepReserve {
			return session, failed
		}
		next, err := s.step(ctx, user, session, t)
		if fault.Is(err, fault.Conflict) {
			return session, nil // another worker stored a summary that is as good
		}
		if failed = err; err != nil && !isIndexError(err) {
			return session, err
		}
		if !progressed(session, next) {
			return next, failed
		}
		session = next
	}
	return session, failed
}

// progressed reports whether a step brought a session's summary further, so that another step may do so again.
func progressed(before, after conversation.Session) bool {
	return after.Summarized.Seq > before.Summarized.Seq || unfinished(before) && !unfinished(after)
}

// indexError is the failure to index a summary that is stored.
type indexError struct{ err error }

func (e indexError) Error() string { return "index summary: " + e.err.Error() }
func (e indexError) Unwrap() error { return e.err }

func isIndexError(err error) bool {
	_, ok := errors.AsType[indexError](err)
	return ok
}

// step writes one summary and returns the session with it.
func (s *Service) step(
	ctx context.Context, user conversation.UserID, session conversation.Session, t task,
) (conversation.Session, error) {
	if t.reason == AttributesChanged && session.Summary != nil && !madeOfAttributes(session) {
		// The messages have their own triggers: only the fields are brought up to date.
		d := carryOver(session, covered(session), t.reason)
		d.Kind = session.Summary.Kind
		return s.save(ctx, user, session, d)
	}
	in, err := s.readInput(ctx, user, session, t)
	if err != nil {
		return session, err
	}
	if len(in.lines)+len(in.attributes) == 0 {
		// There is nothing to summarise: the text stays and the watermark rises.
		return s.save(ctx, user, session, carryOver(session, in.through, t.reason))
	}
	return s.summarizeInput(ctx, user, session, in)
}

// readInput reads what the next summary is made of.
func (s *Service) readInput(
	ctx context.Context, user conversation.UserID, session conversation.Session, t task,
) (input, error) {
	s.reading <- struct{}{}
	defer func() { <-s.reading }()
	messages, err := readMessages(ctx, s.Store, user, session)
	if err != nil {
		return input{}, err
	}
	access, err := s.Store.Access(ctx, user)
	return newInput(session, messages, input{
		task: t, zone: access.Preferences.Location(), now: s.Now(),
	}), err
}

// readMessages reads the next messages to summarise, or more, with as much of each as the model reads. It holds one
// page of whole messages at a time.
func readMessages(
	ctx context.Context, store conversation.SequelReader, user conversation.UserID, session conversation.Session,
) (messages []conversation.Message, err error) {
	after, size := session.Summarized, 0
	for len(messages) < inputMessages && size <= inputChars && after.Seq < session.LastSeq {
		page, err := store.MessagesAfter(ctx, user, session, after, inputMessages-len(messages))
		if err != nil || len(page) == 0 {
			return messages, err
		}
		for _, m := range page {
			after = conversation.Watermark{Seq: m.Seq, At: m.Timestamp}
			m = shortened(m)
			size += len(m.Content)
			messages = append(messages, m)
		}
	}
	return messages, nil
}

// summarizeInput asks the model. When the model takes longer than Timeout, and than llm.Patience where nobody waits, a
// fallback summary is stored while the same call goes on.
func (s *Service) summarizeInput(
	ctx context.Context, user conversation.UserID, session conversation.Session, in input,
) (conversation.Session, error) {
	if may, err := s.mayAsk(ctx, user); err != nil {
		return session, err
	} else if !may {
		return s.saveFallback(ctx, user, session, in.uncut())
	}
	answers, wait := make(chan answer, 1), s.Timeout
	if in.patient {
		wait += llm.Patience
	}
	go func() { answers <- s.completeRecovering(ctx, user, in) }()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-answers:
		return s.saveAnswer(ctx, user, session, in, a)
	case <-timer.C:
	}
	withFallback, err := s.saveFallback(ctx, user, session, in)
	a := <-answers // answerTimeout limits the wait
	if err == nil || isIndexError(err) {
		session = withFallback
	} else if a.err != nil || fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return session, err
	}
	return s.saveAnswer(ctx, user, session, in, a) // a fallback that was not stored is not needed any more
}

// mayAsk reports whether the model may be asked for the user: background calls are on, and the user has tokens left.
func (s *Service) mayAsk(ctx context.Context, user conversation.UserID) (bool, error) {
	if !s.Background {
		return false, nil
	}
	reset, err := s.Quota.Reset(ctx, user)
	return reset.IsZero(), err
}

// saveAnswer stores the model's answer. When the model failed, it stores a fallback unless a summary covers the input
// already.
func (s *Service) saveAnswer(
	ctx context.Context, user conversation.UserID, session conversation.Session, in input, a answer,
) (conversation.Session, error) {
	sweep.Note(ctx, sweep.Summarizing, a.err)
	if a.err == nil {
		return s.save(ctx, user, session, in.draft(a, conversation.ByModel))
	}
	s.Report(ctx, "summarize session", a.err)
	in = in.uncut()
	if session.Summary != nil && session.Summary.CoveredThrough >= in.through.Seq && !IsOutdated(session) {
		return session, nil
	}
	return s.saveFallback(ctx, user, session, in)
}

// saveFallback stores an extractive summary. It does not raise the watermark, so that the session stays due.
func (s *Service) saveFallback(
	ctx context.Context, user conversation.UserID, session conversation.Session, in input,
) (conversation.Session, error) {
	if session.Summary != nil && session.Summary.CoveredThrough >= in.through.Seq &&
		!unfinished(session) && !IsOutdated(session) {
		return session, nil
	}
	return s.save(ctx, user, session, in.draft(answer{text: in.fallback(), tags: in.tags}, conversation.Extractive))
}

// draft is what a session's next summary says, with what it covers and how it came about. Its Fields are those of the
// summary before.
type draft struct {
	conversation.SessionSummary
	// written are the fields that the model wrote.
	written map[string]any
	reason  TriggerReason
	through conversation.Watermark
	// at is the time of the summary. Zero takes that of its session.
	at time.Time
	// ofAttributes is true if the text was made from the session's attributes.
	ofAttributes bool
}

// nothingRecorded is the text of a summary that was made from attributes which the app has removed since.
const nothingRecorded = "Nothing is recorded."

// carryOver is the draft that keeps a session's text and covers messages through a watermark.
func carryOver(session conversation.Session, through conversation.Watermark, reason TriggerReason) draft {
	d := draft{reason: reason, through: through, at: session.LastMessageAt}
	if session.Summary != nil {
		d.SessionSummary, d.ofAttributes = *session.Summary, madeOfAttributes(session)
	}
	switch {
	case d.ofAttributes && len(describe(session.Attributes, time.UTC)) == 0:
		d.Text, d.Tags, d.Model = nothingRecorded, nil, "" // the text was made of attributes that are gone
	case session.Summary != nil && session.Summarized.Seq >= through.Seq:
		return d
	}
	d.Kind = conversation.ByModel
	return d
}

// ownFields are the fields of a summary that are not attributes of its session.
func (d draft) ownFields(session conversation.Session, appContext conversation.AppContext) map[string]any {
	of := appContext.Summary
	if !of.Rated && len(of.Written()) == 0 {
		return nil
	}
	out := map[string]any{}
	maps.Copy(out, d.Fields)
	maps.Copy(out, d.written)
	if of.Rated {
		out["messageCount"], out["triggerReason"] = float64(session.MessageCount), string(d.reason)
	}
	return out
}

// save stores a draft as the session's summary and indexes it. When indexing fails, the error is an indexError and the
// returned session has the summary all the same.
func (s *Service) save(
	ctx context.Context, user conversation.UserID, session conversation.Session, d draft,
) (conversation.Session, error) {
	summarized, err := s.withDraft(session, d)
	if err != nil {
		return session, err
	}
	record, _ := Of(summarized)
	record.CoveredAt, record.PromptVersion, record.Days = d.through.At, promptVersion, summarized.Summary.Days
	if !d.at.IsZero() {
		record.OccurredAt = d.at
	}
	if err := s.Store.SaveSummary(ctx, user, session, record); err != nil {
		return session, err
	}
	if record.Kind == conversation.ByModel && record.CoveredThrough > session.Summarized.Seq {
		session.Summarized = d.through
	}
	if record.Text == "" {
		return session, nil
	}
	session.Summary = summarized.Summary
	if err := s.Index.IndexSummary(ctx, user, record); err != nil {
		return session, indexError{err}
	}
	sweep.Note(ctx, sweep.Indexing, nil)
	session.Summary.Indexed = true
	return session, nil
}

// withDraft returns a session with the summary of a draft.
func (s *Service) withDraft(session conversation.Session, d draft) (conversation.Session, error) {
	appContext, err := conversation.AppContextOf(session.Context)
	if err != nil {
		return session, err
	}
	next := d.SessionSummary
	next.Tokens, next.InProgress, next.Indexed = s.Tokens.Count(next.Text), session.Status != conversation.Completed, false
	next.CoveredThrough, next.UpdatedAt = d.through.Seq, conversation.Milliseconds(s.Now())
	next.Fields, next.Digest = d.ownFields(session, appContext), digestOf(session, appContext, d.ofAttributes)
	next.Days = s.countDays(d.Days)
	session.Summary = &next
	return session, nil
}
