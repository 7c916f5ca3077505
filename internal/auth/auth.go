// Package auth checks bearer tokens for the coach function, which has no gateway in front of it. It checks the RS256
// signature with the issuer's published keys, the issuer, the audience and the times. The rules are those of the JWT
// authorizer of API Gateway ("Control access to HTTP APIs with JWT authorizers"), so that a token which one entrance
// refuses is refused at the other, too. The local stack's gateway uses this package.
package auth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"github.com/throughline/throughline/internal/claims"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Config says which tokens are valid.
type Config struct {
	// Issuer must equal iss. One of Audiences must be in aud or, where a token has no aud, equal client_id, as in the
	// access tokens of Amazon Cognito. The JWT authorizer of API Gateway has the same rule.
	Issuer    string
	Audiences []string
	// JWKSURL is the URL of the issuer's keys. The default is what the issuer's configuration names (Discover).
	JWKSURL string
	// Client fetches the keys. The default is a client with a timeout.
	Client *http.Client
	// Now is the clock. The default is time.Now.
	Now func() time.Time
}

const (
	// leeway is how much the clocks of the issuer and the verifier may differ.
	leeway = 10 * time.Second
	// fetchTimeout bounds one fetch of the keys.
	fetchTimeout = 3 * time.Second
	// refreshInterval is how often the keys are fetched again, so that a withdrawn key stops working.
	refreshInterval = time.Hour
	// unknownKeyInterval is how often an unknown key id may cause a fetch, so that forged tokens cannot flood the
	// issuer with requests.
	unknownKeyInterval = 30 * time.Second
	// maxToken is the largest token that is parsed, in bytes. Real tokens are much smaller.
	maxToken = 16 << 10
)

// Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	parser *jwt.Parser
	issuer string
	// url is the URL of the keys, and empty until it is discovered.
	url    string
	client *http.Client

	mu   sync.Mutex
	keys keyfunc.Keyfunc
	// stop ends the hourly refresh of the keys. ended says that it was called.
	stop  func()
	ended bool
}

// New returns a verifier. The keys are fetched by Warm or with the first token, and refreshed until ctx ends. It
// returns an error if the configuration has no issuer or no audience.
func New(ctx context.Context, c Config) (*Verifier, error) {
	if c.Issuer == "" || len(c.Audiences) == 0 || slices.Contains(c.Audiences, "") {
		return nil, errors.New("configure token check: issuer and audience are needed")
	}
	v := &Verifier{issuer: c.Issuer, url: c.JWKSURL, client: c.Client, stop: func() {}}
	if v.client == nil {
		v.client = &http.Client{Timeout: fetchTimeout}
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithIssuer(c.Issuer),
		jwt.WithAudience(c.Audiences...), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway),
	}
	if c.Now != nil {
		options = append(options, jwt.WithTimeFunc(c.Now))
	}
	v.parser = jwt.NewParser(options...)
	context.AfterFunc(ctx, v.end)
	return v, nil
}

// end stops the refresh of the keys.
func (v *Verifier) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	v.stop()
}

// Warm fetches the issuer's keys if they are not there yet, so that the first token does not wait for them.
func (v *Verifier) Warm(ctx context.Context) error {
	_, err := v.keyfunc(ctx)
	return err
}

// tokenClaims are the claims that are read.
type tokenClaims struct {
	jwt.RegisteredClaims
	ClientID string `json:"client_id"`
	// hasAudience is true if the token has an aud, even an empty one.
	hasAudience bool
	caller      claims.Claims
}

// UnmarshalJSON refuses what claims.Parse refuses. After that, encoding/json finds each claim by its exact name only.
func (c *tokenClaims) UnmarshalJSON(raw []byte) (err error) {
	if c.caller, err = claims.Parse(raw); err != nil {
		return err
	}
	type plain tokenClaims
	if err := json.Unmarshal(raw, (*plain)(c)); err != nil {
		return err
	}
	var audience struct {
		Aud json.RawMessage `json:"aud"`
	}
	err = json.Unmarshal(raw, &audience)
	c.hasAudience = audience.Aud != nil
	return err
}

// GetAudience returns aud, or client_id where there is no aud.
func (c *tokenClaims) GetAudience() (jwt.ClaimStrings, error) {
	if !c.hasAudience && c.ClientID != "" {
		return jwt.ClaimStrings{c.ClientID}, nil
	}
	return c.Audience, nil
}

// Verify checks a token and returns its user and scopes. It returns an Unauthorized error with the reason for a token
// that is not valid, and Unavailable if the keys could not be fetched.
func (v *Verifier) Verify(ctx context.Context, token string) (conversation.UserID, []string, error) {
	if len(token) > maxToken {
		return "", nil, fault.New(fault.Unauthorized, "the token is too long")
	}
	keys, err := v.keyfunc(ctx)
	if err != nil {
		return "", nil, err
	}
	var c tokenClaims
	failed := &fetchError{}
	ctx = context.WithValue(ctx, fetchErrorKey{}, failed)
	_, err = v.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) { return key(ctx, keys, t) })
	switch {
	case err != nil && failed.get() != nil:
		return "", nil, fault.Wrap(fault.Unavailable, "fetch token keys", failed.get())
	case err != nil:
		return "", nil, &fault.Error{Code: fault.Unauthorized, Message: reason(err), Op: "verify token", Err: err}
	}
	user, err := c.caller.User()
	if err != nil {
		return "", nil, err
	}
	return user, c.caller.Scopes, nil
}

// key returns the RSA key of a token, by its kid. It refuses a token without one, as the JWT authorizer of API Gateway
// does, and a token whose header has crit, because this verifier understands no extension (RFC 7515, section 4.1.11).
func key(ctx context.Context, keys keyfunc.Keyfunc, t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, errCritical
	}
	if kid, ok := t.Header[jwkset.HeaderKID].(string); !ok || kid == "" {
		return nil, errNoKeyID
	}
	found, err := keys.KeyfuncCtx(ctx)(t)
	if err != nil {
		return nil, errors.Join(errUnknownKey, err)
	}
	if _, ok := found.(*rsa.PublicKey); !ok {
		return nil, errUnknownKey
	}
	return found, nil
}

var (
	errNoKeyID    = errors.New("no key id")
	errUnknownKey = errors.New("unknown key")
	errCritical   = errors.New("critical extension")
)

// reason returns what is wrong with a token, for the client.
func reason(err error) string {
	for _, known := range []struct {
		err  error
		text string
	}{
		{errNoKeyID, "the token names no key (kid)"},
		{errCritical, "the token has an extension that is not understood (crit)"},
		{errUnknownKey, "the token is signed with an unknown key"},
		{jwt.ErrTokenMalformed, "the token is malformed"},
		{jwt.ErrTokenExpired, "the token has expired"},
		{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
		{jwt.ErrTokenUsedBeforeIssued, "the token is issued in the future"},
		{jwt.ErrTokenInvalidIssuer, "the token is another issuer's"},
		{jwt.ErrTokenInvalidAudience, "the token is for another audience"},
		{jwt.ErrTokenRequiredClaimMissing, "the token lacks a claim (exp, iss, or aud and client_id)"},
		{jwt.ErrTokenSignatureInvalid, "the token is not signed with RS256 by the issuer"},
	} {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	return "the token is not valid"
}

// keyfunc returns the issuer's keys. It fetches them at the first call that succeeds.
func (v *Verifier) keyfunc(ctx context.Context) (keyfunc.Keyfunc, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil {
		return v.keys, nil
	}
	// The keys are refreshed after this call, so they need a context that the call does not end.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	keys, err := v.fetch(life)
	if err != nil {
		cancel()
		return nil, fault.Wrap(fault.Unavailable, "fetch token keys", err)
	}
	v.keys, v.stop = keys, cancel
	if v.ended {
		cancel()
	}
	return keys, nil
}

// fetch fetches the keys, and refreshes them until ctx ends. While it asks the issuer where they are, it fetches them
// from where most issuers have them, so that a start waits for one answer and not for two.
func (v *Verifier) fetch(ctx context.Context) (keyfunc.Keyfunc, error) {
	if v.url != "" {
		return v.fetchFrom(ctx, v.url)
	}
	usual := strings.TrimSuffix(v.issuer, "/") + "/.well-known/jwks.json"
	usualCtx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, cancel)
	type result struct {
		keys keyfunc.Keyfunc
		err  error
	}
	fetched := make(chan result, 1)
	go func() {
		keys, err := v.fetchFrom(usualCtx, usual)
		fetched <- result{keys, err}
	}()
	url, err := Discover(ctx, v.client, v.issuer)
	if err != nil {
		cancel()
		return nil, err
	}
	if v.url = url; url != usual {
		cancel()
		return v.fetchFrom(ctx, url)
	}
	r := <-fetched
	return r.keys, r.err
}

func (v *Verifier) fetchFrom(ctx context.Context, url string) (keyfunc.Keyfunc, error) {
	strict := false
	return keyfunc.NewDefaultOverrideCtx(ctx, []string{url}, keyfunc.Override{
		Client: v.client, HTTPTimeout: fetchTimeout, NoErrorReturnFirstHTTPReq: &strict,
		RefreshInterval: refreshInterval, RefreshUnknownKID: rate.NewLimiter(rate.Every(unknownKeyInterval), 1),
		RateLimitWaitMax:        fetchTimeout,
		RefreshErrorHandlerFunc: func(string) func(context.Context, error) { return recordFetchError },
	})
}

// fetchError passes the error of a fetch from the key storage to Verify. The storage reports errors to a callback only.
type fetchError struct {
	mu  sync.Mutex
	err error
}

type fetchErrorKey struct{}

func recordFetchError(ctx context.Context, err error) {
	// The hourly refresh has no fetchError. If it fails, the old keys stay, and an unknown key causes another fetch.
	if f, ok := ctx.Value(fetchErrorKey{}).(*fetchError); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = err
	}
}

func (f *fetchError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
