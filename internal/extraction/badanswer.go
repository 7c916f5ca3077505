package extraction

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
)

const (
	// maxTries is how many bad answers in a row there may be before a message is skipped. Each halves the next batch: of
	// windowMessages, the fourth is of one message.
	maxTries = 4
	// maxRetries is how many skipped messages one call of Extract asks about again, when there is another prompt.
	maxRetries = 4
	// wellFor is for how long a good answer says that the model is well. Where there is none, maxOthers other messages are
	// asked about.
	wellFor, maxOthers = time.Minute, 3
)

// afterRead returns what a session says of bad answers when a window has been read.
func afterRead(r conversation.Reading, of window) conversation.Reading {
	if of.through.Seq >= r.Through {
		r.Tries, r.Through = 0, 0
	}
	if of.retried {
		r.Skipped = slices.DeleteFunc(slices.Clone(r.Skipped), func(m conversation.SkippedMessage) bool {
			return m.Seq == of.seq
		})
		r.SkippedCount--
	}
	return r
}

// afterBad returns what a session says after a bad answer, and whether the window is skipped: it has one message, and
// the model has had its tries.
func afterBad(r conversation.Reading, of window) (after conversation.Reading, skips bool) {
	r.Skipped = slices.Clone(r.Skipped)
	if of.retried {
		for i, m := range r.Skipped {
			if m.Seq == of.seq {
				r.Skipped[i].Prompt = promptVersion()
			}
		}
		return r, false
	}
	if r.Tries == 0 {
		r.Through = of.through.Seq
	}
	if r.Tries++; r.Tries < maxTries || len(of.messages) > 1 {
		return r, false
	}
	m := of.messages[0]
	r.Skipped = append(r.Skipped, conversation.SkippedMessage{Seq: m.Seq, MessageID: m.ID, Prompt: promptVersion()})
	r.Skipped = r.Skipped[max(0, len(r.Skipped)-conversation.MaxSkipped):]
	r.Tries, r.Through = 0, 0
	r.SkippedCount++
	return r, true
}

// recordBad stores that the model gave a bad answer to a window. It returns that answer's error, which makes the sweep
// wait, unless the worker goes on: after a message that is skipped, and after one that was asked about again. A message
// waits as it is while the model reads no other one well.
func (w *worker) recordBad(ctx context.Context, p *planner, of window, isLast bool, bad error) error {
	var skips bool
	of.reading, skips = afterBad(w.session.Reading, of)
	if skips && !w.isWell(ctx, p, of.messages[0].Seq) {
		of.reading, skips = w.session.Reading, false
	}
	goesOn := skips || of.retried
	if !goesOn {
		of.through, isLast = w.session.Extracted, true
	}
	if err := w.save(ctx, p, answer{}, of, isLast); err != nil {
		return errors.Join(bad, err)
	}
	c := Counts{BadAnswers: 1}
	if skips {
		c.Skipped = 1
	}
	w.Count(ctx, c)
	if !goesOn {
		return bad
	}
	w.Report(ctx, "read a message for memories", bad)
	return nil
}

// isWell reports whether the model reads other messages well, with the same rules: it has just read one, or it reads
// one of those that lie next to a message in its session.
func (w *worker) isWell(ctx context.Context, p *planner, seq int) bool {
	if w.Now().Sub(time.UnixMilli(w.lastWell.Load())) < wellFor {
		return true
	}
	messages, err := w.readMessages(ctx)
	if err != nil {
		return false
	}
	others := slices.DeleteFunc(messages, func(m conversation.Message) bool {
		return m.Role != conversation.RoleUser || !m.IsRead() || m.Seq == seq || w.session.Reading.Skips(m.Seq)
	})
	far := func(m conversation.Message) int { return max(m.Seq-seq, seq-m.Seq) }
	slices.SortStableFunc(others, func(a, b conversation.Message) int { return far(a) - far(b) })
	for _, m := range others[:min(len(others), maxOthers)] {
		if !hasTime(ctx) {
			break
		}
		alone := []conversation.Message{m}
		if _, err := w.ask(ctx, p.newQuestion(window{messages: alone, lines: alone})); err == nil {
			w.lastWell.Store(w.Now().UnixMilli())
			return true
		}
	}
	return false
}

// retrySkipped asks about messages that were skipped with another version of the prompt, or about the one that the
// effort names, and returns how many batches that took.
func (w *worker) retrySkipped(ctx context.Context) (batches int, err error) {
	if w.effort.untilUrgent {
		return 0, nil // the new messages come first
	}
	for _, m := range slices.Clone(w.session.Reading.Skipped) {
		if of := w.effort.skipped; of != m.Seq && (of != 0 || m.Prompt == promptVersion()) {
			continue
		}
		if batches == maxRetries || !hasTime(ctx) {
			break
		}
		batches++
		messages, err := w.Store.MessagesAfter(ctx, w.user, w.session, conversation.Watermark{Seq: m.Seq - 1}, 1)
		if err != nil {
			return batches, err
		}
		of := window{through: w.session.Extracted, retried: true, seq: m.Seq}
		if len(messages) > 0 && messages[0].Seq == m.Seq { // it may have been deleted
			of.messages, of.lines = messages, messages
		}
		if err := w.batch(ctx, of, false); err != nil {
			return batches, err
		}
	}
	return batches, nil
}

// isBadAnswer reports whether a failure is the answer's own. What an outage or a lack of time ends is tried again as it
// is.
func isBadAnswer(ctx context.Context, err error) bool {
	return ctx.Err() == nil && llm.IsBadAnswer(err)
}
