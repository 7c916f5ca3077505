package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxConfiguration is the largest configuration of an issuer that is read, in bytes. Real ones have a few thousand.
const maxConfiguration = 256 << 10

// Discover returns the URL of an issuer's keys, from the issuer's configuration (OpenID Connect Discovery 1.0, section
// 4), which is where the JWT authorizer of API Gateway looks, too. It returns an error with the mend if there is no
// configuration, or if it is not the issuer's own.
func Discover(ctx context.Context, client *http.Client, issuer string) (string, error) {
	// The issuer's trailing slash is removed before the path is appended (section 4.1).
	url := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("read the issuer's configuration: %w", err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("read the issuer's configuration: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read the issuer's configuration: %s answers %d",
			url, answer.StatusCode)
	}
	var configuration struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxConfiguration)).Decode(&configuration); err != nil {
		return "", fmt.Errorf("read the issuer's configuration at %s: %w", url, err)
	}
	return configuration.JWKSURI, checkConfiguration(issuer, configuration.Issuer, configuration.JWKSURI)
}

// checkConfiguration checks that a configuration is of the issuer (section 4.3) and names keys that nobody on the way
// can replace. Only an issuer without TLS, as on a developer's machine, may have its keys without.
func checkConfiguration(issuer, named, keys string) error {
	if named != issuer {
		return fmt.Errorf("the configuration of the issuer %s is of the issuer %q: JwtIssuer must be that one exactly",
			issuer, named)
	}
	if !strings.HasPrefix(keys, "https://") && (keys == "" || strings.HasPrefix(issuer, "https://")) {
		return fmt.Errorf("the configuration of the issuer %s names no keys by https (jwks_uri is %q)", issuer, keys)
	}
	return nil
}
