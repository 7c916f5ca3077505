// Package auth checks bearer tokens where no gateway does: RS256 signatures against the issuer's published keys,
// issuer, audience and times (design 4, the coach function).
package auth

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Config says whose tokens are good.
type Config struct {
	// Issuer and Audience are what iss must equal and aud must hold.
	Issuer   string
	Audience string
	// JWKSURL is where the issuer's keys are; empty means the issuer's /.well-known/jwks.json.
	JWKSURL string
	// Client fetches the keys; nil means one of its own.
	Client *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

const (
	// leeway is how far clocks may stand apart.
	leeway = 10 * time.Second
	// fetchTimeout bounds one fetch of the keys.
	fetchTimeout = 3 * time.Second
	// refreshEvery is how often the keys are fetched again, so that a withdrawn one ends.
	refreshEvery = time.Hour
	// unknownEvery is how often an unknown key id may make the keys be fetched, so that forged tokens cannot flood
	// the issuer.
	unknownEvery = 30 * time.Second
	// maxToken is more than any token of sense has, in bytes.
	maxToken = 16 << 10
)

// Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	parser *jwt.Parser
	url    string
	client *http.Client

	mu   sync.Mutex
	keys keyfunc.Keyfunc
	// stop ends the hourly refresh of the keys, where there are any; ended is set when it shall be.
	stop  func()
	ended bool
}

// New returns a verifier. It fetches nothing yet: Warm does, or the first token. The context ends the refreshing of
// keys. Its error names what the configuration lacks.
func New(ctx context.Context, c Config) (*Verifier, error) {
	if c.Issuer == "" || c.Audience == "" {
		return nil, errors.New("configure token check: issuer and audience are needed")
	}
	v := &Verifier{url: c.JWKSURL, client: c.Client, stop: func() {}}
	if v.url == "" {
		v.url = strings.TrimRight(c.Issuer, "/") + "/.well-known/jwks.json"
	}
	if v.client == nil {
		v.client = &http.Client{Timeout: fetchTimeout}
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithIssuer(c.Issuer),
		jwt.WithAudience(c.Audience), jwt.WithExpirationRequired(), jwt.WithLeeway(leeway),
	}
	if c.Now != nil {
		options = append(options, jwt.WithTimeFunc(c.Now))
	}
	v.parser = jwt.NewParser(options...)
	context.AfterFunc(ctx, v.end)
	return v, nil
}

// end stops the refreshing of keys, for good.
func (v *Verifier) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	v.stop()
}

// Warm fetches the issuer's keys unless they are there, so that the first token does not wait for them.
func (v *Verifier) Warm(ctx context.Context) error {
	_, err := v.keyfunc(ctx)
	return err
}

// claims are the parts of a token that are read.
type claims struct {
	jwt.RegisteredClaims
	Scope scopes `json:"scope"`
	Scp   scopes `json:"scp"`
}

// Verify checks a token and returns its user and scopes (scope, or scp where that is empty). A token that is not good
// is an Unauthorized error that says in one line what is wrong; Unavailable means that the keys could not be had.
func (v *Verifier) Verify(ctx context.Context, token string) (conversation.UserID, []string, error) {
	if len(token) > maxToken {
		return "", nil, fault.New(fault.Unauthorized, "the token is too long")
	}
	keys, err := v.keyfunc(ctx)
	if err != nil {
		return "", nil, err
	}
	var c claims
	failed := &fetchError{}
	ctx = context.WithValue(ctx, fetchErrorKey{}, failed)
	_, err = v.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) { return key(ctx, keys, t) })
	switch {
	case err != nil && failed.get() != nil:
		return "", nil, fault.Wrap(fault.Unavailable, "fetch token keys", failed.get())
	case err != nil:
		return "", nil, &fault.Error{Code: fault.Unauthorized, Message: reason(err), Op: "verify token", Err: err}
	}
	user := conversation.UserID(c.Subject)
	if user.Validate() != nil {
		return "", nil, fault.New(fault.Unauthorized, "the token's sub is not 1 to 128 printable characters")
	}
	if len(c.Scope) == 0 {
		return user, c.Scp, nil
	}
	return user, c.Scope, nil
}

// key finds the RSA key of a token: by its kid, or the only key where the token names none.
func key(ctx context.Context, keys keyfunc.Keyfunc, t *jwt.Token) (any, error) {
	if _, named := t.Header[jwkset.HeaderKID]; !named {
		all, err := keys.Storage().KeyReadAll(ctx)
		if err != nil {
			return nil, fmt.Errorf("read keys: %w", err)
		}
		if len(all) != 1 {
			return nil, errNoKeyID
		}
		t.Header[jwkset.HeaderKID] = all[0].Marshal().KID
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
)

// reason says in one line what is wrong with a token.
func reason(err error) string {
	for _, known := range []struct {
		err  error
		text string
	}{
		{errNoKeyID, "the token names no key (kid)"},
		{errUnknownKey, "the token is signed with an unknown key"},
		{jwt.ErrTokenMalformed, "the token is malformed"},
		{jwt.ErrTokenExpired, "the token has expired"},
		{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
		{jwt.ErrTokenUsedBeforeIssued, "the token is issued in the future"},
		{jwt.ErrTokenInvalidIssuer, "the token is another issuer's"},
		{jwt.ErrTokenInvalidAudience, "the token is for another audience"},
		{jwt.ErrTokenRequiredClaimMissing, "the token lacks a claim (exp, iss or aud)"},
		{jwt.ErrTokenSignatureInvalid, "the token is not signed with RS256 by the issuer"},
	} {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	return "the token is not valid"
}

// keyfunc returns the issuer's keys, fetched at the first call that succeeds.
func (v *Verifier) keyfunc(ctx context.Context) (keyfunc.Keyfunc, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil {
		return v.keys, nil
	}
	// The keys outlive the call that fetches them, with its values and without its end.
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

func (v *Verifier) fetch(ctx context.Context) (keyfunc.Keyfunc, error) {
	strict := false
	return keyfunc.NewDefaultOverrideCtx(ctx, []string{v.url}, keyfunc.Override{
		Client: v.client, HTTPTimeout: fetchTimeout, NoErrorReturnFirstHTTPReq: &strict,
		RefreshInterval: refreshEvery, RefreshUnknownKID: rate.NewLimiter(rate.Every(unknownEvery), 1),
		RateLimitWaitMax:        fetchTimeout,
		RefreshErrorHandlerFunc: func(string) func(context.Context, error) { return noteFetchError },
	})
}

// fetchError carries a failed fetch from the key storage, which only reports it, to the Verify that it failed.
type fetchError struct {
	mu  sync.Mutex
	err error
}

type fetchErrorKey struct{}

func noteFetchError(ctx context.Context, err error) {
	// The hourly refresh belongs to no token: the keys that are there serve on, and an unknown one fetches again.
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
