// Package issuer is the local stack's OpenID issuer: it signs users' tokens with an RSA key of its own and publishes
// that key, so that every check of a token is a real one (design 5, api 6).
package issuer

import (
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

	"github.com/throughline/throughline/infra/local/problem"
	"github.com/throughline/throughline/internal/fault"
)

// Audience is who the local tokens are for.
const Audience = "throughline-local"

const (
	keyBits        = 2048
	defaultExpiry  = 12 * time.Hour
	maxUserIDRunes = 128
)

// defaultScopes are a local token's scopes unless asked otherwise (api 1).
var defaultScopes = []string{"throughline/user", "throughline/app"}

// Issuer signs tokens. It may be used concurrently.
type Issuer struct {
	url   string
	key   *rsa.PrivateKey
	keyID string
	now   func() time.Time
}

// Claims say what a token holds.
type Claims struct {
	UserID string
	// Scopes default to both of the API's when nil.
	Scopes []string
	// Expiry is how long the token is good for, 12 hours when 0; a negative one gives a token that is over.
	Expiry time.Duration
}

// New returns an issuer whose iss claim is url. keyFile keeps the key between runs, so that tokens stay good; empty
// makes a key for this run.
func New(url, keyFile string, now func() time.Time) (*Issuer, error) {
	key, err := loadKey(keyFile)
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(key.N.Bytes())
	return &Issuer{url: url, key: key, keyID: base64.RawURLEncoding.EncodeToString(id[:12]), now: now}, nil
}

// URL is the iss claim of its tokens.
func (i *Issuer) URL() string { return i.url }

// Mint returns a signed token.
func (i *Issuer) Mint(c Claims) (string, error) {
	now := i.now()
	if c.Scopes == nil {
		c.Scopes = defaultScopes
	}
	if c.Expiry == 0 {
		c.Expiry = defaultExpiry
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": i.url, "sub": c.UserID, "aud": Audience, "scope": strings.Join(c.Scopes, " "),
		"iat": now.Add(min(c.Expiry, 0)).Unix(), "exp": now.Add(c.Expiry).Unix(), "jti": rand.Text(),
	})
	token.Header["kid"] = i.keyID
	signed, err := token.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

// Register adds the issuer's routes: its key set, its description, and POST /dev/tokens.
func (i *Issuer) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /.well-known/jwks.json", i.serveKeys)
	mux.HandleFunc("GET /.well-known/openid-configuration", i.serveConfiguration)
	mux.HandleFunc("POST /dev/tokens", i.serveToken)
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	encode := base64.RawURLEncoding.EncodeToString
	problem.WriteJSON(w, map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": i.keyID,
		"n": encode(i.key.N.Bytes()), "e": encode(big.NewInt(int64(i.key.E)).Bytes()),
	}}})
}

func (i *Issuer) serveConfiguration(w http.ResponseWriter, _ *http.Request) {
	problem.WriteJSON(w, map[string]any{
		"issuer": i.url, "jwks_uri": i.url + "/.well-known/jwks.json", "token_endpoint": i.url + "/dev/tokens",
		"response_types_supported": []string{"token"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "scopes_supported": defaultScopes,
	})
}

func (i *Issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	var in struct {
		UserID string   `json:"userId"`
		Scopes []string `json:"scopes"`
		// ExpiresIn is in seconds; a negative one gives a token that is over, for tests.
		ExpiresIn int `json:"expiresIn"`
	}
	if err := problem.Read(r, &in); err != nil {
		problem.Write(w, err)
		return
	}
	if err := validate(in.UserID, in.Scopes); err != nil {
		problem.Write(w, err)
		return
	}
	token, err := i.Mint(Claims{UserID: in.UserID, Scopes: in.Scopes, Expiry: time.Duration(in.ExpiresIn) * time.Second})
	if err != nil {
		problem.Write(w, err)
		return
	}
	problem.WriteJSON(w, map[string]string{"token": token})
}

func validate(userID string, scopes []string) error {
	var wrong []fault.Field
	notPrintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if n := utf8.RuneCountInString(userID); n < 1 || n > maxUserIDRunes || strings.ContainsFunc(userID, notPrintable) {
		wrong = append(wrong, fault.Field{Field: "userId", Message: "must be 1 to 128 printable characters"})
	}
	for n, scope := range scopes {
		if scope == "" || strings.ContainsAny(scope, " \t\r\n") {
			wrong = append(wrong, fault.Field{Field: fmt.Sprintf("scopes[%d]", n), Message: "must be one word"})
		}
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	return nil
}

// loadKey reads the key of an earlier run, or makes one and keeps it where a file is named.
func loadKey(path string) (*rsa.PrivateKey, error) {
	if path == "" {
		return generateKey()
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("read signing key: %s holds no PEM block", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read signing key: %s holds no RSA key", path)
	}
	return private, nil
}

func createKey(path string) (*rsa.PrivateKey, error) {
	key, err := generateKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode signing key: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(path, block, 0o600); err != nil {
		return nil, fmt.Errorf("keep signing key: %w", err)
	}
	return key, nil
}

func generateKey() (*rsa.PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	return key, nil
}
