package summary_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestQuestion asks the model for a rating and for the fields that it writes, in strict schemas.
func TestQuestion(t *testing.T) {
	t.Parallel()
	reason := registry.Field{Name: "reason", Means: "why the order comes back"}
	for name, tt := range map[string]struct {
		of    registry.Summary
		names []string
	}{
		"plain":  {registry.Summary{Fields: []registry.Field{{Name: "orderId"}}}, []string{"summary", "tags"}},
		"fields": {registry.Summary{Fields: []registry.Field{reason}}, []string{"summary", "tags", "fields"}},
		"both": {
			registry.Summary{Rated: true, Fields: []registry.Field{reason}},
			[]string{"summary", "tags", "confidence", "hasGoals", "hasProgress", "hasEmotionalState", "fields"},
		},
	} {
		system, form := summary.Question(tt.of, true)
		var schema struct {
			Required             []string
			AdditionalProperties *bool
			Properties           map[string]struct{ Required []string }
		}
		if err := json.Unmarshal(form.JSON, &schema); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.names, schema.Required); diff != "" || schema.AdditionalProperties == nil {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		asks := slices.Contains(tt.names, "fields")
		if asks != strings.Contains(system, "fields.reason: why the order comes back") {
			t.Errorf("%s: the rules are\n%s", name, system)
		}
		if asks && !slices.Equal(schema.Properties["fields"].Required, []string{"reason"}) {
			t.Errorf("%s: %s", name, form.JSON)
		}
	}
}

// TestWrittenFields keeps of an answer the fields that it was asked for and that say something, as one short line.
func TestWrittenFields(t *testing.T) {
	t.Parallel()
	of := registry.Summary{Fields: []registry.Field{
		{Name: "reason", Means: "why"}, {Name: "wish", Means: "what"}, {Name: "mood", Means: "how"}, {Name: "orderId"},
	}}
	text, blank, long := "the strap\nbroke", " ", strings.Repeat("word ", 100)
	got := summary.WrittenFields(of, map[string]*string{
		"reason": &text, "wish": nil, "mood": &blank, "orderId": &text, "other": &text,
	})
	check.Same(t, map[string]any{"reason": "the strap broke"}, got, "the result")
	if got := summary.WrittenFields(of, map[string]*string{"reason": &long}); len(got["reason"].(string)) > 200 {
		t.Errorf("a field of %d bytes", len(got["reason"].(string)))
	}
}
