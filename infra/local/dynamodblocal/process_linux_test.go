package dynamodblocal_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/testing/check"
)

func TestEngineEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"=1")
	out := check.Got(parent.StdoutPipe())(t)
	check.OK(t, parent.Start())
	endpoint, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(endpoint, "http://") {
		t.Fatalf("the parent said %q, %v", endpoint, err)
	}
	check.OK(t, parent.Process.Kill())
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
