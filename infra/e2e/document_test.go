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

// TestDocuments stores documents through the gateway, which decodes paths, and reads them back, alone and in lists.
// Erasing the user deletes them.
func TestDocuments(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	const value = `{"b":1.50,"a":{"text":"a long walk"},"stars":4}`
	if d := putDocument(t, api, "users/ann/#1", "née 100%", `{"value":`+value+`}`); d.Namespace != "users/ann/#1" ||
		d.Key != "née 100%" || string(d.Value) != value {
		t.Errorf("put: %+v", d)
	}
	putDocument(t, api, "users", "k", `{"value":{"stars":2}}`)
	var read storedDocument
	do(t, api, http.MethodGet, documentPath("users/ann/#1", "née 100%"), nil, &read)
	if string(read.Value) != value {
		t.Errorf("read: %+v", read)
	}
	if found := listDocuments(t, api, "?namespace=users&filter="+url.QueryEscape(`{"stars":{"$gt":3}}`)); len(found) != 1 {
		t.Errorf("listed: %+v", found)
	}
	var namespaces struct{ Items [][]string }
	do(t, api, http.MethodGet, "/v1/document-namespaces?maxDepth=2", nil, &namespaces)
	if len(namespaces.Items) != 2 {
		t.Errorf("namespaces: %v", namespaces.Items)
	}
	do(t, api, http.MethodDelete, documentPath("users", "k"), nil, nil)
	var receipt struct{ Counts map[string]int }
	do(t, api, http.MethodDelete, "/v1/user", nil, &receipt)
	if receipt.Counts["document"] != 1 || len(listDocuments(t, api, "")) > 0 {
		t.Errorf("erased: %+v", receipt)
	}
}

// TestDocumentsAreFound searches documents, alone and among all that is known.
func TestDocumentsAreFound(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	putDocument(t, api, "notes", "knee", `{"value":{"text":"The left knee hurts when squatting deep."}}`)
	putDocument(t, api, "notes", "bread", `{"value":{"text":"A recipe for rye bread."}}`)
	putDocument(t, api, "notes", "hidden", `{"value":{"text":"The knee hurts."},"index":[]}`)
	if found := listDocuments(t, api, "?namespace=notes&query=knee"); len(found) != 2 || found[0].Key != "knee" ||
		found[0].Score <= found[1].Score {
		t.Errorf("found at once: %+v", found)
	}
	settle(t)
	var all struct {
		Items []struct{ Kind, Key string }
	}
	do(t, api, http.MethodPost, "/v1/search", map[string]any{"query": "what hurts my knee when squatting?"}, &all)
	if len(all.Items) == 0 || all.Items[0].Kind != "document" || all.Items[0].Key != "knee" {
		t.Errorf("found among all: %+v", all)
	}
}
