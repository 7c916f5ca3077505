package deploy

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/auth"
)

// issuer says what hinders the check of tokens.
func issuer(ctx context.Context, client *http.Client, s deployment.Stage) []string {
	keys, err := auth.Discover(ctx, client, s.Value("JwtIssuer"))
	if err != nil {
		return []string{"tokens of the issuer cannot be checked: " + err.Error()}
	}
	// The verifier's refresh of the keys ends with the context.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	verifier, err := auth.New(ctx, auth.Config{
		Issuer: s.Value("JwtIssuer"), Audiences: []string{s.Value("JwtAudience")},
		JWKSURL: keys, Client: client,
	})
	if err == nil {
		err = verifier.Warm(ctx)
	}
	if err != nil {
		return []string{"tokens of the issuer cannot be checked: " + err.Error()}
	}
	return nil
}
