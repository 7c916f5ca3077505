package gather

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
)

const (
	// namedMessages is how many messages of a day that the message names are read, the newest.
	namedMessages = 200
	// lastTalk is how many messages are read of the conversation that was left off.
	lastTalk = 10
)

// referencedReads returns the read of what the message refers back to, if the newest messages of the timeline do not
// have it: the day that it names, or the last conversation.
func referencedReads(r *reader, src *Sources) []func(context.Context) error {
	ref := src.Reference
	if !ref.Refers || r.got.reach.IsZero() {
		return nil
	}
	if from, to, named := ref.Days(src.Now, src.Zone); named {
		if !from.Before(r.got.reach) {
			return nil
		}
		days := conversation.Range{From: from, To: to, Unerased: true}
		return []func(context.Context) error{func(ctx context.Context) error { return readDays(ctx, r, days) }}
	}
	last := slices.IndexFunc(src.Sessions, func(s conversation.Session) bool { return HasMessages(&s) })
	if ref.HasTopic || last < 0 || len(src.BySession[src.Sessions[last].ID]) > 0 {
		return nil
	}
	session := src.Sessions[last]
	return []func(context.Context) error{func(ctx context.Context) error {
		messages, err := r.Store.MessagesBefore(ctx, r.User, session, conversation.Message{}, lastTalk)
		return addReferenced(ctx, r, messages, err)
	}}
}

// readDays reads the newest messages of the days that the message names.
func readDays(ctx context.Context, r *reader, days conversation.Range) error {
	page := conversation.Page{Limit: namedMessages, Descending: true}
	messages, _, err := r.Store.Timeline(ctx, r.User, days, page)
	slices.Reverse(messages)
	return addReferenced(ctx, r, messages, err)
}

// addReferenced adds messages, or notes that they are missing: a prompt can do without them.
func addReferenced(ctx context.Context, r *reader, messages []conversation.Message, err error) error {
	if err != nil {
		r.addMissing(ctx, sourceNamed, err)
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got.referenced = slices.DeleteFunc(pointers(messages), r.got.isErased)
	return nil
}

// HasMessages reports whether a session has messages. One that a form has saved has none.
func HasMessages(s *conversation.Session) bool { return s.MessageCount > 0 || s.LastSeq > 0 }
