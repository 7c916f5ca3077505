package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// DocumentStore keeps the documents of users.
type DocumentStore interface {
	document.Writer
	document.Reader
}

// jsonObject is a JSON object that is kept as it was sent.
type jsonObject struct{ json.RawMessage }

// Schema accepts any object.
func (jsonObject) Schema(r huma.Registry) *huma.Schema {
	s := object(nil).Schema(r) // which also registers the schema of its values
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: s.AdditionalProperties,
		Description: fmt.Sprintf("Any JSON object of at most %d KiB. It comes back with its names, its order and its "+
			"numbers as they were sent.", document.MaxValueBytes>>10),
	}
}

// documentPath is a path into a value.
type documentPath string

// Schema limits the length.
func (documentPath) Schema(huma.Registry) *huma.Schema { return textSchema(document.MaxPathChars + 2) }

// labelPattern matches a label. It is in extensions, because compiling repeated classes takes start-up time, and the
// domain has better messages.
const labelPattern = `[^/\u0000-\u001f\u007f-\u009f]{1,64}`

// namespaceText is a namespace as its labels joined by slashes.
type namespaceText string

// Schema has the rule of document.ParseNamespace.
func (namespaceText) Schema(huma.Registry) *huma.Schema {
	longest := document.MaxLabels*(document.MaxLabelChars+1) - 1
	return &huma.Schema{
		Type: huma.TypeString, MaxLength: &longest,
		Extensions: map[string]any{"minLength": 1, "pattern": `^` + labelPattern + `(/` + labelPattern + `){0,7}$`},
		Examples:   []any{"users/ann/notes"},
	}
}

// documentKeyText is the key of a document.
type documentKeyText string

// Schema has the rule of document.CheckKey.
func (documentKeyText) Schema(huma.Registry) *huma.Schema {
	longest := document.MaxKeyChars
	return &huma.Schema{
		Type: huma.TypeString, MaxLength: &longest,
		Extensions: map[string]any{"minLength": 1, "pattern": `^[^/\u0000-\u001f\u007f-\u009f]+$`},
		Examples:   []any{"note-1"},
	}
}

// Document is a document as the API shows it.
type Document struct {
	Namespace string          `json:"namespace" doc:"Its labels, joined by slashes."`
	Key       string          `json:"key" doc:"Its name within the namespace."`
	Value     jsonObject      `json:"value" from:"-"`
	Index     *[]documentPath `json:"index,omitempty" doc:"What a search finds it by. Absent for the whole value."`
	CreatedAt timestamp       `json:"createdAt" doc:"When it was first put."`
	UpdatedAt timestamp       `json:"updatedAt" doc:"When it was last put."`
	ExpiresAt *timestamp      `json:"expiresAt,omitempty" doc:"When it is gone. Absent for never."`
}

func (d *Document) complete(of document.Document) { d.Value = jsonObject{of.Value} }

type newDocument struct {
	Value      jsonObject      `json:"value" from:"-"`
	Index      *[]documentPath `json:"index,omitempty" maxItems:"32" doc:"Paths such as notes[*].text, or $. Default: $."`
	TTLSeconds *int            `json:"ttlSeconds,omitempty" from:"-" minimum:"1" maximum:"315360000" doc:"It is gone then."`
}

// DocumentPath is the path of one document.
type DocumentPath struct {
	Namespace namespaceText   `path:"namespace" doc:"The labels, joined by slashes and percent-encoded: users%2Fann."`
	Key       documentKeyText `path:"key" doc:"The key, percent-encoded."`
}

type (
	putDocumentInput struct {
		DocumentPath
		Body newDocument
	}
	namespacesInput struct {
		ListInput
		Prefix   namespaceText `query:"prefix" doc:"The first labels; * is any label."`
		Suffix   namespaceText `query:"suffix" doc:"The last labels; * is any label."`
		MaxDepth int           `query:"maxDepth" minimum:"1" maximum:"8" doc:"Cut to so many labels, each once."`
	}
)

// documents serves single documents and the list of namespaces.
type documents struct {
	*server
	store DocumentStore
}

const documentTag = "Documents"

const documentDetail = "Documents are the app's data and no part of a conversation: prompts do not have them, and " +
	"preferences about memory and contexts do not hide them. "

func (s documents) register() {
	const path = "/v1/documents/{namespace}/{key}"
	register(s.server, op("PUT "+path, "putDocument", documentTag, "Create or replace a document",
		documentDetail+"A new document is 201, one that replaces another is 200 and keeps its createdAt. The "+
			"last put wins. index says what a search finds it by; an empty list is nothing. Paths are names joined by dots, "+
			"with [0], [-1] or [*] after the name of a list, and * for every field.",
	).or(http.StatusRequestEntityTooLarge).responds(
		bodyOf[Document](http.StatusOK), bodyOf[Document](http.StatusCreated)), s.put)
	registerDoc(s.server, op("GET "+path, "getDocument", documentTag, "Get a document"), s.get)
	registerDone(s.server, op("DELETE "+path, "deleteDocument", documentTag, "Delete a document"), s.delete)
	registerDoc(s.server, op("GET /v1/document-namespaces", "listDocumentNamespaces", documentTag,
		"List the namespaces of documents",
		"Each that has a document, as the list of its labels. With maxDepth they are cut to so many labels. A page "+
			"may be short, with a nextCursor. It counts as ten requests.",
	), s.namespaces)
}

// place returns the place in a path, or NotFound for one that no document can have.
func (p DocumentPath) place() (document.Namespace, string, error) {
	n, err := document.ParseNamespace("namespace", string(p.Namespace))
	if err != nil || document.CheckKey(string(p.Key)) != nil {
		return nil, "", fault.Missing("document")
	}
	return n, string(p.Key), nil
}

func (s documents) put(ctx context.Context, c Caller, in *putDocumentInput) (*varied, error) {
	n, err := document.ParseNamespace("namespace", string(in.Namespace))
	if err != nil {
		return nil, err
	}
	if err := c.checkNames(n[0]); err != nil {
		return nil, err
	}
	put := filled[document.Put](in.Body)
	put.Namespace, put.Key = n, string(in.Key)
	var sent struct{ Value json.RawMessage }
	body, _ := ctx.Value(sentBodyKey{}).([]byte)
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, fault.Wrap(fault.Internal, "read value", err)
	}
	put.Value = sent.Value
	if in.Body.TTLSeconds != nil {
		put.TTL = time.Duration(*in.Body.TTLSeconds) * time.Second
	}
	d, err := put.Document(s.storedNow())
	if err != nil {
		return nil, err
	}
	if err := s.charge(ctx, c, max(d.Vectors*vector.MaxTextChars-len(d.Value), 0)/bytesPerWeight); err != nil {
		return nil, err
	}
	stored, isNew, err := s.store.PutDocument(ctx, c.User, d)
	if err != nil {
		return nil, err
	}
	out := &varied{Status: http.StatusOK, Body: shown[Document](stored)}
	if isNew {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (s documents) get(ctx context.Context, c Caller, in *DocumentPath) (Document, error) {
	n, key, err := in.place()
	if err != nil {
		return Document{}, err
	}
	return show[Document](s.store.Document(ctx, c.User, n, key))
}

func (s documents) delete(ctx context.Context, c Caller, in *DocumentPath) error {
	n, key, err := in.place()
	if err != nil {
		return err
	}
	if err := c.checkNames(n[0]); err != nil {
		return err
	}
	return s.store.DeleteDocument(ctx, c.User, n, key)
}

// namespacesWeight is how many requests a page of namespaces counts as. It makes up to a hundred queries of one record.
const namespacesWeight = 10

func (s documents) namespaces(
	ctx context.Context, c Caller, in *namespacesInput,
) (list[document.Namespace], error) {
	if err := s.charge(ctx, c, namespacesWeight-1); err != nil {
		return list[document.Namespace]{}, err
	}
	return listed(s.server, c, in.ListInput, false, asIs,
		func(page conversation.Page) (_ []document.Namespace, _ conversation.Position, err error) {
			q := document.NamespaceQuery{MaxDepth: in.MaxDepth}
			if q.Prefix, err = optionalNamespace("prefix", in.Prefix); err != nil {
				return nil, "", err
			}
			if q.Suffix, err = optionalNamespace("suffix", in.Suffix); err != nil {
				return nil, "", err
			}
			return s.store.Namespaces(ctx, c.User, q, page)
		})
}

// optionalNamespace parses a query parameter. Without it the namespace is empty.
func optionalNamespace(field string, text namespaceText) (document.Namespace, error) {
	if text == "" {
		return nil, nil
	}
	return document.ParseNamespace(field, string(text))
}
