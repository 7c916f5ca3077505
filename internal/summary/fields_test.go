package summary_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
)

var fran = map[string]any{
	"workoutId": "w1", "workoutName": "Fran", "discipline": "crossfit",
	"prAchievements": []any{map[string]any{"exercise": "Thruster", "weight": 43.0}},
	"metrics":        map[string]any{"timeSeconds": 245.0, "rx": true},
}

// TestOf checks the record of a session for each record type.
func TestOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		context    string
		attributes map[string]any
		subject    string
		fields     map[string]any
	}{
		"conversation_summary": {
			"coach_conversation",
			map[string]any{"programId": "p"},
			"s",
			map[string]any{"conversationId": "s", "confidence": 0.5},
		},
		"program_designer_summary": {
			"program_designer",
			map[string]any{"programId": "p", "programName": "Deadlift Prep", "conversationTurns": 4.0, "step": "x"},
			"s",
			map[string]any{
				"sessionId": "s", "programId": "p", "programName": "Deadlift Prep", "conversationTurns": 4.0, "confidence": 0.5,
			},
		},
		"coach_creator_summary": {
			"coach_creator",
			map[string]any{"coachName": "Jo", "selectedPersonality": "warm", "trainingFrequency": 3.0},
			"s",
			map[string]any{
				"sessionId": "s", "coachName": "Jo", "selectedPersonality": "warm", "trainingFrequency": 3.0, "confidence": 0.5,
			},
		},
		"program_summary": {
			"training_program",
			map[string]any{"programId": "Deadlift #1", "totalDays": 28.0, "adherenceRate": 0.85, "phaseNames": nil},
			"Deadlift #1",
			map[string]any{"programId": "Deadlift #1", "totalDays": 28.0, "adherenceRate": 0.85, "confidence": 0.5},
		},
		"workout_summary": {
			"workout_log",
			map[string]any{"workoutId": 7.0, "metrics": map[string]any{"reps": 45.0}, "metrics.rx": true, "metricsx": 1.0},
			"7",
			map[string]any{
				"workoutId": 7.0, "metrics": map[string]any{"reps": 45.0}, "metrics.rx": true, "confidence": 0.5,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := summary.Of(conversation.Session{
				ID: "s", Context: tt.context, Attributes: tt.attributes, Status: conversation.Completed, LastMessageAt: at,
				Summary: &conversation.SessionSummary{Text: "x", Fields: map[string]any{"confidence": 0.5}},
			})
			if !ok || got.ID() != name+"#s" || got.SubjectID != tt.subject || got.InProgress || !got.OccurredAt.Equal(at) {
				t.Errorf("got %s: %+v", got.ID(), got)
			}
			check.Same(t, tt.fields, got.Fields, "fields")
		})
	}
	if _, ok := summary.Of(conversation.Session{Context: "coach_conversation"}); ok {
		t.Error("a session without a summary has one")
	}
	unnamed, _ := summary.Of(conversation.Session{
		ID: "s", Context: "workout_log", Attributes: map[string]any{"workoutId": true},
		Summary: &conversation.SessionSummary{},
	})
	if unnamed.SubjectID != "s" {
		t.Errorf("a workout without an id has the subject %q", unnamed.SubjectID)
	}
}

// TestOccurredAt checks when a session without messages took place.
func TestOccurredAt(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	completed := created.Add(time.Hour)
	for name, tt := range map[string]struct {
		context     string
		completedAt any
		want        time.Time
	}{
		"attribute":           {"workout_log", "2026-02-01T08:00:00+01:00", time.Date(2026, 2, 1, 7, 0, 0, 0, time.UTC)},
		"in the future":       {"workout_log", "2026-03-01T08:00:00Z", completed},
		"no time":             {"workout_log", "today", completed},
		"none":                {"workout_log", nil, completed},
		"no field of the app": {"training_program", "2026-02-01T08:00:00Z", completed},
	} {
		s := conversation.Session{
			ID: "s", Context: tt.context, CreatedAt: created, CompletedAt: completed, Status: conversation.Completed,
			Attributes: map[string]any{"completedAt": tt.completedAt}, Summary: &conversation.SessionSummary{Text: "x"},
		}
		if got, _ := summary.Of(s); !got.OccurredAt.Equal(tt.want) {
			t.Errorf("%s: it occurred at %v, want %v", name, got.OccurredAt, tt.want)
		}
		s.LastMessageAt = completed.Add(-time.Minute)
		if got, _ := summary.Of(s); !got.OccurredAt.Equal(s.LastMessageAt) {
			t.Errorf("%s, with messages: it occurred at %v", name, got.OccurredAt)
		}
	}
}

// TestRating checks the fields of a conversation's summary, and the reason for each trigger.
func TestRating(t *testing.T) {
	t.Parallel()
	for reason, trigger := range map[string]func(f *fake) conversation.Change{
		"message_count":  func(f *fake) conversation.Change { return f.say("s", "b", "c", "d") },
		"completed":      func(f *fake) conversation.Change { return f.complete("s") },
		"left":           func(f *fake) conversation.Change { return f.leave("s") },
		"navigated_away": func(f *fake) conversation.Change { return f.say("t", "hi") },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			s := f.service()
			f.create("s", "coach_conversation", nil)
			consume(t, s, f.say("s", "a"))
			consume(t, s, trigger(f))
			want := map[string]any{
				"conversationId": "s", "messageCount": float64(f.session("s").MessageCount), "triggerReason": reason,
				"confidence": 0.8, "hasGoals": true, "hasProgress": false, "hasEmotionalState": false,
			}
			check.Same(t, want, f.saved[0].Fields, "fields")
			if again, _ := summary.Of(f.session("s")); cmp.Diff(want, again.Fields) != "" {
				t.Errorf("the session's copy has %v", again.Fields)
			}
		})
	}
}

// TestRatingOfTheSweep has the sweep write a conversation's summary when it is idle.
func TestRatingOfTheSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		s := f.service()
		f.create("s", "coach_conversation", nil)
		consume(t, s, f.say("s", "a"))
		time.Sleep(15 * time.Minute)
		sweepDue(t, f, s, swept{Visited: 1, Done: 1})
		check.Equal(t, "idle", f.saved[0].Fields["triggerReason"], "the reason")
		consume(t, s, f.complete("s"))
		got := f.saved[1].Fields
		if got["triggerReason"] != "completed" || got["confidence"] != 0.8 || got["hasGoals"] != true || f.calls != 1 {
			t.Errorf("after the completion the fields are %v, after %d calls", got, f.calls)
		}
	})
}

// TestFallbacksAreNotRated has a model that fails.
func TestFallbacksAreNotRated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.failModel = errDown
	f.create("s", "coach_conversation", nil)
	consume(t, f.service(), f.say("s", "a", "b", "c", "d"))
	want := map[string]any{"conversationId": "s", "messageCount": 4.0, "triggerReason": "message_count"}
	check.Same(t, want, f.saved[0].Fields, "fields")
}

func TestReplaces(t *testing.T) {
	t.Parallel()
	old := conversation.SessionSummary{
		CoveredThrough: 4, Kind: conversation.Extractive, InProgress: true,
		Digest: "fields:a",
	}
	same := summary.Summary{
		CoveredThrough: 4, Kind: conversation.Extractive, InProgress: true, Digest: "fields:a",
		SessionVersion: 7,
	}
	for name, tt := range map[string]struct {
		change func(s *summary.Summary)
		want   bool
	}{
		"the same":               {func(*summary.Summary) {}, false},
		"more messages":          {func(s *summary.Summary) { s.CoveredThrough = 5 }, true},
		"fewer messages":         {func(s *summary.Summary) { s.CoveredThrough = 3 }, false},
		"the model's":            {func(s *summary.Summary) { s.Kind = conversation.ByModel }, true},
		"finished":               {func(s *summary.Summary) { s.InProgress = false }, true},
		"other attributes":       {func(s *summary.Summary) { s.Digest = "fields:b" }, true},
		"other attributes, late": {func(s *summary.Summary) { s.Digest, s.SessionVersion = "fields:b", 6 }, false},
		"other attributes, model, late": {func(s *summary.Summary) {
			s.Digest, s.SessionVersion, s.Kind = "", 6,
				conversation.ByModel
		}, false},
	} {
		s := same
		tt.change(&s)
		check.Equal(t, tt.want, s.Replaces(conversation.Session{Version: 7, Summary: &old}), "%s", name)
	}
	if !same.Replaces(conversation.Session{Version: 8}) {
		t.Error("a first summary is refused")
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		context, text string
		fields        map[string]any
		want          string
	}{
		"nothing": {"workout_log", "x", nil, ""},
		"a PR": {
			"workout_log", "The user did Fran, a crossfit workout.", fran,
			"PRs: exercise Thruster, weight 43; metrics: rx yes, time seconds 245.",
		},
		"a PR that the text has": {
			"workout_log", "Thrusters: a PR of 43 kg for one thruster.",
			map[string]any{"prAchievements": fran["prAchievements"]},
			"",
		},
		"a longer number": {
			"workout_log", "One Thruster of 430 kg.",
			map[string]any{"prAchievements": fran["prAchievements"]},
			"PRs: exercise Thruster, weight 43.",
		},
		"adherence": {
			"training_program", "Deadlift Prep is under way.",
			map[string]any{"programId": "p", "programName": "Deadlift Prep", "adherenceRate": 0.29, "phaseNames": []any{
				"base",
				"peak",
			}},
			"Phases: base, peak; adherence: 29%.",
		},
		"a rate in the text": {
			"training_program", "The adherence rate: 90%.", map[string]any{"adherenceRate": 0.9}, "",
		},
		"times": {
			"workout_log", "x",
			map[string]any{"metrics": map[string]any{"began": "2026-11-20T22:00:30.500Z"}},
			"Metrics: began 21 November 2026, 07:00.",
		},
		"dotted names":   {"workout_log", "x", map[string]any{"metrics.distanceKm": 10.0}, "Metrics distance km: 10."},
		"no own fields":  {"coach_conversation", "x", map[string]any{"confidence": 0.5}, ""},
		"unknown screen": {"kitchen", "x", map[string]any{"a": 1.0}, ""},
	} {
		got := summary.Summary{Context: tt.context, Text: tt.text, Fields: tt.fields}.Details(tokyo)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	long := summary.Summary{Context: "workout_log", Fields: map[string]any{"workoutName": strings.Repeat("long name ",
		100)}}
	if got := long.Details(tokyo); len(got) > 300 || !strings.HasPrefix(got, "Workout: long name") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// tokyo is nine hours ahead of UTC.
var tokyo = time.FixedZone("Tokyo", 9*60*60)

// requestLog is a model that keeps its last request.
type requestLog struct {
	metered.Completer
	last llm.Request
}

func (r *requestLog) Complete(ctx context.Context, in llm.Request) (llm.Completion, error) {
	r.last = in
	return r.Completer.Complete(ctx, in)
}

// TestSchemas checks that each schema requires all that the summary takes from an answer, which OpenAI's strict schemas
// need.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for context, want := range map[string][]string{
		"coach_conversation": {"confidence", "hasEmotionalState", "hasGoals", "hasProgress", "summary", "tags"},
		"program_designer":   {"summary", "tags"},
	} {
		f := newFake(t)
		s := f.service()
		model := &requestLog{Completer: s.Model}
		s.Model = model
		f.create("s", context, nil)
		consume(t, s, f.say("s", "a", "b", "c", "d"))
		var schema struct {
			Properties           map[string]any
			Required             []string
			AdditionalProperties bool
		}
		check.OK(t, json.Unmarshal(model.last.Schema.JSON, &schema))
		check.Same(t, want, slices.Sorted(maps.Keys(schema.Properties)), "%s: properties", context)
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(schema.Required))); diff != "" || schema.AdditionalProperties {
			t.Errorf("%s: required (-want +got)\n%s", context, diff)
		}
		for _, name := range want[:len(want)-2] {
			if !strings.Contains(model.last.Messages[0].Content, name+":") {
				t.Errorf("%s: the rules do not explain %s", context, name)
			}
		}
	}
}
