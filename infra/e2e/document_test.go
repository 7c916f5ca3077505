package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/throughline/throughline/infra/client"
)

// storedDocument is a document as the API answers it.
type storedDocument struct {
	Namespace, Key string
	Value          json.RawMessage
	Score          float64
}

func documentPath(namespace, key string) string {
	return "/v1/documents/" + url.PathEscape(namespace) + "/" + url.PathEscape(key)
}

func putDocument(t *testing.T, api *client.Client, namespace, key, body string) (d storedDocument) {
	t.Helper()
	do(t, api, http.MethodPut, documentPath(namespace, key), json.RawMessage(body), &d)
	return d
}

func listDocuments(t *testing.T, api *client.Client, query string) []storedDocument {
	t.Helper()
	var list struct{ Items []storedDocument }
	do(t, api, http.MethodGet, "/v1/documents"+query, nil, &list)
	return list.Items
}

// TestDocuments reads a document through the gateway, which decodes paths, and searches documents, alone and among all
// that is known.
func TestDocuments(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	const knee = `{"text":"The left knee hurts when squatting deep.","stars":1.50}`
	putDocument(t, api, "notes/ann/#1", "née 100%", `{"value":`+knee+`}`)
	var read storedDocument
	do(t, api, http.MethodGet, documentPath("notes/ann/#1", "née 100%"), nil, &read)
	if string(read.Value) != knee {
		t.Errorf("read: %+v", read)
	}
	putDocument(t, api, "notes", "bread", `{"value":{"text":"A recipe for rye bread."}}`)
	putDocument(t, api, "notes", "hidden", `{"value":{"text":"The knee hurts."},"index":[]}`)
	if found := listDocuments(t, api, "?namespace=notes&query=knee"); len(found) != 2 || found[0].Key != "née 100%" ||
		found[0].Score <= found[1].Score {
		t.Errorf("found at once: %+v", found)
	}
	settle(t)
	var all struct {
		Items []struct{ Kind, Key string }
	}
	do(t, api, http.MethodPost, "/v1/search", map[string]any{"query": "what hurts my knee when squatting?"}, &all)
	if len(all.Items) == 0 || all.Items[0].Kind != "document" || all.Items[0].Key != "née 100%" {
		t.Errorf("found among all: %+v", all)
	}
}
