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
	"github.com/throughline/throughline/internal/testing/check"
)

// measured are the metrics that a stack has written, by function and name, such as "coach AnswersFailed".
type measured struct{ sum, most map[string]float64 }

func readMetrics(t *testing.T, path string) measured {
	t.Helper()
	raw := check.Got(os.ReadFile(path))(t)
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
		text := check.Got(os.ReadFile(path))(t)
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
	canary := check.Got(client.New(stack.Base).As(t.Context(), "throughline:canary"))(t)
	eventually(t, 30*time.Second, "a moment without a session", func() bool {
		var list struct{ Items []object }
		do(t, canary, http.MethodGet, "/v1/sessions", nil, &list)
		return len(list.Items) == 0
	})
}
