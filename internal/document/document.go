// Package document holds an app's small JSON documents: values by namespace and key, with filters over their fields, a
// time to live, and the texts by which a search finds them. Documents are the app's data. They are no part of a
// conversation: prompts do not have them, and the preferences about memory and contexts do not apply to them.
package document

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// The limits of a document. MaxValueBytes counts a value as JSON without white space between its tokens.
const (
	MaxLabels     = 8
	MaxLabelChars = 64
	MaxKeyChars   = 512
	MaxValueBytes = 256 << 10
	MaxPaths      = 32
	MaxPathChars  = 256
)

// Namespace is the place of a document among others: labels from the outermost to the innermost.
type Namespace []string

// ParseNamespace parses labels that are joined by slashes. The error names the field.
func ParseNamespace(field, text string) (Namespace, error) {
	n := Namespace(strings.Split(text, "/"))
	if len(n) > MaxLabels {
		return nil, fault.InvalidField(field, fmt.Sprintf("must have 1 to %d labels, joined by /", MaxLabels))
	}
	for _, label := range n {
		if !validName(label, MaxLabelChars) {
			return nil, fault.InvalidField(field, fmt.Sprintf(`must have labels of 1 to %d characters, joined by /, `+
				`without control characters, and none may be "." or ".."`, MaxLabelChars))
		}
	}
	return n, nil
}

// String joins the labels by slashes.
func (n Namespace) String() string { return strings.Join(n, "/") }

// CheckKey returns an Invalid error for a text that is no key of a document. A key has no slash, because a gateway
// decodes a path, and the end of the namespace could not be found in it.
func CheckKey(key string) error {
	if !validName(key, MaxKeyChars) || strings.Contains(key, "/") {
		return fault.InvalidField("key", fmt.Sprintf(`must have 1 to %d characters, without / and control characters, `+
			`and not be "." or ".."`, MaxKeyChars))
	}
	return nil
}

// validName reports whether a text can be a label or a key. Clients and servers remove "." and ".." from paths.
func validName(text string, longest int) bool {
	if text == "" || text == "." || text == ".." || !utf8.ValidString(text) {
		return false
	}
	return utf8.RuneCountInString(text) <= longest && strings.IndexFunc(text, unicode.IsControl) < 0
}

// Document is one value with its place.
type Document struct {
	Namespace Namespace
	Key       string `stored:"documentKey"`
	// Value is a JSON object without white space between its tokens, with names, numbers and escapes as they were sent.
	Value json.RawMessage
	// Index are the paths of what a search finds the document by. Nil means all of the value, and an empty list nothing.
	Index []string
	// CreatedAt is when the document was first put, UpdatedAt when it was last put.
	CreatedAt time.Time `stored:"createdAt"`
	UpdatedAt time.Time `stored:"updatedAt"`
	// ExpiresAt is when the document is gone, in whole seconds. Zero means never.
	ExpiresAt time.Time `stored:"expiresAt,seconds"`
	// Vectors is the number of vectors that the document may have in the index, which includes those of former values.
	Vectors int `stored:"vectorCount,omitempty"`
}

// Put is a document as it is sent.
type Put struct {
	Namespace Namespace
	Key       string
	// Value is a JSON object that strictjson.Check has accepted.
	Value json.RawMessage
	Index []string
	// TTL is how long the document stays. Zero means for ever.
	TTL time.Duration
}

// Document returns the document that is put now. Its errors are Invalid with the field, and TooLarge.
func (p Put) Document(now time.Time) (Document, error) {
	if err := CheckKey(p.Key); err != nil {
		return Document{}, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, p.Value); err != nil || compact.Len() == 0 || compact.Bytes()[0] != '{' {
		return Document{}, fault.InvalidField("value", "must be a JSON object")
	}
	if compact.Len() > MaxValueBytes {
		return Document{}, fault.Newf(fault.TooLarge, "the value of a document has at most %d bytes of JSON", MaxValueBytes)
	}
	if err := checkPaths(p.Index); err != nil {
		return Document{}, err
	}
	d := Document{
		Namespace: p.Namespace, Key: p.Key, Value: compact.Bytes(), Index: slices.Clone(p.Index),
		CreatedAt: now, UpdatedAt: now,
	}
	if p.TTL > 0 {
		d.ExpiresAt = now.Add(p.TTL + time.Second - time.Nanosecond).Truncate(time.Second)
	}
	d.Vectors = len(d.Parts())
	return d, nil
}

// Writer writes documents. Its errors are those of the store, and NotFound where there is no document to delete.
type Writer interface {
	// PutDocument stores a document, and reports whether it is new. It replaces the one that has the namespace and the
	// key, whose time of creation stays. Of puts at the same time, one comes last and wins.
	PutDocument(ctx context.Context, user conversation.UserID, d Document) (stored Document, created bool, err error)
	// DeleteDocument deletes a document.
	DeleteDocument(ctx context.Context, user conversation.UserID, n Namespace, key string) error
}

// Lister lists documents.
type Lister interface {
	// Documents returns one page of the documents in a namespace and those below it that pass the filter. An empty
	// namespace is above all. A page can be short, or empty, where much was read that does not pass.
	Documents(
		ctx context.Context, user conversation.UserID, under Namespace, f Filter, page conversation.Page,
	) ([]Document, conversation.Position, error)
}

// Reader reads documents. An expired one is absent for it.
type Reader interface {
	Lister
	// Document returns one document, or a NotFound error.
	Document(ctx context.Context, user conversation.UserID, n Namespace, key string) (Document, error)
	// Namespaces returns one page of the namespaces that have documents. A page can be short, as that of Documents.
	Namespaces(
		ctx context.Context, user conversation.UserID, q NamespaceQuery, page conversation.Page,
	) ([]Namespace, conversation.Position, error)
}
