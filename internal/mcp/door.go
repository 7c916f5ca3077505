package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/throughline/throughline/internal/claims"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/strictjson"
)

const (
	// path is the path of the protocol.
	path = "/mcp"
	// metadataPath is the path of the resource's metadata. A client asks for it with the resource's own path after it
	// first, and then without it (RFC 9728, section 3.1).
	metadataPath = "/.well-known/oauth-protected-resource"
)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case path:
		h.serveProtocol(w, r)
	case metadataPath, metadataPath + path:
		h.serveMetadata(w, r)
	default:
		h.Door.Refuse(w, fault.New(fault.NotFound, "there is nothing at this path"), "")
	}
}

func (h *handler) serveProtocol(w http.ResponseWriter, r *http.Request) {
	if err := h.checkOrigin(r); err != nil {
		h.Door.Refuse(w, err, "")
		return
	}
	caller, err := h.Door.Admit(w, r)
	if err != nil {
		h.Door.Refuse(w, err, challenge(r))
		return
	}
	if err := readBody(w, r); err != nil {
		h.Door.Refuse(w, err, "")
		return
	}
	c := call{Caller: caller}
	c.deadline, _ = r.Context().Deadline()
	h.protocol.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
}

// readBody reads the body of a request, and puts it back. It refuses what the HTTP API refuses: of two equal names, who
// approves a call and the library could read different ones. It refuses a list: the oldest revisions of the protocol
// let one request hold any number of calls, which would count as one.
func readBody(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, isLarge := errors.AsType[*http.MaxBytesError](err); isLarge {
		return fault.Newf(fault.TooLarge, "a request has at most %d KiB", maxBody>>10)
	}
	if err != nil {
		return fault.New(fault.NotJSON, "the body ended early")
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return fault.New(fault.NotJSON, "a request is one JSON-RPC message, not a list")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method != http.MethodPost { // which the library refuses
		return nil
	}
	return strictjson.Check(body)
}

// checkOrigin refuses the pages of origins that are not configured, with whatever token, because a page may reach a
// server that its own origin must not reach (DNS rebinding).
func (h *handler) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(h.Origins, origin) || slices.Contains(h.Origins, "*") {
		return nil
	}
	return fault.New(fault.Forbidden, "pages of this origin may not call: add it to CorsOrigins")
}

// challenge returns the parameters of a challenge: where the metadata is, and what a token needs.
func challenge(r *http.Request) string {
	return fmt.Sprintf("resource_metadata=%q, scope=%q", base(r)+metadataPath+path, claims.ScopeUser)
}

// base returns the URL of the server as the client has called it. The gateway sets both parts of it.
func base(r *http.Request) string {
	scheme := "https"
	if r.Header.Get("X-Forwarded-Proto") == "http" {
		scheme = "http"
	}
	return scheme + "://" + r.Host
}

// serveMetadata answers what tokens the protocol takes (RFC 9728, section 3.2). It needs no token.
func (h *handler) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", strings.Join([]string{http.MethodGet, http.MethodHead}, ", "))
		h.Door.Refuse(w, fault.New(fault.MethodNotAllowed, "this path takes GET and HEAD"), "")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(oauthex.ProtectedResourceMetadata{ // an error means that the client is gone
		Resource: base(r) + path, ResourceName: "Throughline memory", AuthorizationServers: []string{h.Issuer},
		ScopesSupported: []string{claims.ScopeUser, claims.ScopeApp}, BearerMethodsSupported: []string{"header"},
	})
}
