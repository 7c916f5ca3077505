package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/throughline/throughline/internal/fault"
)

// Version is the version of the API in the document.
const Version = "1.0.0"

const about = `One memory for every AI surface of an app. Every message is stored once. Each conversation is summarised
when it goes quiet. Facts and promises are remembered. Each model call's prompt is built from all of it, within a token
budget.

Every request has a JWT whose sub is the user; no field or path names a user. A server's token has the scope
throughline/on-behalf and no user: each request names one in the header Throughline-User, and the token's other scopes
hold for that user. With any other token the header is forbidden. Bodies are JSON in UTF-8 with names in
camelCase. Times are RFC 3339 in UTC with milliseconds, from 0001-01-01T00:00:00.001Z to 9999-12-31T23:59:59.999Z.
Unknown fields and query parameters, repeated names in one object, and bytes or escapes that are not UTF-8 are errors.
An optional field that is null counts as absent, unless its description says otherwise. A body has at most 3 MiB.

Errors are application/problem+json (RFC 9457) with a code: invalid, unauthorized, forbidden, not_found,
method_not_allowed, conflict, too_large, idempotency_mismatch, rate_limited, unavailable, internal. The records of
another user are not_found. A body that is not application/json is 415.

A list is a page of items and a nextCursor, which is bound to its user, path and query. An Idempotency-Key makes a POST
repeatable for 24 hours: a repeat gets the first answer, with Idempotency-Replayed: true, even if the record was changed
or deleted since. The session in the answer to a repeated append is as it is now. X-Request-Id is echoed, or generated.`

// openAPIDocument returns the OpenAPI document of the operations of all functions.
func openAPIDocument() *huma.OpenAPI {
	s := newServer(Base{Log: slog.New(slog.DiscardHandler)})
	s.document = humago.New(s.mux, humaConfig())
	registerMessages(s, MessagesDeps{})
	contexts{s, nil}.register()
	documentLists{s, nil, nil}.register()
	prompts{s, nil}.register()
	registerCoach(s, CoachDeps{})
	doc := s.document.OpenAPI()
	doc.Info = &huma.Info{Title: "Throughline", Version: Version, Description: about}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {
			Type: "http", Scheme: "bearer", BearerFormat: "JWT",
			Description: "A user's token with the scope " + ScopeUser + " or " + ScopeApp + ", or a server's with " +
				ScopeOnBehalf + " beside them and the header " + UserHeader + ".",
		},
	}
	doc.Servers = []*huma.Server{{URL: "/", Description: "The address that serves this document."}}
	describeFeatures(doc)
	removeUnused(doc)
	describeRecords(doc)
	return doc
}

// describeFeatures corrects the schema of features, which are a list in the code and an object in JSON, of the values
// of parts, which are any JSON, and of the formats of providers.
func describeFeatures(doc *huma.OpenAPI) {
	describeProviders(doc.Components.Schemas.Map())
	for _, part := range []string{"Part", "UiPart"} {
		values := doc.Components.Schemas.Map()[part].Properties
		for _, name := range []string{"input", "output", "data"} {
			values[name] = &huma.Schema{Ref: "#/components/schemas/Value", Description: values[name].Description}
		}
	}
	for _, item := range []string{"PromptItem", "FoundRecord"} {
		doc.Components.Schemas.Map()[item].Properties["features"] = &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeNumber, Format: "double"},
			Description: "The parts of the score by name. With the intercept they add up to the logarithm of its odds.",
		}
	}
}

// removeUnused removes the schemas that nothing refers to: huma's own error model, and schemas that allowNulls copied.
func removeUnused(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	for removed := true; removed; {
		removed = false
		text, err := json.Marshal(doc)
		if err != nil {
			return // registerPages reports the error
		}
		for name := range schemas {
			if !bytes.Contains(text, []byte(`"#/components/schemas/`+name+`"`)) {
				delete(schemas, name)
				removed = true
			}
		}
	}
}

// once keeps what is rendered at its first request, to keep the start of the function fast. The function that renders
// is named where the page is served, because a variable that names it would link the operations of all functions into
// the program of each.
type once[T any] struct {
	sync.Once
	value T
	err   error
}

func (o *once[T]) get(render func() (T, error)) (T, error) {
	o.Do(func() { o.value, o.err = render() })
	return o.value, o.err
}

// openAPIText and renderedDocs are the two pages. A process has one app, so that they are the same for all its servers.
var (
	openAPIText  once[[]byte]
	renderedDocs once[docsPage]
)

// registerPages adds the two pages that need no token.
func (s *server) registerPages() {
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		text, err := openAPIText.get(func() ([]byte, error) { return json.Marshal(openAPIDocument()) })
		s.servePage(w, r, "application/json", "", text, err)
	})
	s.mux.HandleFunc("GET /docs", func(w http.ResponseWriter, r *http.Request) {
		page, err := renderedDocs.get(func() (docsPage, error) { return renderDocs(openAPIDocument()) })
		s.servePage(w, r, "text/html; charset=utf-8", page.policy, page.html, err)
	})
}

// methods is the order of the operations of one path.
var methods = []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}

// operations returns a document's operations, sorted by path and method.
func operations(doc *huma.OpenAPI) []*huma.Operation {
	var all []*huma.Operation
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				all = append(all, op)
			}
		}
	}
	slices.SortFunc(all, func(a, b *huma.Operation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), slices.Index(methods, a.Method)-slices.Index(methods, b.Method))
	})
	return all
}

func (s *server) servePage(w http.ResponseWriter, r *http.Request, contentType, policy string, body []byte, err error) {
	if err != nil {
		WriteProblem(w, s.report(r.Context(), r.Pattern, fault.Wrap(fault.Internal, "render page", err)))
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "public, max-age=300")
	if policy != "" {
		h.Set("Content-Security-Policy", policy)
	}
	// An error here means that the client is gone.
	_, _ = w.Write(body)
}
