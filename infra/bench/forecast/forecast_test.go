package main

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

const docs = "../../../docs"

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func read(t *testing.T) input {
	t.Helper()
	return check.Got(load(docs))(t)
}

func TestDocumentIsOfItsData(t *testing.T) {
	t.Parallel()
	document := check.Got(os.ReadFile(docs + "/scale.md"))(t)
	want := check.Got(read(t).markdown())(t)
	check.Same(t, want, string(document),
		"docs/scale.md (+) is not of the data in docs/scale (-): run go -C infra/bench run ./forecast -render")
}

// TestDataIsComplete looks for units, prices and dates that are missing: a missing one would count as nothing.
func TestDataIsComplete(t *testing.T) {
	t.Parallel()
	in := read(t)
	day := regexp.MustCompile(`^(20\d\d-\d\d-\d\d|not read again)$`)
	for _, p := range in.Prices {
		if p.USD <= 0 || p.Per <= 0 || p.What == "" || !strings.HasPrefix(p.Source, "https://") || !day.MatchString(p.Date) {
			t.Errorf("got the price %+v", p)
		}
	}
	for _, name := range []string{"messages", "prompt", "coach", "summarize", "remember"} {
		if in.Units.Session[name]["dynamodbCalls"] <= 0 || in.Units.Session[name]["logBytes"] <= 0 {
			t.Errorf("%s has used nothing: %+v", name, in.Units.Session[name])
		}
	}
	if turns := in.Units.Settings["turns"]; turns != in.Workload.TurnsPerSession {
		t.Errorf("sessions of %d turns were measured, and %d are assumed", turns, in.Workload.TurnsPerSession)
	}
	if sessions := in.Units.Settings["sessions"]; sessions == 0 || sessions%int(in.Workload.DaySessions) != 0 {
		t.Errorf("%d sessions were measured, which are no days of %v", sessions, in.Workload.DaySessions)
	}
	for _, users := range in.Workload.Users {
		for _, c := range in.size(users).Bill {
			if math.IsNaN(c.USD) || c.USD <= 0 {
				t.Errorf("%s costs %v for %v users", c.Part, c.USD, users)
			}
		}
	}
}

// TestForecastFollowsTheTemplate compares memory and bounds with the template.
func TestForecastFollowsTheTemplate(t *testing.T) {
	t.Parallel()
	in := read(t)
	tpl := check.Got(template.Parse(throughline.Template, nil))(t)
	for _, f := range tpl.Functions {
		if f.Name == "migrate" { // no session needs it
			continue
		}
		got := in.Workload.Functions[f.Name]
		if int(got.MemoryMB) != f.MemoryMB || got.Seconds() <= 0 {
			t.Errorf("%s has %d MB in the template, and %+v in the workload", f.Name, f.MemoryMB, got)
		}
		for _, s := range f.Streams {
			if s.BatchWindow.Seconds() != got.WindowSeconds {
				t.Errorf("%s gathers for %v in the template, and %+v in the workload", f.Name, s.BatchWindow, got)
			}
		}
	}
	stage := check.Got(config.Parse(map[string]string{"TABLE_NAME": "t"}))(t)
	if got := in.Workload.DenseDimensions; int(got) != stage.OpenAI.Embedding.Dimensions {
		t.Errorf("a vector has %v dimensions in the workload, want those of %v", got, stage.OpenAI.Embedding)
	}
	defaults := map[string]string{}
	parameter := regexp.MustCompile(`(?m)^  (\w+):\n(?:    .*\n)*?    Default: "?(.*?)"?$`)
	for _, found := range parameter.FindAllStringSubmatch(string(throughline.Template), -1) {
		defaults[found[1]] = found[2]
	}
	compared := 0
	for _, l := range in.size(1).Limits {
		if l.Moves == "" || l.Bound <= 0 || l.Use <= 0 {
			t.Errorf("got the limit %+v", l)
		}
		if l.Default != "" {
			compared++
			if got, want := defaults[l.Default], strconv.FormatFloat(l.Bound, 'f', -1, 64); got != want {
				t.Errorf("%s is %s in the template, and %s in the forecast", l.Default, got, want)
			}
		}
		for _, name := range l.Parameters {
			if _, known := defaults[name]; !known {
				t.Errorf("%s is moved by %s, which is no parameter of the template", l.Name, name)
			}
		}
	}
	if compared != 5 {
		t.Errorf("%d defaults of the template are limits", compared)
	}
}

// TestADayFollowsFromItsSessions compares days with one session and with three.
func TestADayFollowsFromItsSessions(t *testing.T) {
	t.Parallel()
	in := read(t)
	three := in.day()
	in.Workload.DaySessions = 1
	one := in.day()
	if ratio := (three.USD - three.WithoutChat) / (one.USD - one.WithoutChat); math.Abs(ratio-3) > 0.01 {
		t.Errorf("the answers of three sessions cost %.2f times those of one", ratio)
	}
	if three.WithoutChat >= three.USD || three.WithoutChat <= one.WithoutChat {
		t.Errorf("got %+v and %+v", one, three)
	}
}

func TestForecastGrowsWithItsUsers(t *testing.T) {
	t.Parallel()
	in := read(t)
	one, ten := in.size(1e6), in.size(1e7)
	for _, name := range []string{"turns", "writeUnits", "executions", "tableGB"} {
		if ratio := ten.Month[name] / one.Month[name]; math.Abs(ratio-10) > 1e-6 {
			t.Errorf("%s: ten times the users have %v times as many", name, ratio)
		}
	}
	for i, l := range ten.Limits {
		if i > 0 && l.Share > ten.Limits[i-1].Share {
			t.Errorf("%s comes after one that has more room", l.Name)
		}
		if at := in.month(l.Users)[l.limit.Use]; math.Abs(at/l.Bound-1) > 1e-6 {
			t.Errorf("%s is reached at %v users, and they use %v", l.Name, l.Users, at)
		}
	}
	if ten.USD <= one.USD || ten.Passed == "" {
		t.Errorf("ten million users cost %v, one million %v", ten.USD, one.USD)
	}
}

// TestForecastCountsTheMetricsOfAlarms compares their number with the templates. The canary is off by default.
func TestForecastCountsTheMetricsOfAlarms(t *testing.T) {
	t.Parallel()
	count := 0
	for _, name := range []string{"template.yaml", "release.yaml"} {
		text := check.Got(os.ReadFile("../../alarms/" + name))(t)
		count += strings.Count(string(text), "MetricName:") - strings.Count(string(text), "MetricName: CanaryDone")
	}
	if got := read(t).Workload.AlarmMetrics; got != float64(count) {
		t.Errorf("alarms read %d metrics, and %v are in the workload", count, got)
	}
}

// TestBackgroundCallsAreInTheirTiers checks that what nobody waits for was measured in the flex tier, that extraction's
// rules came from the cache of all users, and that a day without flex costs more.
func TestBackgroundCallsAreInTheirTiers(t *testing.T) {
	t.Parallel()
	in := read(t)
	for form, isFlex := range map[string]bool{"memory_extraction": true, "spine": true, "session_summary": false} {
		if isFlex {
			form += flexForm
		}
		if in.Units.Calls[form]["modelCalls"] <= 0 {
			t.Errorf("no call of %s was measured", form)
		}
	}
	if in.Units.Calls["memory_extraction"+flexForm]["cachedTokens"] < 1024 {
		t.Error("the rules of extraction were not cached")
	}
	with := in.day().WithoutChat
	in.Workload.FlexMissedShare = 1
	if without := in.day().WithoutChat; without <= with {
		t.Errorf("a day costs %v with flex and %v without", with, without)
	}
	for _, p := range in.Workload.Peers {
		if p.Cents <= 0 || p.Date == "" || !strings.HasPrefix(p.Source, "https://") {
			t.Errorf("got the peer %+v", p)
		}
	}
}

// TestForecastBillsWhatIsNotSeen doubles what no answer shows, and expects a larger bill.
func TestForecastBillsWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	const users = 10_000
	before := read(t).size(users).USD
	for name, change := range map[string]func(*workload){
		"reasoning of answers":    func(w *workload) { w.ReasoningTokensPerAnswer *= 2 },
		"reasoning of background": func(w *workload) { w.ReasoningTokensPerCall *= 2 },
		"kept logs":               func(w *workload) { w.LogMonths *= 2 },
		"metrics":                 func(w *workload) { w.Metrics *= 2 },
	} {
		in := read(t)
		change(&in.Workload)
		if after := in.size(users).USD; after <= before {
			t.Errorf("%s: twice as much costs %v, and it was %v", name, after, before)
		}
	}
	in := read(t)
	in.Workload.CacheWriteShare = 0
	if after := in.size(users).USD; after >= before {
		t.Errorf("without writes to the cache it costs %v, and it was %v", after, before)
	}
}

// TestPublishedUnitsAreThoseOfTheCode plays a day and compares it with the numbers that docs/scale.md is made of.
// What grows with the user's history, as a prompt's reads do, is not compared.
func TestPublishedUnitsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	published := read(t)
	turns := published.Workload.TurnsPerSession
	got := check.Got(measure(t.Context(), dynamodbtest.Endpoint(t), 0, 1, int(published.Workload.DaySessions), turns))(t)
	now, then := input{Units: got}.Total(), published.Total()
	for _, name := range []string{"dynamodbCalls", "writeUnits", "modelCalls", "vectors", "indexQueries", "invocations"} {
		if math.Abs(now[name]-then[name]) > then[name]/4 {
			t.Errorf("%s of a session: %v are published, and it has %v: run make bench NAME=forecast",
				name, then[name], now[name])
		}
	}
	if got.TableBytes <= 0 || got.IndexBytes <= 0 || got.Records < float64(2*turns) {
		t.Errorf("a session leaves %v bytes and %v in %v records", got.TableBytes, got.IndexBytes, got.Records)
	}
}
