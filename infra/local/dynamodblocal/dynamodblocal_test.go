package dynamodblocal_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestStartAndStop checks on one engine, while it runs, that its databases are separate and where it listens.
func TestStartAndStop(t *testing.T) {
	t.Parallel()
	s := start(t, dynamodblocal.Options{Databases: 2})
	createTable(t, s)
	for path, want := range map[string][]string{"": {"kept"}, "/1": nil, "/2": nil} {
		if got := tables(t, s.Endpoint()+path); !slices.Equal(got, want) {
			t.Errorf("%q has the tables %v, want %v", path, got, want)
		}
	}
	checkAddresses(t, s)
	for _, endpoint := range []string{s.Endpoint(), s.Endpoint() + "/1"} {
		checkHosts(t, endpoint)
	}
	if err := s.Stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	select {
	case <-s.Done():
	default:
		t.Error("the process still runs after Stop")
	}
	req := check.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, s.Endpoint(), nil))(t)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error("the endpoint still answers after Stop")
	}
	if err := s.Stop(); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

// checkAddresses calls the engine by the other addresses of this machine.
func checkAddresses(t *testing.T, s *dynamodblocal.Server) {
	t.Helper()
	local := check.Got(url.Parse(s.Endpoint()))(t)
	addresses := check.Got(net.InterfaceAddrs())(t)
	others := []string{"127.0.0.2"}
	for _, a := range addresses {
		if ip := a.(*net.IPNet).IP; !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			others = append(others, ip.String())
		}
	}
	for _, host := range others {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(host, local.Port()))
		if err == nil {
			_ = conn.Close()
			t.Errorf("the engine listens on %s", host)
		}
	}
}

// checkHosts calls the engine under the name of another host, as a page does whose host's name resolves to 127.0.0.1.
func checkHosts(t *testing.T, endpoint string) {
	t.Helper()
	local := check.Got(url.Parse(endpoint))(t)
	for host, want := range map[string]int{
		local.Host: http.StatusBadRequest, "localhost:" + local.Port(): http.StatusBadRequest,
		"evil.example": http.StatusNotFound, "evil.example:" + local.Port(): http.StatusNotFound,
	} {
		req := check.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader("{}")))(t)
		req.Host = host
		resp := check.Got(http.DefaultClient.Do(req))(t)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s, Host %s: status %d, want %d", endpoint, host, resp.StatusCode, want)
		}
	}
}

// TestStartErrorsSayWhatToDo starts no engine: in each case something is missing, and the error has to say what to do
// about it in one line.
func TestStartErrorsSayWhatToDo(t *testing.T) {
	oldJava := script(t, "java", "echo 'java.lang.UnsupportedClassVersionError: class file version 61.0' >&2; exit 1")
	brokenNPM := script(t, "npm", "echo 'npm error 404 Not Found' >&2; exit 1")
	otherPackage := script(t, "npm", "echo altered > amplify-dynamodb-simulator-2.9.30.tgz")
	anyJava := script(t, "java", "exit 1")
	cases := []struct {
		name, path string
		emptyCache bool
		want       []string
	}{
		{"no java", t.TempDir(), false, []string{"java is missing", "install Java 17"}},
		{"java too old", oldJava, false, []string{"java is too old", "install Java 17"}},
		{"no npm", anyJava, true, []string{"npm is missing", "install Node.js"}},
		{"npm fails", anyJava + ":" + brokenNPM, true, []string{"npm pack", "404 Not Found", "registry reachable"}},
		{"package altered", anyJava + ":" + otherPackage, true, []string{"sha512", "pinned"}},
	}
	fillCache(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PATH", c.path)
			t.Setenv("JAVA_HOME", "")
			if c.emptyCache {
				t.Setenv("XDG_CACHE_HOME", t.TempDir())
			}
			_, err := dynamodblocal.Start(t.Context(), dynamodblocal.Options{})
			if err == nil {
				t.Fatal("started")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error has more than one line: %q", err)
			}
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	fillCache(t)
	t.Setenv("PATH", script(t, "java", "exec sleep 60")+":"+os.Getenv("PATH"))
	t.Setenv("JAVA_HOME", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dynamodblocal.Start(ctx, dynamodblocal.Options{}); err == nil {
		t.Fatal("started with a cancelled context")
	}
}

// parentVariable makes the test program start an engine and wait to be killed.
const parentVariable = "THROUGHLINE_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) == "" {
		os.Exit(m.Run())
	}
	s, err := dynamodblocal.Start(context.Background(), dynamodblocal.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Endpoint())
	<-s.Done() // killed before
}

func start(t *testing.T, opts dynamodblocal.Options) *dynamodblocal.Server {
	t.Helper()
	s, err := dynamodblocal.Start(t.Context(), opts)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

func fillCache(t *testing.T) {
	t.Helper()
	check.Got(dynamodblocal.Install(t.Context()))(t)
}

func client(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

func tables(t *testing.T, endpoint string) []string {
	t.Helper()
	out := check.Got(client(endpoint).ListTables(t.Context(), &dynamodb.ListTablesInput{}))(t)
	return out.TableNames
}

func createTable(t *testing.T, s *dynamodblocal.Server) {
	t.Helper()
	_, err := client(s.Endpoint()).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("kept"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatalf("create table: %v", err)
	}
}

// script writes a shell script of that name into a folder of its own and returns the folder.
func script(t *testing.T, name, body string) string {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	return dir
}
