package dynamo_test

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// wire is the connection between the SDK and the engine. It does to the first requests of an operation what its script
// says, so that a test sees what the SDK makes of it.
type wire struct {
	op string

	mu     sync.Mutex
	script []exchange
	done   int
}

// noJitter is random, except for the 8 bytes from which a wait is drawn.
type noJitter struct{}

func (noJitter) Read(p []byte) (int, error) {
	if len(p) == 8 {
		clear(p)
		return len(p), nil
	}
	return rand.Read(p)
}

// exchange is a request and its answer.
type exchange struct {
	carriedOut bool
	// code is that of the service's error. Without one the connection breaks before the answer.
	code string
	// reasons are those of a cancelled transaction.
	reasons []string
	// message is that of the error, "scripted" where it is empty. isCut says that the answer breaks off after its status.
	message string
	isCut   bool
}

// openWired returns the stores of a table whose calls go through a wire. They do not wait between attempts.
func openWired(t *testing.T, table string, w *wire, options ...dynamo.Option) dynamotest.Stores {
	t.Helper()
	options = append(options, dynamo.WithRandom(noJitter{}))
	return dynamotest.StoresOf(dynamo.New(dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(dynamodbtest.Endpoint(t)), HTTPClient: w,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}), table, options...))
}

// Do sends one request, as the script says.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	next, scripted := w.next(strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810."))
	if !scripted {
		return http.DefaultClient.Do(r)
	}
	if next.carriedOut {
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode != http.StatusOK {
			return answer, nil
		}
		_ = answer.Body.Close()
	}
	if next.code == "" {
		return nil, dynamotest.ErrNoAnswer
	}
	return next.answer(r)
}

func (w *wire) next(op string) (exchange, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if op != w.op || w.done == len(w.script) {
		return exchange{}, false
	}
	w.done++
	return w.script[w.done-1], true
}

// answer is the service's answer with the exchange's error.
func (e exchange) answer(r *http.Request) (*http.Response, error) {
	type reason struct{ Code string }
	message := cmp.Or(e.message, "scripted")
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + e.code, "message": message}
	if len(e.reasons) > 0 {
		reasons := make([]reason, len(e.reasons))
		for i, code := range e.reasons {
			reasons[i].Code = code
		}
		body["CancellationReasons"] = reasons
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	status := http.StatusBadRequest
	if e.code == "InternalServerError" {
		status = http.StatusInternalServerError
	}
	var answer io.Reader = bytes.NewReader(raw)
	if e.isCut {
		answer = iotest.ErrReader(net.ErrClosed)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(answer), ContentLength: int64(len(raw)), Request: r,
	}, nil
}
