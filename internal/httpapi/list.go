package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
)

// list is a page of a list; the last one has no next cursor.
type list[T any] struct {
	Items      []T    `json:"items" doc:"The page's items; it ends at the limit or at 1 MiB."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Where the next page begins; absent on the last one."`
}

type listOutput[T any] struct{ Body list[T] }

// ListInput is what every list takes. It is exported because huma finds only the fields of exported types that are
// embedded, as are Keyed and SessionPath.
type ListInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"At most how many items to return."`
	Cursor string `query:"cursor" maxLength:"4096" doc:"The nextCursor of the page before; it is bound to the user, the path and the query."`

	bound listing
}

// Resolve notes what the list's cursors are bound to.
func (in *ListInput) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	in.bound = listing{path: ctx.Method() + " " + u.Path, query: narrowing(&u)}
	return nil
}

// narrowing is the query without what a caller may change from page to page.
func narrowing(u *url.URL) string {
	query := u.Query()
	query.Del("limit")
	query.Del("cursor")
	for name, values := range query {
		if values[0] == "" {
			query.Del(name)
		}
	}
	return query.Encode()
}

// page opens the cursor and makes the domain's page of the request.
func (s *server) page(c Caller, in ListInput, descending bool) (conversation.Page, listing, error) {
	in.bound.user = c.User
	at, err := s.cursors.open(in.bound, in.Cursor)
	return conversation.Page{Limit: in.Limit, After: at, Descending: descending}, in.bound, err
}

// listed writes one page.
func listed[T, V any](s *server, bound listing, items []T, next conversation.Position, view func(T) V) *listOutput[V] {
	out := &listOutput[V]{Body: list[V]{Items: make([]V, len(items)), NextCursor: s.cursors.seal(bound, next)}}
	for i, item := range items {
		out.Body.Items[i] = view(item)
	}
	return out
}

// keyHeader makes a POST repeatable (api 1).
const keyHeader = "Idempotency-Key"

// Keyed is part of the input of every operation that creates.
type Keyed struct {
	Key string `header:"Idempotency-Key" doc:"1 to 128 characters: a repeat with the same key and body within 24 hours gets the first call's answer."`

	scope string
}

// Resolve checks the key, and notes what it is bound to beside the user.
func (k *Keyed) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	k.scope = ctx.Method() + " " + u.Path
	var given []string
	ctx.EachHeader(func(name, value string) {
		if name == keyHeader {
			given = append(given, value)
		}
	})
	if len(given) == 0 || (len(given) == 1 && validKey(given[0])) {
		return nil
	}
	return []error{&huma.ErrorDetail{Location: "header." + keyHeader, Message: "must be one value of 1 to 128 characters"}}
}

// validKey reports whether a header's value is a key. It may hold a comma: API Gateway hands over a header that comes
// twice as one, with a comma between its values (RFC 9110, section 5.3), and two of them are then one key.
func validKey(key string) bool {
	n := utf8.RuneCountInString(key)
	return 1 <= n && n <= 128 && utf8.ValidString(key)
}

// idempotency is what the store needs to recognise a repeat of the call with that body.
func (k *Keyed) idempotency(body any) (conversation.Idempotency, error) {
	if k.Key == "" {
		return conversation.Idempotency{}, nil
	}
	hash, err := hashOf(body)
	return conversation.Idempotency{Scope: k.scope, Key: k.Key, BodyHash: hash}, err
}

// created is the answer of an operation that creates.
type created[T any] struct {
	Replayed string `header:"Idempotency-Replayed" enum:"true" doc:"true where an earlier call with the same key had created it."`
	Location string `header:"Location" doc:"Where it is."`
	Body     T
}

// noted is the answer of an operation that creates what has no path of its own.
type noted[T any] struct {
	Replayed string `header:"Idempotency-Replayed" enum:"true" doc:"true where an earlier call with the same key had created it."`
	Body     T
}

func newCreated[T any](body T, location string, replayed bool) *created[T] {
	return &created[T]{Body: body, Location: location, Replayed: replayedText(replayed)}
}

// replayedText is the Idempotency-Replayed of an answer, none on a call's first.
func replayedText(replayed bool) string {
	if replayed {
		return "true"
	}
	return ""
}

// pathOf joins escaped segments to the path of a record.
func pathOf(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		escaped[i] = url.PathEscape(segment)
	}
	return "/v1/" + strings.Join(escaped, "/")
}

// empty is an output without a body.
type empty struct{}

// noContent is the status of a DELETE.
const noContent = http.StatusNoContent
