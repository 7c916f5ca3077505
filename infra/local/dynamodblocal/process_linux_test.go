package dynamodblocal_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestEngineEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	endpoint, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(endpoint, "http://") {
		t.Fatalf("the parent said %q, %v", endpoint, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	address := strings.TrimPrefix(strings.TrimSpace(endpoint), "http://")
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return // it is gone
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the engine outlived its parent")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
