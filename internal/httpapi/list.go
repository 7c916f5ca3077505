package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/recall"
)

// list is a page of a list.
type list[T any] struct {
	Items      []T    `json:"items" doc:"The items of the page, which ends at the limit or at 1 MiB."`
	NextCursor string `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last page."`
}

// ListInput is the input of every list. It is exported because huma finds only the fields of exported embedded types.
// Idempotent and SessionPath are exported for the same reason.
type ListInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The most items to return."`
	Cursor string `query:"cursor" maxLength:"4096" doc:"The nextCursor of the page before, with the same query. Empty is the first page."`

	scope cursorScope
}

// Resolve records what the list's cursors are bound to.
func (in *ListInput) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	in.scope = cursorScope{path: ctx.Method() + " " + u.Path, query: filterQuery(&u)}
	return nil
}

// filterQuery returns the query without the parameters that a client may change from page to page.
func filterQuery(u *url.URL) string {
	query := u.Query()
	query.Del("limit")
	query.Del("cursor")
	return query.Encode()
}

// fetch reads a page of the domain's list.
type fetch[T any] = func(conversation.Page) ([]T, conversation.Position, error)

// of returns the fetch of a user's list.
func of[T any](
	ctx context.Context, user conversation.UserID,
	list func(context.Context, conversation.UserID, conversation.Page) ([]T, conversation.Position, error),
) fetch[T] {
	return func(page conversation.Page) ([]T, conversation.Position, error) { return list(ctx, user, page) }
}

// listed returns the page of a list that a request asks for.
func listed[T, V any](
	s *server, c Caller, in ListInput, descending bool, convert func(T) V, fetch fetch[T],
) (list[V], error) {
	in.scope.user = c.User
	at, err := s.cursors.open(in.scope, in.Cursor)
	if err != nil {
		return list[V]{}, err
	}
	found, next, err := fetch(conversation.Page{Limit: in.Limit, After: at, Descending: descending})
	if err != nil {
		return list[V]{}, err
	}
	return list[V]{Items: converted(found, convert), NextCursor: s.cursors.seal(in.scope, next)}, nil
}

// fitting returns as many of the first items as an answer has room for, at least one.
func fitting[T any](items []T) []T {
	size := 0
	for i, item := range items {
		text, err := json.Marshal(item)
		if err != nil {
			return items // the answer fails with the same error
		}
		if size += len(text); size > maxFound && i > 0 {
			return items[:i]
		}
	}
	return items
}

// fittingFound returns the first of the records that a search has found, and says so if there are more than fit.
func fittingFound[T any](items []T, degraded []recall.Degradation) ([]T, []recall.Degradation) {
	fits := fitting(items)
	if len(fits) < len(items) {
		degraded = append(slices.Clip(degraded), recall.Degradation{Source: "answer", Reason: "too_large"})
	}
	return fits, degraded
}

const (
	// leastRead is how many records are read at once for a page of a filtered list, and maxFilterReads how often.
	leastRead      = 50
	maxFilterReads = 10
)

// filtered returns a page of the records to keep, or of all without keep. The store is asked for more records than the
// page has room for, because few may pass. Where more pass than there is room for, the last records are read again, up
// to the last that fits, so that the store's position is that of the next page.
func filtered[T any](
	page conversation.Page, keep func(T) bool, fetch fetch[T],
) (kept []T, _ conversation.Position, err error) {
	if keep == nil {
		return fetch(page)
	}
	for range maxFilterReads {
		read := page
		read.Limit = max(page.Limit, leastRead)
		found, next, err := fetch(read)
		if err != nil {
			return nil, "", err
		}
		passed, end := passing(found, keep, page.Limit)
		if end < len(found) {
			read.Limit = end
			if found, next, err = fetch(read); err != nil {
				return nil, "", err
			}
			passed, _ = passing(found, keep, page.Limit)
		}
		kept = append(kept, passed...)
		page.After, page.Limit = next, page.Limit-len(passed)
		if next == "" || page.Limit == 0 {
			break
		}
	}
	return kept, page.After, nil
}

// passing returns the records that pass, at most limit, and how many records end with the last of so many.
func passing[T any](found []T, keep func(T) bool, limit int) (passed []T, end int) {
	for i, record := range found {
		if keep(record) {
			passed = append(passed, record)
		}
		if len(passed) == limit {
			return passed, i + 1
		}
	}
	return passed, len(found)
}

// converted returns a list that is never nil, so that it is never written as null.
func converted[T, V any](items []T, convert func(T) V) []V {
	out := make([]V, len(items))
	for i, item := range items {
		out[i] = convert(item)
	}
	return out
}

// asIs converts nothing.
func asIs[T any](item T) T { return item }

// CursorKey signs the cursors of lists. A cursor is valid for the key version that signed it only.
type CursorKey struct {
	version string
	secret  []byte
}

// cursorKeySize is the length of a key's secret in bytes: the length of the hash.
const cursorKeySize = sha256.Size

// ParseCursorKey reads "<version>:<base64 of 32 bytes>". The version has 1 to 16 letters and digits. The error does not
// contain the key.
func ParseCursorKey(text string) (CursorKey, error) {
	version, encoded, _ := strings.Cut(text, ":")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(secret) != cursorKeySize || !conversation.ConsistsOf(version, 16, "") {
		return CursorKey{}, fmt.Errorf("parse cursor key: it is not <version>:<base64 of %d bytes>", cursorKeySize)
	}
	return CursorKey{version: version, secret: secret}, nil
}

// cursorScope is what a cursor is bound to.
type cursorScope struct {
	user conversation.UserID
	// path is the method and the path with its values.
	path string
	// query has the parameters that filter or order the list, without limit and cursor.
	query string
}

// macSize is how many bytes of the HMAC a cursor has.
const macSize = 16

// seal returns the cursor of a position in a list. The cursor of the end of the list is empty.
func (k CursorKey) seal(scope cursorScope, at conversation.Position) string {
	if at == "" {
		return ""
	}
	return k.version + "." + base64.RawURLEncoding.EncodeToString(append(k.mac(scope, at), at...))
}

// open returns the position of a cursor. An empty cursor is the beginning. It returns an Invalid error for a cursor
// that was altered, or made for another user, path or query.
func (k CursorKey) open(scope cursorScope, cursor string) (conversation.Position, error) {
	if cursor == "" {
		return "", nil
	}
	wrong := fault.InvalidField("cursor", "is not a cursor of this list")
	version, encoded, _ := strings.Cut(cursor, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	breaks := strings.ContainsAny(encoded, "\r\n") // the decoder ignores these
	if err != nil || breaks || version != k.version || len(raw) <= macSize {
		return "", wrong
	}
	at := conversation.Position(raw[macSize:])
	if !hmac.Equal(raw[:macSize], k.mac(scope, at)) {
		return "", wrong
	}
	return at, nil
}

// mac signs a position in a list. It writes the length before each part, so that two different lists never sign the
// same bytes.
func (k CursorKey) mac(scope cursorScope, at conversation.Position) []byte {
	h := hmac.New(sha256.New, k.secret)
	for _, part := range []string{k.version, string(scope.user), scope.path, scope.query, string(at)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)[:macSize]
}
