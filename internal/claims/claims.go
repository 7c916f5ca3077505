// Package claims reads from a token's claims who it speaks for. Both entrances use it: the function URL, whose check of
// signature, issuer, audience and times is in package auth, and the HTTP API, whose authorizer does the same. So a
// token means the same at both.
package claims

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/strictjson"
)

// The scopes of a token. A caller with ScopeUser or ScopeApp may read and write the data of the token's user.
// Operations that only the app itself may call need ScopeApp. A token with ScopeOnBehalf is a server's. It has no user
// of its own: each request names one, for whom the token's other scopes hold.
const (
	ScopeUser     = "throughline/user"
	ScopeApp      = "throughline/app"
	ScopeOnBehalf = "throughline/on-behalf"
)

// Claims are the claims that say who a token speaks for.
type Claims struct {
	// Subject is sub. User checks it.
	Subject string
	// Scopes are those of scope or, where that has none, of scp. Amazon Cognito and Auth0 write scope as one text with
	// spaces between the scopes, as RFC 8693 has it. Okta writes scp as a list, and other providers scope.
	Scopes []string
}

// names are the names of the claims that are read, here or in package auth.
var names = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "client_id", "scope", "scp"}

// Parse reads the payload of a token. It takes claims by their exact names (RFC 7519, section 4). It refuses repeated
// names, texts that are not UTF-8, half surrogates, and names that differ from those of claims in case only, because
// another reader could take them for the claims.
func Parse(payload []byte) (Claims, error) {
	if err := strictjson.Check(payload); err != nil {
		return Claims{}, err
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(payload, &named); err != nil {
		return Claims{}, err
	}
	for name := range named {
		for _, known := range names {
			if name != known && strings.EqualFold(name, known) {
				return Claims{}, fmt.Errorf("parse claims: %q is not %q", name, known)
			}
		}
	}
	var read struct {
		Sub   string `json:"sub"`
		Scope scopes `json:"scope"`
		Scp   scopes `json:"scp"`
	}
	if err := json.Unmarshal(payload, &read); err != nil {
		return Claims{}, err
	}
	if len(read.Scope) == 0 {
		read.Scope = read.Scp
	}
	return Claims{Subject: read.Sub, Scopes: read.Scope}, nil
}

// OfToken reads the payload of a token whose signature, issuer, audience and times have been checked. It returns an
// Unauthorized error for a token that Parse refuses.
func OfToken(token string) (Claims, error) {
	malformed := fault.New(fault.Unauthorized, "the token is malformed")
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Claims{}, malformed
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Claims{}, malformed
	}
	c, err := Parse(payload)
	if err != nil {
		return Claims{}, malformed
	}
	return c, nil
}

// User returns the user of the token, or an Unauthorized error where the subject is not a user's id.
func (c Claims) User() (conversation.UserID, error) {
	user := conversation.UserID(c.Subject)
	if user.Validate() != nil {
		return "", fault.New(fault.Unauthorized, "the token's sub is not 1 to 128 printable characters")
	}
	return user, nil
}

// scopes are written as one text with spaces between them, or as a list.
type scopes []string

// UnmarshalJSON reads both forms. Nothing but a space ends a scope (RFC 6749, section 3.3).
func (s *scopes) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*s = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' })
		return nil
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		*s = list
		return nil
	}
	return errors.New("parse scopes: neither text nor a list of texts")
}
