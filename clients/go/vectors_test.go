package throughline_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	throughline "github.com/throughline/throughline/clients/go"
)

// vector is one vector of ../vectors, as far as a client reads it.
type vector struct {
	Name string
	Call struct {
		Operation   string
		Path        []string
		Body, Query json.RawMessage
	}
	Options struct {
		User, Key string
		TimeoutMs int
	}
	Result, Items, Events, Fails json.RawMessage
	Ignore                       []string
}

// TestVectors plays the vectors against their server.
func TestVectors(t *testing.T) {
	t.Parallel()
	server := os.Getenv("VECTORS")
	if server == "" {
		t.Fatal("run make clients, which starts the server of the vectors")
	}
	var vectors []vector
	fetch(t, http.MethodGet, server+"/vectors", "", &vectors)
	if len(vectors) < 25 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for i, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			var run struct{ Run, Base string }
			fetch(t, http.MethodPost, server+"/runs/"+strconv.Itoa(i), "", &run)
			got := play(t, v, run.Base)
			var verdict struct{ Faults []string }
			fetch(t, http.MethodGet, server+"/runs/"+run.Run+"/verdict", "", &verdict)
			if len(verdict.Faults) > 0 {
				t.Errorf("%q", verdict.Faults)
			}
			want := map[string]any{"result": v.Result, "items": v.Items, "events": v.Events, "fails": v.Fails}
			if got, want := plain(t, got), plain(t, want); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

// play makes the call of a vector, and returns what the app gets.
func play(t *testing.T, v vector, base string) map[string]any {
	t.Helper()
	var count atomic.Int64
	client := throughline.New(throughline.Config{
		BaseURL: base, HTTP: &http.Client{Transport: &http.Transport{}},
		TokenSource: func(context.Context) (string, error) { return "token-" + strconv.FormatInt(count.Add(1), 10), nil },
	})
	if v.Options.User != "" {
		client = client.As(v.Options.User)
	}
	name := strings.ToUpper(v.Call.Operation[:1]) + v.Call.Operation[1:]
	method := reflect.ValueOf(client).MethodByName(name)
	answers := method.Call(arguments(t, v, method.Type()))
	got := map[string]any{"result": nil}
	err, _ := reflect.TypeAssert[error](answers[len(answers)-1])
	switch first := answers[0]; {
	case v.Events != nil || v.Items != nil || first.Kind() == reflect.Func:
		delete(got, "result")
		field := map[bool]string{true: "events", false: "items"}[v.Events != nil || v.Call.Operation == "chat"]
		if items, failure := collect(first); items != nil || v.Events != nil || v.Items != nil {
			got[field], err = append([]any{}, items...), failure
		} else {
			err = failure
		}
	case err == nil && len(answers) > 1 && !first.IsNil():
		got["result"] = first.Interface()
	}
	if err != nil {
		delete(got, "result")
		got["fails"] = failure(t, err, string(v.Fails))
	}
	return got
}

// arguments returns the arguments of a method, decoded from the vector.
func arguments(t *testing.T, v vector, method reflect.Type) []reflect.Value {
	t.Helper()
	arguments := []reflect.Value{reflect.ValueOf(t.Context())}
	for _, value := range v.Call.Path {
		arguments = append(arguments, reflect.ValueOf(value))
	}
	for len(arguments) < method.NumIn()-1 { // the last are options
		argument, given := reflect.New(method.In(len(arguments))), v.Call.Body
		if strings.HasSuffix(argument.Type().Elem().Name(), "Query") {
			given = v.Call.Query
		}
		if given != nil {
			if err := json.Unmarshal(given, argument.Interface()); err != nil {
				t.Fatal(err)
			}
		}
		arguments = append(arguments, argument.Elem())
	}
	if v.Options.Key != "" {
		arguments = append(arguments, reflect.ValueOf(throughline.IdempotencyKey(v.Options.Key)))
	}
	if v.Options.TimeoutMs > 0 {
		timeout := time.Duration(v.Options.TimeoutMs) * time.Millisecond
		arguments = append(arguments, reflect.ValueOf(throughline.Timeout(timeout)))
	}
	return arguments
}

// collect returns the items of a list or a stream, and the error at which it ended.
func collect(answer reflect.Value) (items []any, err error) {
	if all := answer.MethodByName("All"); all.IsValid() {
		answer = all.Call(nil)[0]
	}
	switch stream := answer.Interface().(type) {
	case iter.Seq2[throughline.ChatEvent, error]:
		for event, failed := range stream {
			err = failed
			if failed == nil {
				items = append(items, named(event))
			}
		}
	case iter.Seq2[throughline.Record, error]:
		for record, failed := range stream {
			err = failed
			if failed == nil {
				items = append(items, record.JSON)
			}
		}
	default:
		for item, failed := range answer.Seq2() {
			err, _ = reflect.TypeAssert[error](failed)
			if err == nil {
				items = append(items, item.Interface())
			}
		}
	}
	return items, err
}

// named returns an event as the vectors have it.
func named(event throughline.ChatEvent) map[string]any {
	switch {
	case event.Prompt != nil:
		return map[string]any{"event": "prompt", "data": event.Prompt}
	case event.Token != nil:
		return map[string]any{"event": "token", "data": event.Token}
	}
	return map[string]any{"event": "done", "data": event.Done}
}

// failure returns what a vector says about an error.
func failure(t *testing.T, err error, said string) map[string]any {
	t.Helper()
	var problem *throughline.ProblemError
	var lost *throughline.LostAnswerError
	switch {
	case errors.Is(err, throughline.ErrTimeout):
		return map[string]any{"kind": "timeout"}
	case errors.As(err, &lost):
		return map[string]any{"kind": "connection"}
	case !errors.As(err, &problem):
		t.Fatal(err)
	}
	got := map[string]any{"kind": "problem", "status": problem.Status, "code": problem.Code}
	if strings.Contains(said, "retryAfterMs") {
		got["retryAfterMs"] = problem.RetryAfter.Milliseconds()
	}
	if strings.Contains(said, "requestId") {
		got["requestId"] = problem.RequestID
	}
	if strings.Contains(said, "errors") {
		got["errors"] = problem.Errors
	}
	return got
}

// plain returns a value as JSON has it, without nulls, and with times in one form.
func plain(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return simple(decoded)
}

func simple(value any) any {
	switch value := value.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, value); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case []any:
		for i := range value {
			value[i] = simple(value[i])
		}
	case map[string]any:
		for name := range value {
			if value[name] = simple(value[name]); value[name] == nil {
				delete(value, name)
			}
		}
	}
	return value
}

// fetch makes a request of the test itself.
func fetch(t *testing.T, method, address, body string, into any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
}
