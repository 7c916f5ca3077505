package faultstest

import (
	"net"

	"golang.org/x/sys/unix"
)

// Forget loses each packet that a client sends from now on over the connections that exist, so that the kernel
// acknowledges none. No end hears of it, as when a network has forgotten the connections of a function that was frozen.
func (n *Network) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := 0; i < len(n.conns); i += 2 {
		raw, err := n.conns[i].(*net.TCPConn).SyscallConn()
		if err != nil {
			n.t.Error(err)
			continue
		}
		// A socket filter that lets 0 bytes of each packet pass.
		drop := unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}}
		err = raw.Control(func(fd uintptr) {
			if err := unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &drop); err != nil {
				n.t.Errorf("forget a connection: %v", err)
			}
		})
		if err != nil {
			n.t.Error(err)
		}
	}
}
