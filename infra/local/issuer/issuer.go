// Package issuer is the local stack's OpenID issuer. It signs users' tokens with its own RSA key and publishes the
// public key, so that tokens are really checked.
package issuer

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/throughline/throughline/infra/local/devapi"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

// Audience is the audience of local tokens.
const Audience = "throughline-local"

const (
	keyBits        = 2048
	defaultExpiry  = 12 * time.Hour
	maxUserIDRunes = 128
)

// inClientID is the audience claim of a token like the access tokens of Amazon Cognito: it has no aud, and token_use is
// "access".
const inClientID = "client_id"

// serverSubject is the sub of a server's token, as a client's id is where a server signs in by client credentials.
const serverSubject = "local-server"

// userScopes are the scopes of a user's token that is requested without scopes.
var userScopes = []string{httpapi.ScopeUser, httpapi.ScopeApp}

// serverScopes are those of a server's token that is requested without scopes.
var serverScopes = []string{httpapi.ScopeOnBehalf, httpapi.ScopeUser, httpapi.ScopeApp}

// Issuer signs tokens. It is safe for concurrent use.
type Issuer struct {
	url   string
	key   *rsa.PrivateKey
	keyID string
}

// Claims are the contents of a token, as a request has them.
type Claims struct {
	UserID string `json:"userId"`
	// Server asks for a server's token, which has no user.
	Server bool `json:"server"`
	// Scopes are both scopes of a user, or all three of a server, if nil.
	Scopes []string `json:"scopes"`
	// Audience is the claim that names the audience: "aud", which is the default, or "client_id".
	Audience string `json:"audience"`
	// ExpiresIn is how many seconds the token is valid, or 12 hours if 0. A negative one gives a token that has
	// expired, for tests.
	ExpiresIn int `json:"expiresIn"`
}

// New returns an issuer whose iss claim is url. It stores its key in keyFile, so that tokens stay valid after a
// restart. An empty keyFile makes a key for this run only.
func New(url, keyFile string) (*Issuer, error) {
	key, err := loadKey(keyFile)
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(key.N.Bytes())
	return &Issuer{url: url, key: key, keyID: base64.RawURLEncoding.EncodeToString(id[:12])}, nil
}

// URL is the iss claim of its tokens.
func (i *Issuer) URL() string { return i.url }

// Mint returns a signed token and when it expires.
func (i *Issuer) Mint(c Claims) (token string, expiresAt time.Time, err error) {
	now, scopes := time.Now(), userScopes
	if c.Server {
		c.UserID, scopes = serverSubject, serverScopes
	}
	if c.Scopes != nil {
		scopes = c.Scopes
	}
	expiry := cmp.Or(time.Duration(c.ExpiresIn)*time.Second, defaultExpiry)
	expiresAt = now.Add(expiry).Truncate(time.Second).UTC()
	claims := jwt.MapClaims{
		"iss": i.url, "sub": c.UserID, "scope": strings.Join(scopes, " "),
		"iat": now.Add(min(expiry, 0)).Unix(), "exp": expiresAt.Unix(), "jti": rand.Text(),
	}
	if c.Audience == inClientID {
		claims[inClientID], claims["token_use"] = Audience, "access"
	} else {
		claims["aud"] = Audience
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	unsigned.Header["kid"] = i.keyID
	if token, err = unsigned.SignedString(i.key); err != nil {
		return "", time.Time{}, fmt.Errorf("sign token: %w", err)
	}
	return token, expiresAt, nil
}

// Secret returns 32 bytes for a use, which stay the same as long as the key does.
func (i *Issuer) Secret(use string) []byte {
	sum := sha256.Sum256(append([]byte(use), i.key.D.Bytes()...))
	return sum[:]
}

// Register adds the issuer's routes: its key set, its description, POST /dev/tokens, and
// POST /dev/tokens/{user}.
func (i *Issuer) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /.well-known/jwks.json", i.serveKeys)
	mux.HandleFunc("GET /.well-known/openid-configuration", i.serveConfiguration)
	mux.HandleFunc("POST /dev/tokens", i.serveToken)
	mux.HandleFunc("POST /dev/tokens/{user}", i.serveToken)
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	encode := base64.RawURLEncoding.EncodeToString
	devapi.Write(w, map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": i.keyID,
		"n": encode(i.key.N.Bytes()), "e": encode(big.NewInt(int64(i.key.E)).Bytes()),
	}}})
}

func (i *Issuer) serveConfiguration(w http.ResponseWriter, _ *http.Request) {
	devapi.Write(w, map[string]any{
		"issuer": i.url, "jwks_uri": i.url + "/.well-known/jwks.json", "token_endpoint": i.url + "/dev/tokens",
		"response_types_supported": []string{"token"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "scopes_supported": serverScopes,
	})
}

// serveToken answers with the token that a body describes, in JSON, or alone where the caller accepts text/plain. A
// path that names a user gives their token alone, for a shell.
func (i *Issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	c, err := Claims{UserID: r.PathValue("user")}, error(nil)
	alone := c.UserID != "" || r.Header.Get("Accept") == "text/plain"
	if c.UserID == "" {
		err = devapi.Read(r, &c)
	}
	var token string
	var expiresAt time.Time
	if err == nil {
		err = c.check()
	}
	if err == nil {
		token, expiresAt, err = i.Mint(c)
	}
	switch {
	case err != nil:
		httpapi.WriteProblem(w, err)
	case alone:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(token))
	default:
		devapi.Write(w, map[string]any{"token": token, "expiresAt": expiresAt})
	}
}

// check refuses a user that the API would refuse.
func (c Claims) check() error {
	notPrintable := func(r rune) bool { return !unicode.IsPrint(r) }
	n := utf8.RuneCountInString(c.UserID)
	switch {
	case c.Server && n > 0:
		return fault.InvalidField("userId", "is not for a server's token: each request names its user in "+
			httpapi.UserHeader)
	case !c.Server && (n < 1 || n > maxUserIDRunes || strings.ContainsFunc(c.UserID, notPrintable)):
		return fault.InvalidField("userId", "must be 1 to 128 printable characters")
	}
	return nil
}

// loadKey reads the key file. If there is none, it makes a key and writes the file. An empty path has no file.
func loadKey(path string) (*rsa.PrivateKey, error) {
	raw, err := os.ReadFile(path)
	if err == nil {
		key, err := jwt.ParseRSAPrivateKeyFromPEM(raw)
		if err != nil {
			return nil, fmt.Errorf("read signing key %s: %w", path, err)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	if path == "" {
		return key, nil
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err == nil {
		err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("write signing key: %w", err)
	}
	return key, nil
}
