package transport

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged sets Unacknowledged on a TCP connection.
func limitUnacknowledged(c net.Conn) error {
	tcp, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(Unacknowledged.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
