package architecture_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

// pattern is the filter of a stream mapping.
type pattern struct {
	EventName []string
	DynamoDB  struct {
		Keys struct {
			SK struct{ S []struct{ Prefix string } }
		}
		NewImage struct {
			Origin struct{ S []struct{ Exists *bool } }
		}
	}
}

func TestStreamFiltersMatchTheCode(t *testing.T) {
	t.Parallel()
	sessions := registry.StreamPrefixes()
	slices.Sort(sessions)
	tests := []struct {
		function         string
		events, prefixes []string
	}{
		{"summarize", []string{"INSERT", "MODIFY"}, sessions},
		{"remember", []string{"INSERT"}, []string{"msg#"}},
	}
	tpl := readTemplate(t)
	for _, tt := range tests {
		t.Run(tt.function, func(t *testing.T) {
			t.Parallel()
			all := streamPatterns(t, tpl, tt.function)
			if tt.function == "summarize" {
				last := &all[len(all)-1] // it takes deletions, too
				check.Same(t, []string{"INSERT", "MODIFY", "REMOVE"}, last.EventName, "event names of the last pattern")
				last.EventName = tt.events
				for _, other := range all[1:] { // they differ in the attributes that they ask for
					check.Same(t, all[0], other, "the patterns of summarize differ in what they read of the keys")
				}
			}
			p := all[0]
			var prefixes []string
			for _, s := range p.DynamoDB.Keys.SK.S {
				prefixes = append(prefixes, s.Prefix)
			}
			slices.Sort(prefixes)
			check.Same(t, tt.prefixes, prefixes, "prefixes in code (-) and in the filter (+)")
			check.Same(t, tt.events, p.EventName, "event names")
			origin := p.DynamoDB.NewImage.Origin.S
			if len(origin) != 1 || origin[0].Exists == nil || *origin[0].Exists {
				t.Errorf("the filter does not drop what backfill wrote: %+v", origin)
			}
		})
	}
}

// TestRememberFollowsRecords checks the second filter of remember, which takes every change of memories, check-ins and
// documents.
func TestRememberFollowsRecords(t *testing.T) {
	t.Parallel()
	p := streamPatterns(t, readTemplate(t), "remember")[1]
	var prefixes []string
	for _, s := range p.DynamoDB.Keys.SK.S {
		prefixes = append(prefixes, s.Prefix)
	}
	want := []string{"ltm#memory#", "past#memory#", "ltm#check_in#", "past#check_in#", "doc#"}
	if diff := cmp.Diff(want, prefixes); diff != "" || len(p.EventName) > 0 {
		t.Errorf("events %v, prefixes (-want +got):\n%s", p.EventName, diff)
	}
}

func streamPatterns(t *testing.T, tpl *template.Template, function string) []pattern {
	t.Helper()
	var found []pattern
	f, _ := tpl.Function(function)
	for _, s := range f.Streams {
		for _, filter := range s.Filters {
			var p pattern
			if err := json.Unmarshal([]byte(filter), &p); err != nil {
				t.Fatalf("decode filter: %v", err)
			}
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no filter on the stream", function)
	}
	return found
}

// TestBackgroundWorkIsBounded checks that the functions of the stream have a bound, so that they cannot take the whole
// concurrency of an account, and that prompt and coach have a reservation. The defaults fit a new account of 1,000, of
// which 100 have to stay unreserved.
func TestBackgroundWorkIsBounded(t *testing.T) {
	t.Parallel()
	reserved := func(parameters map[string]string) map[string]int {
		tpl := check.Got(template.Parse(throughline.Template, parameters))(t)
		out := map[string]int{}
		for id, resource := range tpl.Resources {
			var p struct{ ReservedConcurrentExecutions json.Number }
			if err := json.Unmarshal(resource.Properties, &p); resource.Type != "AWS::Serverless::Function" || err != nil {
				continue
			}
			if n, err := p.ReservedConcurrentExecutions.Int64(); err == nil {
				out[id] = int(n)
			}
		}
		return out
	}
	defaults := reserved(nil)
	sum := 0
	for _, id := range []string{"CoachFunction", "PromptFunction", "SummarizeFunction", "RememberFunction"} {
		if defaults[id] <= 0 {
			t.Errorf("%s reserves %d", id, defaults[id])
		}
		sum += defaults[id]
	}
	if sum > 900 {
		t.Errorf("%d are reserved of the 1,000 that an account has at first", sum)
	}
	none := map[string]string{
		"CoachConcurrency": "-1", "PromptConcurrency": "-1", "BackgroundConcurrency": "-1",
	}
	if got := reserved(none); len(got) > 0 {
		t.Errorf("-1 reserves %v", got)
	}
	remember, _ := readTemplate(t).Function("remember")
	for _, mapping := range remember.Streams {
		if mapping.Parallel != 1 {
			t.Errorf("%s works on %d batches of a shard at a time, want 1 (docs/adr/0013)", mapping.Name, mapping.Parallel)
		}
	}
}
