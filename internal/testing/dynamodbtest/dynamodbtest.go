// Package dynamodbtest gives tests a real DynamoDB engine: a database of DynamoDB Local for each test process, and a
// table for each test. A missing engine fails a test and never skips it.
package dynamodbtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
)

// EndpointVariable names a running engine to use instead of starting one.
const EndpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

const installTimeout = 5 * time.Minute

var (
	managed atomic.Bool // Main will stop the engine
	server  *dynamodblocal.Server
	// endpoint is the one database of the process. The first test that needs it opens it.
	endpoint = sync.OnceValues(open)
)

// Main runs a package's tests and stops the engine that they started: call it, alone, from TestMain.
func Main(m *testing.M) {
	managed.Store(true)
	go func() {
		for call := range calls {
			go call()
		}
	}()
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop DynamoDB Local:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// parallelTests is how many tests run at once where they take long. Most of them wait: for the engine, for another
// writer, for a lease. As many as there are processors would leave those idle.
const parallelTests = 6

// MainWithChecks is Main for a package whose tests take long. Each property is checked that many times, and more tests
// run at once than there are processors, unless the command line says otherwise, as make soak does.
func MainWithChecks(m *testing.M, checks int) {
	parallel := max(parallelTests, runtime.GOMAXPROCS(0))
	if err := errors.Join(
		flag.Set("rapid.checks", strconv.Itoa(checks)), flag.Set("test.parallel", strconv.Itoa(parallel)),
	); err != nil {
		panic(err) // the package has no properties
	}
	Main(m) // which reads the command line
}

// Endpoint returns the URL of the process's database. It starts an engine if no other process has one for it. Parallel
// tests may call it.
func Endpoint(t testing.TB) string {
	t.Helper()
	var url string
	var err error
	outside(func() { url, err = endpoint() })
	if err != nil {
		t.Fatalf("no DynamoDB engine: %v", err)
	}
	return url
}

// Client returns a client of the engine.
func Client(t testing.TB) *dynamodb.Client {
	t.Helper()
	return dynamodblocal.Client(Endpoint(t))
}

// TableName returns a table name that no other test uses, not even in another process that shares the engine.
func TableName(t testing.TB) string {
	t.Helper()
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, t.Name())
	if len(clean) > 120 {
		clean = clean[:120]
	}
	return fmt.Sprintf("%s-%d-%d", clean, os.Getpid(), tables.Add(1))
}

var tables atomic.Int64

// Table creates a table for this test and returns its name, which replaces the input's. It deletes the table when the
// test ends.
func Table(t testing.TB, input *dynamodb.CreateTableInput) string {
	t.Helper()
	client, in := BubbleClient(t), *input
	in.TableName = aws.String(TableName(t))
	if _, err := client.CreateTable(t.Context(), &in); err != nil {
		t.Fatalf("create table: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: in.TableName})
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !missing {
			t.Errorf("delete table: %v", err)
		}
	})
	return *in.TableName
}

// open takes the engine that the user names, or else a database of the one that several processes share, or else
// starts an engine.
func open() (url string, err error) {
	if url := os.Getenv(EndpointVariable); url != "" {
		return url, nil
	}
	if !managed.Load() {
		return "", errors.New("the package's TestMain has to call dynamodbtest.Main, which stops the engine")
	}
	if shared := os.Getenv(SharedVariable); shared != "" {
		return database(shared), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	if server, err = dynamodblocal.Start(ctx, dynamodblocal.Options{}); err != nil {
		return "", err
	}
	return server.Endpoint(), nil
}
