package throughline

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// margin is how long before its end a token is no longer used.
const margin = 30 * time.Second

// tokens keeps the token of a source until it is about to expire. Calls that wait for a token share one.
type tokens struct {
	source func(context.Context) (string, error)
	// held is the lock: who has its value may use what is below. A call that waits for it can be cancelled.
	held  chan struct{}
	token string
	ends  time.Time // Zero for a token that does not say when it expires.
}

func newTokens(config Config) *tokens {
	return &tokens{source: config.TokenSource, token: config.Token, held: make(chan struct{}, 1)}
}

func (t *tokens) get(ctx context.Context) (string, error) {
	select {
	case t.held <- struct{}{}:
		defer func() { <-t.held }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.source == nil || t.token != "" && (t.ends.IsZero() || time.Now().Before(t.ends.Add(-margin))) {
		return t.token, nil
	}
	token, err := t.source(ctx)
	if err != nil {
		return "", err
	}
	t.token, t.ends = token, expiry(token)
	return token, nil
}

// drop forgets a token that was refused. It reports whether another can be had.
func (t *tokens) drop(token string) bool {
	t.held <- struct{}{}
	defer func() { <-t.held }()
	if t.source != nil && t.token == token {
		t.token = ""
	}
	return t.source != nil
}

// expiry returns the time at which a JWT expires, or the zero time for a token that does not say.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) < 2 {
		return time.Time{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if err := json.Unmarshal(text, &claims); err != nil || claims.Exp == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(claims.Exp * 1000))
}
