//go:build !linux

package transport

import "net"

// limitUnacknowledged does nothing where the kernel has no such limit.
func limitUnacknowledged(net.Conn) error { return nil }
