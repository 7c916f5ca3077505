package rie_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/infra/rie"
)

var docs = flag.String("docs", "", "the folder of the document that BenchmarkMemory writes a section of")

const (
	// repeats is how many invocations the CPU time of one is the mean of.
	repeats = 100
	// large is the content of a message as large as most of those that an app stores should never be.
	large = 100 << 10
)

// task is what one function is measured at.
type task struct {
	usual, largest string
	// once does the usual for the i-th time, and most the largest.
	once func(b *testing.B, i int)
	most func(b *testing.B)
}

// BenchmarkMemory measures the CPU time and the memory of each function's process, which the sizes in the template
// follow from. A size is no bound here: a function is told its size, and collects garbage by it.
func BenchmarkMemory(b *testing.B) {
	s := newSystem(b, map[string]string{"RequestsPerMinute": "100000"})
	s.callRoute(b, http.MethodPost, "/v1/sessions", sessionBody("s"), http.StatusCreated)
	s.append(b, "s", 0, "I swapped the hip thrusts for glute bridges.")
	tasks := s.tasks()
	names := slices.Sorted(maps.Keys(tasks))
	milliseconds := map[string]float64{}
	for _, name := range names {
		tasks[name].once(b, 0) // the start is not counted
		before := s.usage(b, name).CPU
		for i := range repeats {
			tasks[name].once(b, i+1)
		}
		milliseconds[name] = (s.usage(b, name).CPU - before).Seconds() * 1000 / repeats
	}
	for i := range 16 {
		id := "large-" + strconv.Itoa(i)
		s.callRoute(b, http.MethodPost, "/v1/sessions", sessionBody(id), http.StatusCreated)
		for n := range 32 {
			s.append(b, id, n, strings.Repeat("hip thrusts ", large/12))
		}
		s.callRoute(b, http.MethodPatch, "/v1/sessions/"+id, `{"status":"completed"}`, http.StatusOK)
		if i == 0 {
			s.export(b) // the emulator takes answers of 6 MB
		}
	}
	for _, name := range names {
		tasks[name].most(b)
	}
	s.writeUsage(b, tasks, names, milliseconds)
}

// tasks returns what each function is measured at. The migration's function has work of hours, of which
// docs/benchmarks.md has other figures.
func (s *system) tasks() map[string]task {
	return map[string]task{
		"messages": {
			"two short messages", "1 MB of messages, and a page of 3 MB",
			func(b *testing.B, i int) { s.append(b, "s", i+1, "How many of them?") },
			func(b *testing.B) {
				s.append(b, "large-0", 99, slices.Repeat([]string{strings.Repeat("x", large)}, 10)...)
				s.callRoute(b, http.MethodGet, "/v1/sessions/large-0/messages", "", http.StatusOK)
			},
		},
		"context": {
			"a recall", "a recall among messages of 100 KB",
			func(b *testing.B, _ int) { s.invoke(b, "context", load(b, "context-invoke")) },
			func(b *testing.B) { s.invoke(b, "context", load(b, "context-invoke")) },
		},
		"prompt": {
			"a prompt", "a prompt of a session of 3 MB",
			func(b *testing.B, _ int) { s.call(b, "prompt", s.promptOf(b, "s"), http.StatusOK) },
			func(b *testing.B) { s.call(b, "prompt", s.promptOf(b, "large-0"), http.StatusOK) },
		},
		"coach": {
			"a turn", "an export of 3 MB, and a turn in its session",
			func(b *testing.B, i int) { s.turn(b, "s", i) },
			func(b *testing.B) { s.turn(b, "large-0", 0) },
		},
		"mcp": {
			"a search", "the messages of a session of 3 MB",
			func(b *testing.B, _ int) {
				s.callMCP(b, "search", `{"name":"search","arguments":{"query":"hip thrusts"}}`)
			},
			func(b *testing.B) {
				const messages = "throughline://sessions/large-0/messages"
				s.callMCP(b, messages, `{"uri":"`+messages+`"}`)
			},
		},
		"summarize": {
			"a session that was left", "16 sessions of 3 MB in one batch",
			func(b *testing.B, i int) {
				s.append(b, "s", 1000+i, "And tomorrow?")
				s.callRoute(b, http.MethodPost, "/v1/sessions/s/leave", "", http.StatusAccepted)
				s.batch(b, "summarize", s.changes(b, "summarize", "conversation#s", 1))
			},
			func(b *testing.B) { s.batch(b, "summarize", s.changes(b, "summarize", "conversation#large-", 16)) },
		},
		"remember": {
			"two messages", "nine messages of 100 KB",
			func(b *testing.B, _ int) { s.batch(b, "remember", s.changes(b, "remember", "msg#", 2)) },
			func(b *testing.B) { s.batch(b, "remember", s.changes(b, "remember", "msg#", 9)) },
		},
	}
}

func sessionBody(id string) string {
	return `{"sessionId":"` + id + `","context":"coach_conversation","coachId":"coach-1"}`
}

// append stores one message of the user for each content, for the n-th time.
func (s *system) append(b *testing.B, session string, n int, contents ...string) {
	b.Helper()
	var messages []map[string]string
	for _, c := range contents {
		messages = append(messages, map[string]string{"role": "user", "content": fmt.Sprint(n, ": ", c)})
	}
	body := string(encode(b, map[string]any{"messages": messages}))
	s.callRoute(b, http.MethodPost, "/v1/sessions/"+session+"/messages", body, http.StatusCreated)
}

func (s *system) usage(b *testing.B, function string) rie.Usage {
	b.Helper()
	u, err := s.functions[function].Usage()
	if err != nil {
		b.Fatal(err)
	}
	return u
}

// promptOf returns the event of a prompt for a session.
func (s *system) promptOf(b *testing.B, session string) []byte {
	b.Helper()
	return bytes.ReplaceAll(load(b, "prompt"), []byte("session-1"), []byte(session))
}

// turn is the i-th turn of the chat in a session.
func (s *system) turn(b *testing.B, session string, i int) {
	b.Helper()
	e := decode[events.LambdaFunctionURLRequest](b, load(b, "coach"))
	e.Headers["authorization"], e.Headers["idempotency-key"] = "Bearer "+s.token, session+strconv.Itoa(i)
	e.Body = `{"sessionId":"` + session + `","message":"And what now?"}`
	if answer := s.invoke(b, "coach", encode(b, e)); !bytes.Contains(answer, []byte("event: done\n")) {
		b.Fatalf("a turn is answered with %s", answer)
	}
}

// changes returns a stream event of n of the items under a prefix, which are the newest messages.
func (s *system) changes(b *testing.B, function, prefix string, n int) []byte {
	b.Helper()
	stored := s.query(b, prefix, false)
	if len(stored) < n {
		b.Fatalf("%d items under %s, want %d", len(stored), prefix, n)
	}
	event := decode[map[string][]map[string]any](b, load(b, function))
	first, records := event["Records"][0], []map[string]any{}
	for _, item := range stored[:n] {
		r := maps.Clone(first)
		change := maps.Clone(first["dynamodb"].(map[string]any))
		change["Keys"], change["NewImage"] = map[string]any{"pk": item["pk"], "sk": item["sk"]}, item
		r["dynamodb"] = change
		records = append(records, r)
	}
	return encode(b, map[string]any{"Records": records})
}

// writeUsage prints what was measured beside the template's sizes, and writes the section of the document.
func (s *system) writeUsage(b *testing.B, tasks map[string]task, names []string, milliseconds map[string]float64) {
	b.Helper()
	deployed, err := template.Parse(throughline.Template, map[string]string{"JwtIssuer": "https://issuer.example.com"})
	if err != nil {
		b.Fatal(err)
	}
	table := report.Table{Header: []string{"function", "CPU ms", "of", "peak MB", "at", "size MB", "size / peak"}}
	for _, name := range names {
		f, _ := deployed.Function(name)
		peak := s.usage(b, name).PeakMB
		b.ReportMetric(milliseconds[name], name+"-CPU-ms")
		b.ReportMetric(peak, name+"-peak-MB")
		table.Add(name, strconv.FormatFloat(milliseconds[name], 'f', 1, 64), tasks[name].usual,
			strconv.Itoa(int(math.Ceil(peak))), tasks[name].largest, strconv.Itoa(f.MemoryMB),
			strconv.FormatFloat(float64(f.MemoryMB)/peak, 'f', 1, 64))
	}
	b.Log("\n" + table.Markdown())
	if *docs == "" {
		return
	}
	body := fmt.Sprintf(memorySection, report.ThisMachine(), repeats) + table.Markdown()
	if err := report.WriteSection(*docs+"/benchmarks.md", "", "memory", body); err != nil {
		b.Fatal(err)
	}
}

const memorySection = `## CPU time and memory of the functions

Measured by ` + "`make bench-memory`" + `: %s.
Each function's binary ran under the Lambda emulator, with the local engines. The CPU time is the mean of %d usual
invocations, and the peak is the most memory that the process ever had, of the usual and of the largest invocation.
Lambda gives a function one core for each 1,769 MB, so that n ms of CPU time take n x 1,769 / size ms. Most functions
mostly wait, and the wait costs by the size: hence 512 MB for what takes few milliseconds. A prompt is mostly CPU time,
and a full batch of remember has 200 records.

`
