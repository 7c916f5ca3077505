package stack_test

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/testing/check"
)

// checkPrivate reads the modes of everything in a data folder.
func checkPrivate(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		private := d.IsDir() || runtime.GOOS == "linux" // elsewhere the folder alone protects the engine
		if err == nil && private && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDataFolderIsPrivate starts a stack in an empty folder that others may read, and in a folder with files of the
// user, whose mode has to stay. No other stack can use either.
func TestDataFolderIsPrivate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file string
		want os.FileMode
	}{"empty": {"", 0o700}, "with other files": {"notes.txt", 0o755}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			check.OK(t, os.Chmod(folder, 0o755))
			if tc.file != "" {
				check.OK(t, os.WriteFile(filepath.Join(folder, tc.file), nil, 0o600))
			}
			f := start(t, map[string]string{"DATA_DIR": folder})
			entries := check.Got(os.ReadDir(folder))(t)
			for _, e := range entries {
				if e.IsDir() {
					checkPrivate(t, filepath.Join(folder, e.Name()))
				}
			}
			checkOneStack(t, f, folder)
			info, err := os.Stat(folder) // after a second start
			check.OK(t, err)
			if info.Mode().Perm() != tc.want {
				t.Errorf("mode %v, want %v", info.Mode().Perm(), tc.want)
			}
		})
	}
}

// checkOneStack starts a second stack in the folder of a running one.
func checkOneStack(t *testing.T, f *fixture, folder string) {
	t.Helper()
	second, err := stack.Start(t.Context(), f.parse(t, map[string]string{"DATA_DIR": folder}))
	if err == nil {
		_ = second.Stop()
	}
	want := fmt.Sprintf("DATA_DIR=%s is in use by another stack (process %d): stop it, or choose another folder",
		folder, os.Getpid())
	if err == nil || err.Error() != want {
		t.Fatalf("a second stack: %v, want %q", err, want)
	}
	f.get(t, "/healthz", &struct{}{})
}

// serversAreForThisMachine calls each server under the name of a host whose name could resolve to this machine,
// and as a page of another origin. Only the API itself, which takes tokens, answers.
func serversAreForThisMachine(t *testing.T, f *fixture) {
	info := f.stack.Info()
	port := f.stack.URL()[strings.LastIndex(f.stack.URL(), ":")+1:]
	targets := []struct{ method, url, body string }{
		{"POST", f.stack.URL() + "/dev/tokens", `{"userId":"ann"}`},
		{"POST", f.stack.URL() + "/dev/settle", `{"timeoutMs":0}`},
		{"POST", f.stack.URL() + "/dev/faults", `{}`},
		{"POST", f.stack.URL() + "/dev/redeliver", ""},
		{"POST", info.LambdaEndpoint + "/2015-03-31/functions/throughline-prompt/invocations", `{}`},
		{"POST", info.OpenAIBaseURL + "/embeddings", `{"model":"offline","input":"x"}`},
		{"POST", f.config("messages").DynamoDBEndpoint, `{}`},
		{"POST", f.config("messages").OpenAI.BaseURL + "/embeddings", `{}`},
	}
	for _, target := range targets {
		for _, host := range []string{"evil.example:" + port, "evil.example", "127.0.0.1.evil.example", "192.0.2.1"} {
			check.Equal(t, http.StatusForbidden, send(t, target.method, target.url, target.body, host, nil),
				"%s as %s: status", target.url, host)
		}
		for _, header := range []http.Header{
			{"Origin": {"http://evil.example"}},
			{"Origin": {"null"}},
			{"Sec-Fetch-Site": {"cross-site"}},
			{"Origin": {"http://localhost:3000"}, "Content-Type": {"application/json"}},
		} {
			check.Equal(t, http.StatusForbidden, send(t, target.method, target.url, target.body, "", header),
				"%s from a page %v: status", target.url, header)
		}
		for _, host := range []string{"localhost:" + port, "[::1]:" + port, "LOCALHOST"} {
			if got := send(t, target.method, target.url, target.body, host, nil); got == http.StatusForbidden {
				t.Errorf("%s as %s is refused", target.url, host)
			}
		}
	}
	for _, path := range []string{"/dev/tokens", "/dev/settle", "/dev/info"} { // whatever CORS_ORIGINS says
		preflight := check.Got(http.NewRequestWithContext(t.Context(), http.MethodOptions, f.stack.URL()+path,
			http.NoBody))(t)
		preflight.Header = http.Header{"Origin": {"http://evil.example"}, "Access-Control-Request-Method": {"POST"}}
		resp := check.Got(http.DefaultClient.Do(preflight))(t)
		_ = resp.Body.Close()
		check.Equal(t, "", resp.Header.Get("Access-Control-Allow-Origin"), "%s is open to pages of", path)
	}
	for _, path := range []string{"/dev/info", "/dev/dead-letters", "/healthz", "/.well-known/jwks.json"} {
		check.Equal(t, http.StatusForbidden, send(t, "GET", f.stack.URL()+path, "", "evil.example", nil),
			"%s under another name: status", path)
	}
	for _, mediaType := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
		mint, header := targets[0], http.Header{"Content-Type": {mediaType}}
		check.Equal(t, http.StatusUnsupportedMediaType, send(t, mint.method, mint.url, mint.body, "", header),
			"a token for %s: status", mediaType)
	}
	check.Equal(t, http.StatusUnauthorized, send(t, "GET", f.stack.URL()+"/v1/sessions", "", "10.0.2.2:"+port, nil),
		"the API as an emulator's host: status")
}

// send makes a request under a Host and returns its status.
func send(t *testing.T, method, url, body, host string, header http.Header) int {
	t.Helper()
	req := check.Got(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	req.Host = host
	maps.Copy(req.Header, header)
	resp := check.Got(http.DefaultClient.Do(req))(t)
	_ = resp.Body.Close()
	return resp.StatusCode
}
