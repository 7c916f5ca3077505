package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
)

// keyHeader makes a POST repeatable.
const keyHeader = "Idempotency-Key"

// Idempotent is part of the input of every operation that creates.
type Idempotent struct {
	Key string `header:"Idempotency-Key" minLength:"1" maxLength:"128" doc:"Repeats get the first answer."`

	scope string
}

// Resolve checks the key and records the method and path that it is bound to.
func (k *Idempotent) Resolve(ctx huma.Context) []error {
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

// validKey reports whether a header's value is a key. A key may contain a comma: API Gateway joins a repeated header
// with commas (RFC 9110, section 5.3), so two keys become one.
func validKey(key string) bool {
	n := utf8.RuneCountInString(key)
	return 1 <= n && n <= 128 && utf8.ValidString(key)
}

// idempotency returns what the store needs to recognise a repeat of the call with that decoded body. Two texts of the
// same value have the same hash.
func (k *Idempotent) idempotency(body any) conversation.Idempotency {
	if k.Key == "" {
		return conversation.Idempotency{}
	}
	text, _ := json.Marshal(body) // what was decoded has a form
	sum := sha256.Sum256(text)
	return conversation.Idempotency{Scope: k.scope, Key: k.Key, BodyHash: hex.EncodeToString(sum[:])}
}

// replayed is the value of Idempotency-Replayed: "true" in the answer to a repeat, absent in the first answer.
type replayed string

// Schema describes the header.
func (replayed) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Enum: []any{"true"},
		Description: "Present if an earlier request with the same Idempotency-Key was answered so.",
	}
}

func newReplayed(isRepeat bool) replayed {
	if isRepeat {
		return "true"
	}
	return ""
}

// created is the output of an operation that creates a record.
type created[T any] struct {
	Replayed replayed `header:"Idempotency-Replayed"`
	Location string   `header:"Location" doc:"The path of the new record."`
	Body     T
}

func newCreated[T any](body T, location string, isRepeat bool) *created[T] {
	return &created[T]{Body: body, Location: location, Replayed: newReplayed(isRepeat)}
}

// createdWithoutPath is the output of an operation that may be repeated with its key and creates no record with a path
// of its own.
type createdWithoutPath[T any] struct {
	Replayed replayed `header:"Idempotency-Replayed"`
	Body     T
}

// pathOf returns the path of a record. It escapes and joins the segments.
func pathOf(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		escaped[i] = url.PathEscape(segment)
	}
	return "/v1/" + strings.Join(escaped, "/")
}
