package indexing_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
)

// fake is a store with one session, and an index. Each of its calls can be made to fail.
type fake struct {
	mu      sync.Mutex
	session conversation.Session
	deleted map[int]bool
	// roles and awaiting change what message says of a seq.
	roles    map[int]conversation.Role
	awaiting map[int]bool
	// length is the length of every text, unless it is 0.
	length  int
	indexed map[string]bool
	// previous is what each message was last indexed with, embedded how often it was embedded.
	previous map[int]string
	embedded map[int]int
	records  map[string]recall.Hit
	claim    time.Time
	// embed replaces the embedding service. It is called with the texts of each request.
	embed  func(ctx context.Context, texts int)
	marked []indexing.RecordRef
	fail   func(op string) error
}

func newFake(messages int) *fake {
	return &fake{
		session: conversation.Session{ID: "s", Context: "workout_log", LastSeq: messages, Generation: 1},
		deleted: map[int]bool{}, roles: map[int]conversation.Role{}, awaiting: map[int]bool{}, indexed: map[string]bool{},
		previous: map[int]string{}, embedded: map[int]int{}, records: map[string]recall.Hit{},
		fail: func(string) error { return nil }, embed: func(context.Context, int) {},
	}
}

func (f *fake) SessionIn(context.Context, conversation.UserID, string, string) (conversation.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.session, f.fail("session")
}

func (f *fake) SessionsAt(
	_ context.Context, refs []indexing.SessionRef,
) (map[indexing.SessionRef]conversation.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail("session"); err != nil {
		return nil, err
	}
	out := map[indexing.SessionRef]conversation.Session{}
	for _, ref := range refs {
		if ref.Generation == f.session.Generation {
			out[ref] = f.session
		}
	}
	return out, nil
}

func (f *fake) MessagesAfter(
	_ context.Context, _ conversation.UserID, session conversation.Session, after conversation.Watermark, limit int,
) ([]conversation.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []conversation.Message
	for seq := after.Seq + 1; seq <= session.LastSeq && len(out) < limit; seq++ {
		if !f.deleted[seq] {
			out = append(out, f.message(seq))
		}
	}
	return out, f.fail("messages")
}

func (f *fake) MessagesBefore(
	_ context.Context, _ conversation.UserID, _ conversation.Session, before conversation.Message, n int,
) ([]conversation.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []conversation.Message
	for seq := before.Seq - 1; seq > 0 && len(out) < n; seq-- {
		if !f.deleted[seq] {
			out = append([]conversation.Message{f.message(seq)}, out...)
		}
	}
	return out, f.fail("before")
}

func (f *fake) MarkIndexed(
	_ context.Context, _ conversation.UserID, session conversation.Session, through conversation.Watermark,
) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail("mark"); err != nil {
		return err
	}
	if session.Generation != f.session.Generation {
		return fault.Missing("session")
	}
	if now := f.session.Indexed.Seq; now < session.Indexed.Seq || now >= through.Seq {
		return fault.New(fault.Conflict, "the watermark has another value")
	}
	if at := message(through.Seq).Timestamp; !f.deleted[through.Seq] && !through.At.Equal(at) {
		return fmt.Errorf("message %d is of %v, and the watermark has %v", through.Seq, at, through.At)
	}
	f.session.Indexed = through
	return nil
}

func (f *fake) ClaimIndexing(
	_ context.Context, _ conversation.UserID, _ conversation.Session, now, until time.Time,
) (conversation.Session, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail("claim"); err != nil {
		return f.session, false, err
	}
	if now.Before(f.claim) {
		return f.session, false, nil
	}
	f.claim = until
	return f.session, true, nil
}

func (f *fake) EndIndexing(
	_ context.Context, _ conversation.UserID, _ conversation.Session, until time.Time,
) (conversation.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.claim.Equal(until) {
		f.claim = time.Time{}
	}
	return f.session, f.fail("end claim")
}

func (f *fake) IndexBatches(ctx context.Context, batches []indexing.Batch) []error {
	texts := 0
	for _, b := range batches {
		texts += len(b.Messages)
	}
	f.embed(ctx, texts)
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := make([]error, len(batches))
	for i, b := range batches {
		if errs[i] = f.fail("index"); errs[i] != nil {
			continue
		}
		previous := b.Previous["s"]
		for _, m := range b.Messages {
			f.indexed[m.ID] = true
			f.embedded[m.Seq]++
			f.previous[m.Seq] = previous
			if m.Role != conversation.RoleSystem {
				previous = m.Content
			}
		}
	}
	return errs
}

func (f *fake) Resolve(_ context.Context, _ conversation.UserID, _ int64, ids []string) ([]recall.Hit, error) {
	if err := f.fail("resolve"); err != nil {
		return nil, err
	}
	if hit, ok := f.records[ids[0]]; ok {
		hit.ID = ids[0]
		return []recall.Hit{hit}, nil
	}
	return nil, nil
}

func (f *fake) MarkRecordIndexed(_ context.Context, _ conversation.UserID, r indexing.RecordRef) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marked = append(f.marked, r)
	return f.fail("mark record")
}

func (f *fake) RecordDue(_ context.Context, d sweep.Due) (indexing.RecordRef, error) {
	if err := f.fail("record due"); err != nil {
		return indexing.RecordRef{}, err
	}
	return indexing.RecordRef{ID: d.ID, Generation: 1, Version: 1}, nil
}

func (f *fake) IndexHits(_ context.Context, _ conversation.UserID, _ int64, hits []recall.Hit) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range hits {
		f.indexed[h.ID] = true
	}
	return nil
}

func (f *fake) Delete(_ context.Context, _ conversation.UserID, _ int64, ids []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		delete(f.indexed, id)
	}
	return nil
}

// message is a question where its seq is odd, and an answer where it is even.
func message(seq int) conversation.Message {
	role := conversation.RoleAssistant
	if seq%2 == 1 {
		role = conversation.RoleUser
	}
	return conversation.Message{
		ID: fmt.Sprint("m", seq), Seq: seq, Role: role, SessionID: "s", Context: "workout_log", Generation: 1,
		Timestamp: time.Unix(int64(seq), 0), Content: fmt.Sprint("text ", seq),
	}
}

func (f *fake) message(seq int) conversation.Message {
	m := message(seq)
	if role, ok := f.roles[seq]; ok {
		m.Role = role
	}
	m.AwaitsAnswer = f.awaiting[seq]
	if f.length > 0 {
		m.Content = strings.Repeat("x", f.length)
	}
	return m
}

func (f *fake) change(seq int) conversation.Change {
	m := f.message(seq)
	return conversation.Change{User: "ann", Sequence: fmt.Sprint(seq), Message: &m}
}

func change(seq int) conversation.Change { return newFake(seq).change(seq) }

// draw makes some messages deleted, of the system, or questions that wait for an answer.
func (f *fake) draw(t *rapid.T) {
	seqs := func(label string) []int {
		return rapid.SliceOfN(rapid.IntRange(1, f.session.LastSeq), 0, 3).Draw(t, label)
	}
	for _, seq := range seqs("deleted") {
		f.deleted[seq] = true
		f.session.Deleted = f.session.Deleted.Add(seq)
	}
	for _, seq := range seqs("system") {
		f.roles[seq] = conversation.RoleSystem
	}
	for seq := 1; seq <= f.session.LastSeq; seq++ {
		f.awaiting[seq] = f.message(seq).Role == conversation.RoleUser
	}
}

// check fails unless everything through the watermark is in the index.
func (f *fake) check(t *rapid.T, through int) {
	for seq := 1; seq <= through; seq++ {
		if f.deleted[seq] {
			continue
		}
		if !f.indexed[fmt.Sprint("m", seq)] {
			t.Fatalf("message %d is not in the index, but the watermark is %d", seq, through)
		}
		if want := f.said(seq); f.previous[seq] != want {
			t.Fatalf("message %d is indexed after %q, want %q", seq, f.previous[seq], want)
		}
	}
}

// said is the text of the last message before one of them that was not the system's.
func (f *fake) said(seq int) string {
	for seq--; seq > 0; seq-- {
		if !f.deleted[seq] && f.message(seq).Role != conversation.RoleSystem {
			return f.message(seq).Content
		}
	}
	return ""
}
