package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/golang-jwt/jwt/v5"

	"github.com/throughline/throughline/infra/local/problem"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Verifier checks a token's signature, issuer, audience and times, and returns its user and scopes; auth.Verifier is
// one. Its errors are faults.
type Verifier interface {
	Verify(ctx context.Context, token string) (conversation.UserID, []string, error)
}

// errNoToken is the error of a request without a bearer token.
var errNoToken = fault.New(fault.Unauthorized, "a bearer token is needed")

// authorize is the JWT authorizer: it checks the bearer token and hands its claims on. The routes of template.yaml need
// no scopes, so the event names none; the function finds them in the claims.
func (g *Gateway) authorize(r *http.Request) (*events.APIGatewayV2HTTPRequestContextAuthorizerDescription, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, errNoToken
	}
	if _, _, err := g.verifier.Verify(r.Context(), token); err != nil {
		return nil, err
	}
	claims, err := claimsOf(token)
	if err != nil {
		return nil, fault.New(fault.Unauthorized, "the token is malformed")
	}
	return &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims},
	}, nil
}

// refuse answers a request that the authorizer did not let pass. Without a token the challenge names no error.
func refuse(w http.ResponseWriter, err error) {
	switch f := fault.From(err); {
	case errors.Is(err, errNoToken):
		w.Header().Set("WWW-Authenticate", "Bearer")
	case f.Code == fault.Unauthorized:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(
			`Bearer scope="" error="invalid_token" error_description=%q`, f.Message,
		))
	}
	problem.Write(w, err)
}

// claimsOf reads the claims of a token that was verified, as the service hands them over: every value as text.
func claimsOf(token string) (map[string]string, error) {
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser(jwt.WithJSONNumber()).ParseUnverified(token, claims); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(claims))
	for name, value := range claims {
		out[name] = claimText(value)
	}
	return out, nil
}

// claimText writes a list as "[a b]" and an object as JSON.
func claimText(value any) string {
	switch value := value.(type) {
	case []any:
		texts := make([]string, len(value))
		for i, v := range value {
			texts[i] = claimText(v)
		}
		return "[" + strings.Join(texts, " ") + "]"
	case map[string]any:
		raw, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(raw)
	default:
		return fmt.Sprint(value)
	}
}
