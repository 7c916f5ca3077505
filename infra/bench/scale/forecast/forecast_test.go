package forecast_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/bench/scale/forecast"
	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/infra/local/template"
)

const docs = "../../../../docs"

func load(t *testing.T) forecast.Input {
	t.Helper()
	in, err := forecast.Load(os.DirFS(docs + "/scale"))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestDocumentIsOfItsData(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(docs + "/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := load(t).Markdown()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(document)); diff != "" {
		t.Errorf("docs/scale.md is not of the data in docs/scale (-): run go -C infra/bench run ./scale -render\n%s", diff)
	}
}

// TestDataIsComplete looks for units, prices and dates that are missing: a missing one would count as nothing.
func TestDataIsComplete(t *testing.T) {
	t.Parallel()
	in := load(t)
	day := regexp.MustCompile(`^(20\d\d-\d\d-\d\d|not read again)$`)
	for _, p := range in.Prices.Prices {
		if p.USD <= 0 || p.What == "" || !strings.HasPrefix(p.Source, "https://") || !day.MatchString(p.Date) {
			t.Errorf("got the price %+v", p)
		}
	}
	for _, p := range in.Prices.Peers {
		if p.Note == "" || !strings.HasPrefix(p.Source, "https://") || !day.MatchString(p.Date) {
			t.Errorf("got the peer %+v", p)
		}
	}
	for _, name := range []string{"messages", "prompt", "coach", "summarize", "remember"} {
		if in.Units.Session[name].DynamoDBCalls <= 0 || in.Units.Session[name].LogBytes <= 0 {
			t.Errorf("%s has used nothing: %+v", name, in.Units.Session[name])
		}
	}
	if in.Units.Settings.Turns != in.Workload.TurnsPerSession {
		t.Errorf("sessions of %d turns were measured, and %d are assumed", in.Units.Settings.Turns,
			in.Workload.TurnsPerSession)
	}
	for _, users := range in.Workload.Users {
		s := in.Size(users)
		for _, c := range s.Money {
			if math.IsNaN(c.USD) || c.USD <= 0 {
				t.Errorf("%s costs %v for %v users: is its price named?", c.Part, c.USD, users)
			}
		}
	}
}

// TestForecastFollowsTheTemplate compares memory and bounds with the template.
func TestForecastFollowsTheTemplate(t *testing.T) {
	t.Parallel()
	in := load(t)
	tpl, err := template.Parse(throughline.Template, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tpl.Functions {
		if f.Name == "migrate" { // no session needs it; what it costs is in docs/benchmarks.md
			continue
		}
		if got := in.Workload.Functions[f.Name]; int(got.MemoryMB) != f.MemoryMB || got.Seconds() <= 0 {
			t.Errorf("%s has %d MB in the template, and %+v in the workload", f.Name, f.MemoryMB, got)
		}
	}
	stage, err := deployment.Load(throughline.Template, []byte("[x.global.parameters]"), "x")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, l := range in.Limits(in.Size(1)) {
		if l.Moves == "" || l.Bound <= 0 {
			t.Errorf("got the limit %+v", l)
		}
		if l.Default != "" {
			compared++
			if got, want := stage.Value(l.Default), strconv.FormatFloat(l.Bound, 'f', -1, 64); got != want {
				t.Errorf("%s is %s in the template, and %s in the forecast", l.Default, got, want)
			}
		}
		for _, name := range l.Parameters {
			if !stage.Has(name) {
				t.Errorf("%s is moved by %s, which is no parameter of the template", l.Name, name)
			}
		}
	}
	if compared != 5 {
		t.Errorf("%d defaults of the template are limits", compared)
	}
}

// TestADayFollowsFromItsSessions compares days with one session and with three. Only storage grows slower.
func TestADayFollowsFromItsSessions(t *testing.T) {
	t.Parallel()
	in := load(t)
	three := in.Day()
	in.Workload.DaySessions = 1
	one := in.Day()
	for name, usd := range map[string][2]float64{
		"OpenAI: the chat's answers":      {three.USD - three.WithoutChat, one.USD - one.WithoutChat},
		"Amazon Bedrock AgentCore Memory": {three.Peers[0].USD, one.Peers[0].USD},
	} {
		if ratio := usd[0] / usd[1]; ratio < 2.8 || ratio > 3.01 {
			t.Errorf("%s: three sessions cost %.2f times one", name, ratio)
		}
	}
	sum := 0.0
	for _, c := range three.Costs {
		sum += c.USD
	}
	if math.Abs(sum-three.USD) > 1e-9 {
		t.Errorf("the parts cost %v, and all %v", sum, three.USD)
	}
}

func TestForecastGrowsWithItsUsers(t *testing.T) {
	t.Parallel()
	in := load(t)
	one, ten := in.Size(1e6), in.Size(1e7)
	for name, pair := range map[string][2]float64{
		"turns": {one.Turns, ten.Turns}, "write units": {one.WriteUnits, ten.WriteUnits},
		"concurrency": {one.Concurrency(), ten.Concurrency()}, "storage": {one.TableGB, ten.TableGB},
	} {
		if ratio := pair[1] / pair[0]; math.Abs(ratio-10) > 1e-6 {
			t.Errorf("%s: ten times the users have %v times as many", name, ratio)
		}
	}
	limits := in.Limits(ten)
	for i, l := range limits {
		if i > 0 && l.Share() > limits[i-1].Share() {
			t.Errorf("%s comes after one that has more room", l.Name)
		}
		if at := l.Users(ten); math.Abs(in.Limits(in.Size(at))[0].Share()) == 0 || at <= 0 {
			t.Errorf("%s is reached at %v users", l.Name, at)
		}
	}
	if ten.Total() <= one.Total() {
		t.Errorf("ten million users cost %v, one million %v", ten.Total(), one.Total())
	}
}

// TestForecastCountsTheMetricsOfAlarms compares their number with the templates. The canary is off by default.
func TestForecastCountsTheMetricsOfAlarms(t *testing.T) {
	t.Parallel()
	read := 0
	for _, name := range []string{"template.yaml", "release.yaml"} {
		text, err := os.ReadFile("../../../alarms/" + name)
		if err != nil {
			t.Fatal(err)
		}
		read += strings.Count(string(text), "MetricName:") - strings.Count(string(text), "MetricName: CanaryDone")
	}
	if got := load(t).Workload.AlarmMetrics; got != float64(read) {
		t.Errorf("alarms read %d metrics, and %v are in the workload", read, got)
	}
}

// TestForecastBillsWhatIsNotSeen doubles what no answer shows, and expects a larger bill.
func TestForecastBillsWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	const users = 10_000
	before := load(t).Size(users).Total()
	for name, change := range map[string]func(*forecast.Workload){
		"reasoning of answers":    func(w *forecast.Workload) { w.ReasoningTokensPerAnswer *= 2 },
		"reasoning of background": func(w *forecast.Workload) { w.ReasoningTokensPerCall *= 2 },
		"kept logs":               func(w *forecast.Workload) { w.LogMonths *= 2 },
		"metrics":                 func(w *forecast.Workload) { w.Metrics *= 2 },
	} {
		in := load(t)
		change(&in.Workload)
		if after := in.Size(users).Total(); after <= before {
			t.Errorf("%s: twice as much costs %v, and it was %v", name, after, before)
		}
	}
	in := load(t)
	in.Workload.CacheWriteShare = 0
	if after := in.Size(users).Total(); after >= before {
		t.Errorf("without writes to the cache it costs %v, and it was %v", after, before)
	}
}
