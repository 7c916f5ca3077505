package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
)

// measured are the metrics that a stack has written, by function and name, such as "coach AnswersFailed".
type measured struct{ sum, most map[string]float64 }

func readMetrics(t *testing.T, path string) measured {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := measured{map[string]float64{}, map[string]float64{}}
	for line := range bytes.Lines(raw) {
		values := map[string]any{}
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		if err := json.Unmarshal(line, &values); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		function, _ := values["Function"].(string)
		for name, value := range values {
			if n, ok := value.(float64); ok {
				key := function + " " + name
				out.sum[key] += n
				out.most[key] = max(out.most[key], n)
			}
		}
	}
	return out
}

var ownMetric = regexp.MustCompile(`MetricName: (\w+)[^\[]*\[\{ Name: Function, Value: (\w+) \}`)

// alarmMetrics returns the metrics of Throughline's own that an alarm reads.
func alarmMetrics(t *testing.T, alarm string) map[string]bool {
	t.Helper()
	var raw []byte
	for _, path := range []string{"../alarms/template.yaml", "../alarms/release.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, text...)
	}
	_, rest, found := strings.Cut(string(raw), "AlarmName: !Sub ${Prefix}-"+alarm+"\n")
	block, _, _ := strings.Cut(rest, "TreatMissingData:")
	metrics := map[string]bool{}
	for _, m := range ownMetric.FindAllStringSubmatch(block, -1) {
		metrics[m[2]+" "+m[1]] = true
	}
	if !found || len(metrics) == 0 {
		t.Fatalf("the alarm %s reads no metric", alarm)
	}
	return metrics
}

// TestOutagesMoveTheAlarms plays outages, and expects that the metrics move which the alarms read.
func TestOutagesMoveTheAlarms(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "metrics")
	stack := startStack(t, "METRICS_FILE="+path, "TRIGGERS=messages=20,idle=1s,sweep=1s")
	ann, err := client.New(stack.Base).As(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	open(t, ann, "coach_conversation", "s")
	talk(t, ann, "s", "My knee hurts.")
	moves := func(alarm, metric string, above float64) {
		t.Helper()
		if !alarmMetrics(t, alarm)[metric] {
			t.Errorf("the alarm %s does not read %s", alarm, metric)
		}
		eventually(t, 20*time.Second, alarm+": "+metric, func() bool { return readMetrics(t, path).most[metric] > above })
	}
	faults := func(service string, settings object) {
		t.Helper()
		do(t, client.New(stack.Base), http.MethodPost, "/dev/faults", object{service: settings}, nil)
	}
	eventually(t, 20*time.Second, "a whole answer", func() bool {
		m := readMetrics(t, path)
		return m.sum["coach AnswersDone"] == 1 && m.most["coach FirstToken"] > 0 && m.sum["coach ModelCalls"] == 1
	})
	if m := readMetrics(t, path); m.sum["coach AnswersFailed"] != 0 || m.sum["coach ModelFailures"] != 0 {
		t.Errorf("before the outage: %v", m.sum)
	}

	faults("openai", object{"errorRate": 1})
	var a answer
	if err := ann.Chat(t.Context(), object{"sessionId": "s", "message": "And now?"}, a.read); err != nil {
		t.Fatal(err)
	}
	if a.Last != "error" || !strings.Contains(a.Problem, `"code":"unavailable"`) {
		t.Errorf("without a model the answer ends in %s, %s", a.Last, a.Problem)
	}
	moves("answers-burn-fast", "coach AnswersFailed", 0)
	moves("answers-burn-slow", "coach AnswersFailed", 0)
	moves("release-answers", "coach AnswersFailed", 0) // a release with this effect goes back
	moves("model-failing", "coach ModelFailures", 0)
	moves("model-failing", "summarize ModelFailures", 0)
	moves("embedding-failing", "remember EmbeddingFailures", 0)
	moves("work-uncovered", "summarize OldestUncovered", 2_000)
	faults("openai", object{})

	faults("pinecone", object{"errorRate": 1})
	say(t, ann, "s", "My knee is better.")
	moves("vector-failing", "remember VectorFailures", 0)
	faults("pinecone", object{})

	faults("openai", object{"latencyMs": 2_000})
	talk(t, ann, "s", "Are you slow?")
	moves("first-token-slow", "coach FirstToken", 2_000)
}

// TestCanarySeesAnOutage has an outage of the model with nobody there. The daily quota does not bind the canary, and
// nothing of its turns is left.
func TestCanarySeesAnOutage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "metrics")
	stack := startStack(t, "METRICS_FILE="+path, "TRIGGERS=canary=500ms", "DAILY_TOKENS=1")
	const done = "coach CanaryDone"
	if !alarmMetrics(t, "canary-failing")[done] {
		t.Errorf("the alarm canary-failing does not read %s", done)
	}
	eventually(t, 30*time.Second, "three whole turns", func() bool { return readMetrics(t, path).sum[done] >= 3 })
	faults := func(settings object) {
		t.Helper()
		do(t, client.New(stack.Base), http.MethodPost, "/dev/faults", object{"openai": settings}, nil)
	}
	faults(object{"errorRate": 1})
	eventually(t, 30*time.Second, "turns fail, and none succeeds", func() bool {
		before := readMetrics(t, path).sum
		time.Sleep(2 * time.Second) // what the alarm's period is
		after := readMetrics(t, path).sum
		return after["coach AnswersFailed"] > before["coach AnswersFailed"] && after[done] == before[done]
	})
	faults(object{})
	before := readMetrics(t, path).sum[done]
	eventually(t, 30*time.Second, "whole turns again", func() bool { return readMetrics(t, path).sum[done] > before })
	canary, err := client.New(stack.Base).As(t.Context(), "throughline:canary")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, "a moment without a session", func() bool {
		var list struct{ Items []object }
		do(t, canary, http.MethodGet, "/v1/sessions", nil, &list)
		return len(list.Items) == 0
	})
}
