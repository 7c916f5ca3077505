package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/fault"
)

// forget takes the memories away that were drawn from what is deleted.
func (w *world) forget(v *view, source string) {
	for name := range v.Records {
		if from, drawn := w.ids["source/"+name]; drawn && (from == source || strings.HasPrefix(from, source+"/")) {
			delete(v.Records, name)
		}
	}
}

// deleteMessage deletes a message, and goes on until that is done: what derives from it goes first.
func (w *world) deleteMessage() {
	m, ok := w.message()
	if !ok {
		return
	}
	again, err := w.make(call{10, true, func(ctx context.Context, p *process) error {
		return p.deletions.DeleteMessage(ctx, w.user, m.session, w.ids["message/"+m.text])
	}})
	if again && fault.Is(err, fault.NotFound) {
		err = nil
	}
	w.acknowledged("delete message", err, func(v *view) {
		v.with(m.session, func(s *sessionView) {
			s.Messages = slices.DeleteFunc(s.Messages, func(line string) bool { return line == m.line })
			s.Count--
			if m.seq() <= s.Covered {
				s.Summary, s.Covered = "", 0
			}
		})
		w.forget(v, m.session+"/"+m.text)
	})
}

// deleteSession deletes a session. Where the client gives up, the sweep goes on with what had begun.
func (w *world) deleteSession() {
	id, there := w.session()
	again, err := w.make(call{12, w.patient(), func(ctx context.Context, p *process) error {
		return p.deletions.DeleteSession(ctx, w.user, id)
	}})
	if w.missing("delete", there, err) {
		return
	}
	if again && fault.Is(err, fault.NotFound) {
		err = nil
	}
	if errors.Is(err, errGivenUp) {
		w.clock.advance(time.Hour)
		p, ctx := w.start(nil)
		if _, err := p.deletions.Sweep(ctx, 100); err != nil {
			w.rt.Fatalf("sweep: %v", err)
		}
	}
	w.acknowledged("delete session", err, func(v *view) {
		delete(v.Sessions, id)
		w.forget(v, id)
	})
}

// repeat makes a call again that was acknowledged, with its key: nothing changes, even where what it made is deleted.
func (w *world) repeat() {
	if len(w.repeats) == 0 {
		return
	}
	do := rapid.SampledFrom(w.repeats).Draw(w.rt, "repeat")
	if _, err := w.make(call{4, w.patient(), do}); err != nil && !errors.Is(err, errGivenUp) && !fault.Is(err, fault.NotFound) {
		w.rt.Fatalf("repeat: %v", err)
	}
}

// erase erases the user, or goes on with it: what was stored since it began stays.
func (w *world) erase(patient bool) {
	_, err := w.make(call{30, patient, func(ctx context.Context, p *process) error {
		out, err := p.deletions.Erase(ctx, w.user, w.clock.time().Add(time.Minute))
		if err == nil && !out.Done {
			return errNoAnswer // another call has the user: the one before, until its lease lapses
		}
		return err
	}})
	access, lookErr := w.plain.Recall.Access(w.t.Context(), w.user)
	if lookErr != nil {
		w.rt.Fatal(lookErr)
	}
	begun := access.Generation > w.generation
	w.generation = access.Generation
	if begun {
		w.want, w.repeats = newView(), nil
	}
	switch {
	case errors.Is(err, errGivenUp):
		w.erasing, w.now = w.erasing || begun, nil
		w.settle("erase", w.want)
	case err != nil:
		w.rt.Fatalf("erase: %v", err)
	default:
		w.erasing = false
	}
}
