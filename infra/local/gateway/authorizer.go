package gateway

import (
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	"github.com/golang-jwt/jwt/v5"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

// authorization is what the authorizer adds to an event.
type authorization = events.APIGatewayV2HTTPRequestContextAuthorizerDescription

// authorize is the JWT authorizer. It checks the bearer token and returns its claims. The routes of template.yaml need
// no scopes, so the event lists none, as in the service. The function reads the scopes from the claims.
func (g *Gateway) authorize(r *http.Request) (*authorization, error) {
	token, err := httpapi.BearerToken(r)
	if err != nil {
		return nil, err
	}
	if _, _, err := g.opts.Verifier.Verify(r.Context(), token); err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser(jwt.WithJSONNumber()).ParseUnverified(token, claims); err != nil {
		return nil, fault.New(fault.Unauthorized, "the token is malformed")
	}
	texts := map[string]string{}
	for name, value := range claims {
		texts[name] = fmt.Sprint(value) // like the service, a list as "[a b]"
	}
	return &authorization{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: texts},
	}, nil
}
