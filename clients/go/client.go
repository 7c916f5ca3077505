// Package throughline is a client of Throughline, one memory for every AI surface of an app. It needs the standard
// library alone.
//
// Each operation of the API is a method of [Client]. The client also renews tokens, gives each call that stores
// something a key, makes a call again whose answer was lost, follows pages, and goes on with an answer of the chat that
// was cut.
package throughline

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config is what a client is made with. BaseURL and one of Token and TokenSource are needed.
type Config struct {
	// BaseURL is the address of the API, such as https://api.example.com.
	BaseURL string
	// StreamURL is the address of chat, turns and export where that is another: the output CoachUrl of a stage.
	StreamURL string
	// Token is the user's token; or, in a server, the credential that has the scope throughline/on-behalf.
	Token string
	// TokenSource gets a token. It is called again when the token is about to expire, or is refused.
	TokenSource func(ctx context.Context) (string, error)
	// Timeout is the time for a call with all its repeats. Default: 30 s. A stream without a sign of the server for so
	// long is joined again.
	Timeout time.Duration
	// Attempts is how often a call is made at most. Default: 5, over about 8 s.
	Attempts int
	// Log gets each attempt when it is answered, or got no answer. Default: nothing is logged.
	Log func(Attempted)
	// HTTP sends the requests. Default: http.DefaultClient.
	HTTP *http.Client
}

// Client calls the API. It is safe for concurrent use.
type Client struct {
	config Config
	tokens *tokens
	user   string
	// wrong is what is wrong with the config. Every call returns it.
	wrong error
}

// Attempted is one attempt of a call, for the app's log. It has no token and no content.
type Attempted struct {
	Method, URL string
	// Status is that of the answer, or 0 where none came.
	Status   int
	Duration time.Duration
	// RequestID is the id by which the server's log has the request, or empty.
	RequestID string
}

// New returns a client. Where an address or the token is missing, its calls say so.
func New(config Config) *Client {
	if config.HTTP == nil {
		config.HTTP = http.DefaultClient
	}
	if config.Attempts == 0 {
		config.Attempts = 5
	}
	if config.StreamURL == "" {
		config.StreamURL = config.BaseURL
	}
	return &Client{config: config, tokens: newTokens(config), wrong: config.check()}
}

// check returns what is wrong with a config, or nil.
func (config Config) check() error {
	addresses := map[string]string{"BaseURL": config.BaseURL, "StreamURL": config.StreamURL}
	for _, name := range []string{"BaseURL", "StreamURL"} {
		address, err := url.Parse(addresses[name])
		switch {
		case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
			return fmt.Errorf("%s is %q: it has to be an address such as https://api.example.com", name, addresses[name])
		case strings.HasSuffix(strings.TrimRight(address.Path, "/"), "/v1"):
			return fmt.Errorf("%s ends in /v1, which the client adds: leave it out", name)
		}
	}
	if config.Token == "" && config.TokenSource == nil {
		return errors.New("there is neither a Token nor a TokenSource: set one of them")
	}
	return nil
}

// As returns a client that acts for a user with the server's credential. It shares the token and the connections.
func (c *Client) As(user string) *Client {
	as := *c
	as.user = user
	return &as
}

// Option changes one call.
type Option func(*prepared)

// IdempotencyKey sets the key of a call, for an app that makes the call again after it was restarted. Without it each
// call has a new key. Operations that take no key do not send it.
func IdempotencyKey(key string) Option { return func(p *prepared) { p.key = key } }

// Attempts sets how often the call is made at most.
func Attempts(most int) Option { return func(p *prepared) { p.attempts = most } }

// Header sets a header of the call.
func Header(name, value string) Option { return func(p *prepared) { p.headers.Set(name, value) } }

// Timeout sets the time for a call with all its repeats; in a stream, between two events.
func Timeout(d time.Duration) Option { return func(p *prepared) { p.timeout = d } }

// request is what a method says of its call. Body and query are nil where the operation has none.
type request struct {
	method, path  string
	in            []string
	body, query   any
	keyed, stream bool
}

// prepared is a call that can be made more than once.
type prepared struct {
	method, url, key string
	query            url.Values
	body             []byte
	timeout          time.Duration
	attempts         int
	headers          http.Header
}

// prepare encodes a call.
func (c *Client) prepare(r request, options []Option) (*prepared, error) {
	if c.wrong != nil {
		return nil, c.wrong
	}
	p := &prepared{
		method: r.method, url: c.config.BaseURL, timeout: 30 * time.Second, attempts: c.config.Attempts,
		headers: http.Header{"User-Agent": {"throughline-go/" + Version}},
	}
	if r.stream || strings.HasPrefix(r.path, "/v1/turns") {
		p.url = c.config.StreamURL
	}
	p.url = strings.TrimRight(p.url, "/") + fill(r.path, r.in)
	if c.config.Timeout > 0 {
		p.timeout = c.config.Timeout
	}
	p.key = newKey()
	for _, option := range options {
		option(p)
	}
	if !r.keyed {
		p.key = ""
	}
	var err error
	if p.query, err = search(r.query); err != nil {
		return nil, err
	}
	if r.body == nil {
		return p, nil
	}
	if p.body, err = json.Marshal(r.body); err != nil {
		return nil, fmt.Errorf("encode the body of %s %s: %w", r.method, r.path, err)
	}
	return p, nil
}

// fill writes the values into a path.
func fill(path string, values []string) string {
	for _, value := range values {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + url.PathEscape(value) + after
	}
	return path
}

// search returns the parameters of a query, which is a struct or nil.
func search(query any) (url.Values, error) {
	text, err := json.Marshal(query)
	if err != nil {
		return nil, fmt.Errorf("encode query: %w", err)
	}
	var given map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		return nil, fmt.Errorf("encode query: %w", err)
	}
	values := url.Values{}
	for name, value := range given {
		values.Set(name, fmt.Sprint(value))
	}
	return values, nil
}

// newKey returns 128 random bits in hexadecimal.
func newKey() string {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return hex.EncodeToString(bits[:])
}

// do makes a call whose answer is JSON. answers has a pointer for each status that has a body.
func (c *Client) do(ctx context.Context, r request, options []Option, answers map[int]any) error {
	p, err := c.prepare(r, options)
	if err != nil {
		return err
	}
	call := c.begin(ctx, p)
	defer call.end()
	return call.send(readJSON(answers))
}
