package e2e_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestStopWhileAnswering expects a clean exit within 5 s and no process left behind.
func TestStopWhileAnswering(t *testing.T) {
	stack := check.Got(launch.Start(t.Context(), program, os.Stderr))(t)
	children := childrenOf(t, stack.PID())
	if len(children) == 0 {
		t.Fatal("the stack has no child process: DynamoDB Local is one")
	}
	api := check.Got(client.New(stack.Base).As(t.Context(), "ann"))(t)
	open(t, api, "coach_conversation", "s")
	started := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		first := true
		_ = api.Chat(t.Context(), map[string]any{"sessionId": "s", "message": swap}, func(client.Event) error {
			if first {
				close(started)
				first = false
			}
			return nil
		})
	}()
	<-started
	stopped := time.Now()
	if err := stack.Stop(); err != nil {
		t.Errorf("the stack ended with %v, want a clean exit", err)
	}
	if took := time.Since(stopped); took > 5*time.Second {
		t.Errorf("stopping took %v, want at most 5 s", took)
	}
	<-ended
	for _, pid := range children {
		if _, err := os.Stat(fmt.Sprintf("/proc/%s", pid)); err == nil {
			t.Errorf("process %s outlived the stack", pid)
		}
	}
}

func childrenOf(t *testing.T, pid int) []string {
	t.Helper()
	lists := check.Got(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)))(t)
	var children []string
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			continue // the thread ended
		}
		children = append(children, strings.Fields(string(raw))...)
	}
	return children
}

// TestStartFailuresAreOneLine starts the stack where it cannot run.
func TestStartFailuresAreOneLine(t *testing.T) {
	t.Parallel()
	taken := check.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	empty := t.TempDir()
	tests := []struct {
		name        string
		environment []string
		names       []string
	}{
		{"a taken port", []string{"PORT=" + port}, []string{port, "PORT="}},
		{"no Java", []string{"PATH=" + empty}, []string{"Java 17"}},
		{"an unknown trigger", []string{"TRIGGERS=moon=full"}, []string{"TRIGGERS", "moon"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), program)
			command.Env = append(os.Environ(), append([]string{"PORT=0"}, test.environment...)...)
			var output bytes.Buffer
			command.Stderr = &output
			if err := command.Run(); err == nil {
				t.Fatal("the stack ran")
			}
			lines := strings.Split(strings.TrimSpace(output.String()), "\n")
			if len(lines) != 1 {
				t.Errorf("it printed %d lines, want one:\n%s", len(lines), output.String())
			}
			for _, want := range test.names {
				if !strings.Contains(output.String(), want) {
					t.Errorf("it printed %q, want it to name %q", output.String(), want)
				}
			}
		})
	}
}
