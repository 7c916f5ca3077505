package promptbench

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// answers are what remote calls brought the first time; they bring it again without the call, so that only the
// process's own work is left. It is safe for concurrent use.
type answers struct{ known sync.Map }

// once gives a known answer, or asks.
func once[T any](a *answers, key string, ask func() (T, error)) (T, error) {
	if known, ok := a.known.Load(key); ok {
		return known.(T), nil
	}
	out, err := ask()
	if err == nil {
		a.known.Store(key, out)
	}
	return out, err
}

// tape answers requests with the bytes that the same requests brought before: what is left of a call is its signing,
// its encoding and its decoding.
type tape struct {
	answers
	next http.RoundTripper
}

// recorded is an answer of the service.
type recorded struct {
	response http.Response
	body     []byte
}

// RoundTrip answers from the tape, or asks and records.
func (t *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	got, err := once(&t.answers, requestKey(r, asked), func() (out recorded, err error) {
		r.Body = io.NopCloser(bytes.NewReader(asked))
		response, err := t.next.RoundTrip(r)
		if err != nil {
			return out, err
		}
		defer response.Body.Close()
		out.response = *response
		out.body, err = io.ReadAll(response.Body)
		return out, err
	})
	response := got.response
	response.Header, response.Body, response.Request = got.response.Header.Clone(), io.NopCloser(bytes.NewReader(got.body)), r
	return &response, err
}

// requestKey tells requests apart by their operation and their body's strings, in any order: the client writes the
// members of a JSON object in another order each time.
func requestKey(r *http.Request, body []byte) string {
	h := fnv.New64a()
	var sum uint64
	for part := range bytes.SplitSeq(body, []byte{'"'}) {
		part = bytes.Trim(part, ",:{}[]") // what separates strings depends on their order
		if len(part) == 0 {
			continue
		}
		h.Reset()
		_, _ = h.Write(part) // a hash takes everything
		sum += h.Sum64()
	}
	return fmt.Sprintf("%s %d %x", r.Header.Get("X-Amz-Target"), len(body), sum)
}

// records answers a prompt's reads with the decoded records that they brought before.
type records struct {
	prompt.Store
	answers
}

type opened struct {
	session conversation.Session
	access  longterm.Access
}

// Open is prompt.Store's.
func (r *records) Open(ctx context.Context, user conversation.UserID, surface, sessionID string) (conversation.Session, longterm.Access, error) {
	out, err := once(&r.answers, "open", func() (o opened, err error) {
		o.session, o.access, err = r.Store.Open(ctx, user, surface, sessionID)
		return o, err
	})
	return out.session, out.access, err
}

// Tail is prompt.Store's.
func (r *records) Tail(ctx context.Context, user conversation.UserID, session conversation.Session, n int) ([]conversation.Message, error) {
	return once(&r.answers, fmt.Sprint("tail ", n), func() ([]conversation.Message, error) {
		return r.Store.Tail(ctx, user, session, n)
	})
}

type page struct {
	messages []conversation.Message
	next     conversation.Position
}

// Timeline is prompt.Store's.
func (r *records) Timeline(ctx context.Context, user conversation.UserID, in conversation.Range, p conversation.Page) ([]conversation.Message, conversation.Position, error) {
	out, err := once(&r.answers, fmt.Sprint("timeline ", p.Limit, p.After), func() (out page, err error) {
		out.messages, out.next, err = r.Store.Timeline(ctx, user, in, p)
		return out, err
	})
	return out.messages, out.next, err
}

// RecentSessions is prompt.Store's.
func (r *records) RecentSessions(ctx context.Context, user conversation.UserID, since time.Time, limit int) ([]conversation.Session, error) {
	return once(&r.answers, fmt.Sprint("sessions ", limit), func() ([]conversation.Session, error) {
		return r.Store.RecentSessions(ctx, user, since, limit)
	})
}

// LongTerm is prompt.Store's.
func (r *records) LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error) {
	return once(&r.answers, "long-term", func() (longterm.Snapshot, error) { return r.Store.LongTerm(ctx, user) })
}

// found answers searches with what they found before.
type found struct {
	prompt.Searcher
	answers
}

// Search is prompt.Searcher's.
func (f *found) Search(ctx context.Context, user conversation.UserID, q recall.Search) (recall.Found, error) {
	return once(&f.answers, fmt.Sprint("search ", q.Limit), func() (recall.Found, error) { return f.Searcher.Search(ctx, user, q) })
}

// matches answers queries of an index with what the first brought.
type matches struct {
	recall.Index
	answers
}

// Query is recall.Index's.
func (m *matches) Query(ctx context.Context, user conversation.UserID, generation int64, q vector.Query) ([]vector.Match, error) {
	return once(&m.answers, "query", func() ([]vector.Match, error) { return m.Index.Query(ctx, user, generation, q) })
}

// embedded answers an embedder's calls with what the first brought.
type embedded struct {
	recall.Embedder
	answers
}

// Embed is recall.Embedder's.
func (e *embedded) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return once(&e.answers, "embed", func() ([][]float32, error) { return e.Embedder.Embed(ctx, texts) })
}
