package httpapi

import (
	"context"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// The scopes of a token (api 1). A caller with either may read and write the token's user's own data; what only the
// app itself may do needs ScopeApp.
const (
	ScopeUser = "throughline/user"
	ScopeApp  = "throughline/app"
)

// Caller is who a request comes from: the token's sub and scopes. It travels in the context as far as the handlers of
// this package; the domain takes the user as an argument.
type Caller struct {
	User   conversation.UserID
	Scopes []string
}

// app reports whether the caller may act as the app.
func (c Caller) app() bool { return slices.Contains(c.Scopes, ScopeApp) }

// known reports whether the caller holds any scope of the API.
func (c Caller) known() bool { return c.app() || slices.Contains(c.Scopes, ScopeUser) }

// allow returns a Forbidden error unless the caller may use an operation that needs the scope.
func (c Caller) allow(scope string) error {
	switch {
	case scope == ScopeApp && !c.app():
		return fault.Newf(fault.Forbidden, "this needs the scope %s", ScopeApp)
	case !c.known():
		return fault.Newf(fault.Forbidden, "this needs the scope %s or %s", ScopeUser, ScopeApp)
	}
	return nil
}

type callerKey struct{}

// withCaller notes who a request comes from: a Caller, or an authorizer's claims.
func withCaller[C Caller | map[string]string](ctx context.Context, c C) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerOf returns the caller that the transport found, and an Unauthorized error where it found none.
func callerOf(ctx context.Context) (Caller, error) {
	switch c := ctx.Value(callerKey{}).(type) {
	case Caller:
		return c, nil
	case map[string]string:
		return callerFromClaims(c)
	}
	return Caller{}, errNoToken
}

// callerFromClaims reads the claims as API Gateway hands them over: every value is text, and a list is written as
// "[a b]".
func callerFromClaims(claims map[string]string) (Caller, error) {
	user := conversation.UserID(claims["sub"])
	if user.Validate() != nil {
		return Caller{}, fault.New(fault.Unauthorized, "the token's sub is not 1 to 128 printable characters")
	}
	scopes := claims["scope"]
	if scopes == "" {
		scopes = claims["scp"]
	}
	return Caller{User: user, Scopes: strings.Fields(strings.Trim(scopes, "[]"))}, nil
}
