package extraction

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
)

const (
	// leaseTime is how long a lease lasts. It is longer than the model and the store may take for one batch.
	leaseTime = time.Minute + llm.Patience
	// leaseAttempts is how often a worker tries to get the lease, which is about ten seconds. Then the session is left to
	// the sweep.
	leaseAttempts  = 9
	firstLeaseWait = 100 * time.Millisecond
	maxLeaseWait   = 2 * time.Second
	// readMessages is how many messages are read at once, and contextMessages how many of them may lie before the
	// watermark, within contextSpan. A wish to forget may be about any of the last wishMessages.
	// lateAfter is after how long a message is read late: something may have ended since that it says.
	lateAfter       = time.Hour
	readMessages    = 100
	contextMessages = 12
	wishMessages    = 50
	contextSpan     = time.Hour
	// maxBatches limits the batches of one call of Extract, urgentBatches those of ExtractNext. The next call goes on.
	maxBatches    = 8
	urgentBatches = 3
	// saveAttempts is how often a batch is applied to what is known by then.
	saveAttempts = 5
	// deadlineReserve is the time before a deadline in which a batch is left to the sweep.
	deadlineReserve = 30*time.Second + llm.Patience
	// releaseTimeout bounds giving the lease back, which has its own time because that of the work may be over.
	releaseTimeout = 2 * time.Second
)

// errNotRead says that there is nothing to read in a session, or that it has to wait.
var errNotRead = errors.New("extraction: nothing is read now")

// worker reads one session while it has the user's lease.
type worker struct {
	*Service
	user    conversation.UserID
	session conversation.Session
	prefs   longterm.Preferences
	lease   Lease
	effort  effort
	// released says that the lease is given back.
	released bool
}

// effort is how much one call does: how often it tries to get the lease, and how many batches it reads. untilUrgent
// ends it after the batch with the session's urgent message, or after the first one where there is none. skipped is the
// seq of the one skipped message that it reads, or 0. keepsLease says that the lease is that of another worker.
type effort struct {
	leaseAttempts, batches, skipped int
	untilUrgent, keepsLease         bool
}

// Extract reads the messages of the user that a session has after its watermark, and returns how far it is read then.
// It reads nothing while the user has no tokens left, while background calls are stopped, and while another worker has
// the user's lease: the session stays due. For a user who does not want memories it raises the watermark.
func (s *Service) Extract(ctx context.Context, user conversation.UserID, context, sessionID string,
) (conversation.Watermark, error) {
	return s.extract(ctx, user, context, sessionID, effort{leaseAttempts: leaseAttempts, batches: maxBatches})
}

// ExtractNext is Extract for one batch, which is one call of the model, or for as many as it takes to read an urgent
// message, three at most. It tries once to get the lease. So a user whose sessions have much to read does not delay the
// others of an event.
func (s *Service) ExtractNext(ctx context.Context, user conversation.UserID, context, sessionID string,
) (conversation.Watermark, error) {
	return s.extract(ctx, user, context, sessionID, effort{leaseAttempts: 1, batches: urgentBatches, untilUrgent: true})
}

func (s *Service) extract(ctx context.Context, user conversation.UserID, context, sessionID string, e effort,
) (conversation.Watermark, error) {
	w, err := s.begin(ctx, user, conversation.Session{ID: sessionID, Context: context}, e)
	if errors.Is(err, errNotRead) {
		return w.session.Extracted, nil
	}
	if err != nil {
		return conversation.Watermark{}, err
	}
	err = w.run(ctx)
	if !w.released {
		w.release(ctx)
	}
	if errors.Is(err, ErrLeaseLost) || errors.Is(err, errNotRead) {
		err = nil // another worker goes on, or the user wants no memories any more
	}
	return w.session.Extracted, err
}

// release gives the lease back, so that nobody has to wait until it lapses.
func (w *worker) release(ctx context.Context) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := w.Store.ReleaseExtraction(ending, w.user, w.lease); err != nil {
		w.Report(ctx, "release extraction", err)
	}
}

// begin opens a session and takes the user's lease for it. Its error is errNotRead where there is nothing to read.
func (s *Service) begin(ctx context.Context, user conversation.UserID, of conversation.Session, e effort,
) (*worker, error) {
	w := &worker{Service: s, user: user, session: of, lease: Lease{Owner: s.NewOwner()}, effort: e}
	wait := firstLeaseWait
	for attempt := range e.leaseAttempts {
		if attempt > 0 {
			if err := delay.Sleep(ctx, wait); err != nil {
				return w, err
			}
			wait = min(2*wait, maxLeaseWait)
		}
		if err := w.open(ctx); err != nil {
			return w, err
		}
		if !hasTime(ctx) {
			return w, errNotRead
		}
		w.lease.Until = s.Now().Add(leaseTime)
		held, err := s.Store.LeaseExtraction(ctx, user, w.session, w.lease)
		if held || err != nil && !fault.Is(err, fault.Conflict) {
			return w, err
		}
	}
	return w, errNotRead
}

// hasTime reports whether there is time for a batch before the deadline.
func hasTime(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return !ok || time.Until(end) >= deadlineReserve
}

// open reads the session and the user's preferences. Its error is errNotRead where the session is read, and where it
// has to wait.
func (w *worker) open(ctx context.Context) error {
	session, access, err := w.Store.Open(ctx, w.user, w.session.Context, w.session.ID)
	if err != nil {
		return err
	}
	w.session, w.prefs = session, access.Preferences
	switch {
	case w.effort.skipped != 0 && !session.Reading.Skips(w.effort.skipped),
		w.effort.skipped == 0 && !session.NeedsExtraction():
		return errNotRead
	case !w.prefs.Memory:
		if err := w.Store.SkipExtraction(ctx, w.user, session); err != nil {
			return err
		}
		w.session.Extracted = conversation.Watermark{Seq: session.LastSeq, At: session.LastMessageAt}
		return errNotRead
	case !w.Background:
		return errNotRead
	}
	reset, err := w.Quota.Reset(ctx, w.user)
	if err == nil && !reset.IsZero() {
		return errNotRead
	}
	return err
}

// run reads batches until the session is read, or until a limit is reached.
func (w *worker) run(ctx context.Context) error {
	retries, err := w.retrySkipped(ctx)
	if err != nil || w.effort.skipped != 0 {
		return err
	}
	messages, err := w.readMessages(ctx)
	for batch := retries; batch < w.effort.batches && err == nil && !w.released; batch++ {
		if batch > 0 && (!hasTime(ctx) || w.effort.keepsLease && !w.session.NeedsExtraction()) {
			return nil
		}
		end := w.endOf(messages)
		next := shadowJudgeWindow(messages, w.session.Extracted.Seq, w.session.Reading, end)
		isLast := next.through.Seq >= w.session.LastSeq || batch == w.effort.batches-1 ||
			w.effort.untilUrgent && next.through.Seq >= w.session.UrgentSeq
		if err = w.batch(ctx, next, isLast && !w.effort.keepsLease); err == nil && next.through.Seq == end.Seq && !isLast {
			messages, err = w.readMessages(ctx)
		}
	}
	return err
}

// endOf is the watermark of all messages that were read: that of the session where it has no more.
func (w *worker) endOf(messages []conversation.Message) conversation.Watermark {
	through := w.session.Extracted
	if n := len(messages); n > 0 && messages[n-1].Seq > through.Seq {
		through = conversation.Watermark{Seq: messages[n-1].Seq, At: messages[n-1].Timestamp}
		for seq := through.Seq + 1; seq <= w.session.LastSeq; seq++ {
			if !w.session.Deleted.Contains(seq) {
				return through
			}
		}
	}
	return conversation.Watermark{Seq: w.session.LastSeq, At: w.session.LastMessageAt}
}

// readMessages reads the next messages after the watermark, and a few before it, which are context: more where one asks
// to forget something.
func (w *worker) readMessages(ctx context.Context) ([]conversation.Message, error) {
	messages, err := w.readFrom(ctx, contextMessages)
	if err != nil || !hasWish(messages, w.session.Extracted.Seq) {
		return messages, err
	}
	return w.readFrom(ctx, wishMessages)
}

// hasWish reports whether the user asks to forget something in a message after a seq.
func hasWish(messages []conversation.Message, after int) bool {
	return slices.ContainsFunc(messages, func(m conversation.Message) bool {
		return m.Seq > after && m.Role == conversation.RoleUser && conversation.AsksToForget(m.Content)
	})
}

// readFrom reads the next messages, and so many before the watermark. Where many messages are left, those before it are
// read by their time.
func (w *worker) readFrom(ctx context.Context, before int) (messages []conversation.Message, err error) {
	after := conversation.Watermark{Seq: max(0, w.session.Extracted.Seq-before)}
	if w.session.LastSeq-after.Seq >= readMessages && !w.session.Extracted.At.IsZero() {
		after.At = w.session.Extracted.At.Add(-contextSpan)
	}
	for after.Seq <= w.session.Extracted.Seq { // the context may be pages of its own
		page, err := w.Store.MessagesAfter(ctx, w.user, w.session, after, readMessages-len(messages))
		if err != nil || len(page) == 0 {
			return messages, err
		}
		messages = append(messages, page...)
		last := page[len(page)-1]
		after = conversation.Watermark{Seq: last.Seq, At: last.Timestamp}
	}
	return messages, nil
}

// batch asks the model about one window and stores what follows. A window without messages of the user only raises the
// watermark.
func (w *worker) batch(ctx context.Context, of window, isLast bool) error {
	p := &planner{tokens: w.Tokens, random: w.Random, zone: w.prefs.Location(), forgotten: map[string]bool{}}
	var a answer
	if len(of.messages) > 0 {
		var err error
		if of.elsewhere, err = w.readElsewhere(ctx, of); err != nil {
			return err
		}
		if err := w.refresh(ctx, p, of); err != nil {
			return err
		}
		q := p.newQuestion(of)
		p.ids, p.replacedBy = q.ids, map[string]string{}
		for _, m := range p.known.Memories {
			p.replacedBy[m.ID] = m.SupersededBy
		}
		if a, err = w.ask(ctx, q); isBadAnswer(ctx, err) {
			return w.recordBad(ctx, p, of, isLast, err)
		} else if err != nil {
			return err
		}
	}
	p.facts, p.opened = a.facts, a.opened
	if of.reading = afterRead(w.session.Reading, of); len(of.messages) > 0 {
		w.lastWell.Store(w.Now().UnixMilli())
	}
	w.Count(ctx, Counts{BadItems: a.bad})
	return w.save(ctx, p, a, of, isLast)
}

// refresh gives a planner what is known now.
func (w *worker) refresh(ctx context.Context, p *planner, of window) (err error) {
	p.isWish = hasWish(of.messages, 0)
	var first time.Time
	isLate := false
	if len(of.messages) > 0 {
		first = of.messages[0].Timestamp
		isLate = w.Now().Sub(first) > lateAfter
	}
	if p.known, err = w.Store.Known(ctx, w.user, w.session.Generation, p.isWish || isLate); err != nil {
		return err
	}
	p.now, p.coachID, p.messages = w.Now().In(p.zone), w.session.CoachID, map[string]conversation.Message{}
	p.isApart, p.reviews = w.prefs.SeparatesContexts(), w.prefs.ReviewMemories
	for _, m := range of.messages {
		if !w.session.Deleted.Contains(m.Seq) {
			p.messages[m.ID] = m
		}
	}
	if p.visible, err = w.visible(ctx, p.known); p.isWish || isLate {
		p.past = slices.DeleteFunc(slices.Concat(p.known.Memories, p.known.Past), func(m longterm.Memory) bool {
			return !p.visible[m.ID] || m.HeldAt(p.now) || !p.isWish && !m.ValidUntil.After(first)
		})
	}
	if err == nil && isLate {
		p.wishes, err = w.wishesAfter(ctx, p.known.ForgottenMessages, first)
	}
	return err
}

// save stores what follows from an answer. Where it is too much for one transaction, the last of several raises the
// watermark.
func (w *worker) save(ctx context.Context, p *planner, a answer, of window, isLast bool) error {
	for {
		stored, rest, err := w.savePart(ctx, p, a, of, isLast)
		w.Count(ctx, stored.counts())
		if err != nil || rest.isEmpty() {
			return err
		}
		a = rest
		if err := w.refresh(ctx, p, of); err != nil {
			return err
		}
	}
}

// savePart stores as much of an answer as one transaction holds, and returns it with the rest. After a conflict it
// applies the answer to what is known by then.
func (w *worker) savePart(ctx context.Context, p *planner, a answer, of window, isLast bool) (Batch, answer, error) {
	for range saveAttempts {
		b, rest := p.plan(a)
		w.lease.Until = w.Now().Add(leaseTime)
		b.Lease, b.Last, b.Through, b.Reading = w.lease, isLast, of.through, of.reading
		if !rest.isEmpty() {
			b.Last, b.Through, b.Reading = false, w.session.Extracted, w.session.Reading
		}
		deleted, err := w.Store.SaveExtraction(ctx, w.user, w.session, b)
		switch {
		case err == nil && len(deleted) == 0:
			w.session.Extracted, w.session.Reading, w.released = b.Through, b.Reading, b.Last
			return b, rest, nil
		case err == nil:
			b.addForgotten(p.forgotten, deleted)
			continue
		case !fault.Is(err, fault.Conflict):
			return Batch{}, answer{}, err
		}
		before := w.session.Extracted
		if err := w.open(ctx); err != nil {
			return Batch{}, answer{}, err
		}
		if w.session.Extracted.Seq != before.Seq {
			return Batch{}, answer{}, ErrLeaseLost
		}
		if err := w.refresh(ctx, p, of); err != nil {
			return Batch{}, answer{}, err
		}
	}
	return Batch{}, answer{}, fault.New(fault.Conflict, "what is known changes all the time")
}

// visible returns the ids of the memories and todos that may be compared with what the session says. A user may keep
// contexts or sessions apart: then one counts only where a prompt of the session may tell it. A promise whose messages
// were deleted, as those of an edited turn, is about to go, too.
func (w *worker) visible(ctx context.Context, known Known) (map[string]bool, error) {
	visible := map[string]bool{}
	isApart := w.prefs.SeparatesContexts()
	memories := slices.Concat(known.Memories, known.Past)
	todos := slices.Concat(known.Todos, known.PastTodos)
	from := map[string]conversation.Message{}
	var ids []string
	for _, m := range memories {
		if isApart {
			ids = append(ids, m.MessageIDs...)
		}
	}
	hasDeleted := len(w.session.Deleted) > 0
	for _, t := range todos {
		if isApart || hasDeleted {
			ids = append(ids, t.MessageIDs...)
		}
	}
	slices.Sort(ids)
	hits, err := w.Store.Resolve(ctx, w.user, w.session.Generation, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		if h.Message != nil {
			from[h.Message.ID] = *h.Message
		}
	}
	isHidden := func(id string) bool {
		said, ok := from[id]
		return isApart && (!ok || !w.sees(said))
	}
	for _, m := range memories {
		visible[m.ID] = m.Source != longterm.Extracted || !slices.ContainsFunc(m.MessageIDs, isHidden)
	}
	stays := func(id string) bool { return from[id].ID != "" }
	for _, t := range todos {
		isGone := hasDeleted && len(t.MessageIDs) > 0 && !slices.ContainsFunc(t.MessageIDs, stays)
		visible[t.ID] = !isGone && !slices.ContainsFunc(t.MessageIDs, isHidden)
	}
	return visible, nil
}
