// Package transport makes the connections to services. A function that Lambda froze may find its connections dead: the
// network has forgotten them, and what is sent is lost without a word. The kernel ends such a connection, because the
// other side acknowledges nothing. A service that is slow acknowledges what it got, so its call keeps all of its time.
package transport

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Unacknowledged is how long what was sent may stay without the other side's acknowledgement before the kernel ends
// the connection (TCP_USER_TIMEOUT of tcp(7)). It is longer than two lost packets in a row at round trips of up to
// 100 ms, and half of the second that a prompt waits for the vector index. Only Linux, which Lambda runs, has it.
const Unacknowledged = 500 * time.Millisecond

// MaxIdle is how long an unused connection is kept, by the wall clock, which goes on while Lambda has the function
// frozen. Networks forget connections that are idle for longer, some after 350 seconds.
const MaxIdle = 90 * time.Second

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
