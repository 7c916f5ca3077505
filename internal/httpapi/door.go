package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Door gives a handler of another protocol what every operation of this package has: request ids, the access log, the
// recovery from panics, the security headers, and the checks of who calls. It checks tokens itself, as Coach does.
type Door struct {
	server   *server
	verifier Verifier
}

// NewDoor returns a door.
func NewDoor(b Base, v Verifier) *Door { return &Door{newServer(b), v} }

// Handler returns a handler that prepares requests for next. Admit needs the response writer that next gets.
func (d *Door) Handler(next http.Handler) http.Handler { return d.server.instrument(next) }

// Admit returns the caller of a request, and counts the request. route is what the access log calls it.
//
// Errors: Unauthorized without a valid token, Unavailable if the issuer's keys could not be fetched, RateLimited, and
// Forbidden and Invalid as for the operations of this package.
func (d *Door) Admit(w http.ResponseWriter, r *http.Request, route string) (Caller, error) {
	if sw, ok := w.(*statusWriter); ok {
		sw.route = route
	}
	user, scopes, err := d.server.verify(d.verifier, r)
	if err != nil {
		return Caller{}, err
	}
	caller, err := newCaller(r.Header, user, scopes)
	return caller, d.server.admitted(w, r, caller, err, ScopeUser)
}

// ChargeForgetting counts what the deletion of a memory weighs beside its request.
func (d *Door) ChargeForgetting(ctx context.Context, user conversation.UserID) error {
	return d.server.charge(ctx, Caller{User: user}, forgetWeight-1)
}

// WriteRefusal answers with the problem of an error of Admit. The challenge of a missing, a wrong or an insufficient
// token has the parameters as well, such as resource_metadata="…" (RFC 9728, section 5.1).
func WriteRefusal(w http.ResponseWriter, err error, parameters string) {
	p := problemOf(err)
	header := p.GetHeaders()
	switch {
	case p.Status == http.StatusUnauthorized:
		header.Set("WWW-Authenticate", p.challenge()+", "+parameters)
	case errors.Is(err, errNoScope): // RFC 6750, section 3.1
		header.Set("WWW-Authenticate", `Bearer realm="throughline", error="insufficient_scope", `+parameters)
	}
	writeProblem(w, p, header)
}

// errNoScope is the error of a token that has none of the scopes of a user's data.
var errNoScope = fault.Newf(fault.Forbidden, "this needs the scope %s or %s", ScopeUser, ScopeApp)
