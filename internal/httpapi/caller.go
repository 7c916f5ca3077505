package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/claims"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// The scopes of a token, as package claims has them.
const (
	ScopeUser     = claims.ScopeUser
	ScopeApp      = claims.ScopeApp
	ScopeOnBehalf = claims.ScopeOnBehalf
)

// UserHeader is the header in which a server names the user for whom it calls, percent-encoded.
const UserHeader = "Throughline-User"

// Caller is who a request comes from: the token's user and scopes. The context carries it to the handlers of this
// package. The domain takes the user as an argument instead.
type Caller struct {
	User   conversation.UserID
	Scopes []string
	// Server is the sub of the server's token that acts for the user. It is empty for a user's own token.
	Server string
}

// newCaller returns the caller of a request whose token has been checked. The subject is the token's sub.
//
// Errors: Forbidden for a request that names a user with a token that may not, or from a page of a browser, because a
// server's credential must never be there. Invalid, with the header as its field, for a server's token without a user.
func newCaller(h http.Header, subject conversation.UserID, scopes []string) (Caller, error) {
	named := h.Values(UserHeader)
	if !slices.Contains(scopes, ScopeOnBehalf) {
		if len(named) > 0 {
			return Caller{}, fault.Newf(fault.Forbidden, "%s needs the scope %s", UserHeader, ScopeOnBehalf)
		}
		if strings.HasPrefix(string(subject), conversation.AppPrefix) {
			return Caller{}, fault.Newf(fault.Forbidden, "no user has an id that begins with %s", conversation.AppPrefix)
		}
		return Caller{User: subject, Scopes: scopes}, nil
	}
	if h.Get("Origin") != "" {
		return Caller{}, fault.New(fault.Forbidden, "a page of a browser may not act on behalf of users")
	}
	if len(named) != 1 {
		return Caller{}, fault.InvalidField(UserHeader,
			"is needed once: this token is a server's, and the header names the user")
	}
	user, ok := userOf(named[0])
	if !ok {
		return Caller{}, fault.InvalidField(UserHeader,
			"must be 1 to 128 printable characters, percent-encoded, without a blank at either end")
	}
	c := Caller{User: user, Scopes: scopes, Server: string(subject)}
	return c, c.checkNames(string(user))
}

// userOf returns the user that a header names, percent-encoded. Letters outside ASCII have to be encoded, because
// clients and gateways read their bytes in different ways. So has a comma, because gateways join repeated headers.
func userOf(header string) (conversation.UserID, bool) {
	if strings.ContainsFunc(header, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' }) {
		return "", false
	}
	text, err := url.PathUnescape(header)
	user := conversation.UserID(text)
	return user, err == nil && user.Validate() == nil
}

// checkNames returns a Forbidden error if one of the names is the app's own and the caller is not the app.
func (c Caller) checkNames(names ...string) error {
	for _, name := range names {
		if strings.HasPrefix(name, conversation.AppPrefix) && !c.isApp() {
			return fault.Newf(fault.Forbidden, "names that begin with %s need the scope %s", conversation.AppPrefix, ScopeApp)
		}
	}
	return nil
}

// isApp reports whether the caller may act as the app.
func (c Caller) isApp() bool { return slices.Contains(c.Scopes, ScopeApp) }

// ofApp is a body with fields that only the app sets. appField returns the name of one that is set, or "".
type ofApp interface{ appField() string }

// checkFields returns a Forbidden error for a body with a field of the app, unless the caller is the app.
func (c Caller) checkFields(body any) error {
	if b, ok := body.(ofApp); ok && !c.isApp() && b.appField() != "" {
		return fault.Newf(fault.Forbidden, "%s needs the scope %s", b.appField(), ScopeApp)
	}
	return nil
}

// checkScope returns a Forbidden error unless the caller may use an operation that needs the scope.
func (c Caller) checkScope(scope string) error {
	switch {
	case c.isApp():
		return nil
	case scope == ScopeApp:
		return fault.Newf(fault.Forbidden, "this needs the scope %s", ScopeApp)
	case !slices.Contains(c.Scopes, ScopeUser):
		return errNoScope
	}
	return nil
}

type callerKey struct{}

// authorization is who a request comes from, or why that is not known.
type authorization struct {
	caller Caller
	err    error
}

// withCaller returns a context that carries who a request comes from, or the error that callerOf returns.
func withCaller(ctx context.Context, c Caller, err error) context.Context {
	return context.WithValue(ctx, callerKey{}, authorization{c, err})
}

// callerOf returns the caller that the context carries, or an Unauthorized error.
func callerOf(ctx context.Context) (Caller, error) {
	if a, ok := ctx.Value(callerKey{}).(authorization); ok {
		return a.caller, a.err
	}
	return Caller{}, errNoToken
}

// checkedCaller returns the caller of a request whose token the authorizer of an HTTP API has checked. It reads the
// token itself. The authorizer passes every claim as text, and a list as "[a b]". A scope in brackets looks the same
// there, and repeated names and half surrogates are lost. The subject is that of the authorizer's claims. A token of
// another one is refused.
func checkedCaller(r *http.Request, subject string) (Caller, error) {
	token, err := BearerToken(r)
	if err != nil {
		return Caller{}, err
	}
	c, err := claims.OfToken(token)
	if err != nil {
		return Caller{}, err
	}
	user, err := c.User()
	if err != nil {
		return Caller{}, err
	}
	if c.Subject != subject {
		return Caller{}, fault.New(fault.Unauthorized, "the token is not the one that was checked")
	}
	return newCaller(r.Header, user, c.Scopes)
}

// Verifier checks a bearer token and returns its user and scopes. It returns an Unauthorized error for a token that is
// not valid, and Unavailable if the issuer's keys could not be fetched.
type Verifier interface {
	Verify(ctx context.Context, token string) (user conversation.UserID, scopes []string, err error)
}

// authenticate checks the token of every request that it passes on.
func (s *server) authenticate(v Verifier, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, scopes, err := s.verify(v, r)
		if err != nil {
			WriteProblem(w, err)
			return
		}
		caller, err := newCaller(r.Header, user, scopes)
		next.ServeHTTP(w, r.WithContext(withCaller(r.Context(), caller, err)))
	})
}

// verify checks the token of a request.
func (s *server) verify(v Verifier, r *http.Request) (conversation.UserID, []string, error) {
	token, err := BearerToken(r)
	if err != nil {
		return "", nil, err
	}
	user, scopes, err := v.Verify(r.Context(), token)
	if err != nil {
		return "", nil, s.reported(r.Context(), "verify token", err)
	}
	return user, scopes, nil
}

// errNoToken is the error of a request without a bearer token. Its challenge has no error code, unlike the challenge
// for an invalid token (RFC 6750, section 3.1).
var errNoToken = fault.New(fault.Unauthorized, "a bearer token is needed")

// BearerToken returns the token of the Authorization header. It returns an Unauthorized error if the header is absent,
// has another scheme, or has no token.
func BearerToken(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errNoToken
	}
	return token, nil
}
