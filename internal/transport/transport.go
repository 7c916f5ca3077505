// Package transport makes the connections to services. A function that Lambda froze may find its connections dead: the
// network has forgotten them, and what is sent is lost without a word. The kernel ends such a connection, because the
// other side acknowledges nothing. A service that is slow acknowledges what it got, so its call keeps all of its time.
package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Unacknowledged is how long what was sent may stay without the other side's acknowledgement before the kernel ends
// the connection (TCP_USER_TIMEOUT of tcp(7)). It is longer than two lost packets in a row at round trips of up to
// 100 ms, and half of the second that a prompt waits for the vector index. Only Linux, which Lambda runs, has it.
const Unacknowledged = 500 * time.Millisecond

// MaxIdle is how long an unused connection is kept, by the wall clock, which goes on while Lambda has the function
// frozen. Networks forget connections that are idle for longer, some after 350 seconds.
const MaxIdle = 90 * time.Second

// HTTP is a transport that closes its idle connections when a request fails that its caller still waits for: they are
// probably dead, too, so that dead connections cost one attempt.
type HTTP struct{ *http.Transport }

// NewHTTP returns a transport that connects within the timeout. It keeps enough idle connections for parallel calls. It
// does not use those again that were idle for longer than MaxIdle, and pings find an HTTP/2 connection that is dead.
func NewHTTP(connect time.Duration) HTTP {
	return HTTP{&http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: Dial(connect), TLSHandshakeTimeout: connect + time.Second,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 32, IdleConnTimeout: MaxIdle,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 3 * time.Second},
	}}
}

// RoundTrip implements http.RoundTripper.
func (t HTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.Transport.RoundTrip(r)
	if err != nil {
		t.Failed(r.Context())
	}
	return answer, err
}

// Failed closes the idle connections after a failure, unless it failed because its caller has gone.
func (t HTTP) Failed(ctx context.Context) {
	if !errors.Is(context.Cause(ctx), context.Canceled) {
		t.CloseIdleConnections()
	}
}

// DialContext connects as net.Dialer.DialContext does.
type DialContext func(ctx context.Context, network, address string) (net.Conn, error)

// Dial returns a function that connects within the timeout. Its connections end when they are dead.
func Dial(timeout time.Duration) DialContext {
	d := net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := limitUnacknowledged(c); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("limit unacknowledged data: %w", err)
		}
		return c, nil
	}
}
