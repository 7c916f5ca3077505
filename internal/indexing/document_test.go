package indexing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
	"github.com/throughline/throughline/internal/word"
)

// recorder is an embedder and an index that record their input. Writes for the user in fail fail, and the index has no
// room for the user in full.
type recorder struct {
	vector.Index
	mu      sync.Mutex
	texts   [][]string
	records map[conversation.UserID][]vector.Record
	fail    conversation.UserID
	full    conversation.UserID
	failAll error
}

func (r *recorder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	r.texts = append(r.texts, texts)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{float32(len(text))}
	}
	return vectors, r.failAll
}

// as is the recorder as an index with a model of that version.
func (r *recorder) as(version string) vector.Held {
	return vector.Held{Index: r, Model: vector.Model{Embedder: r, Version: version}}
}

func (r *recorder) Room(_ context.Context, user conversation.UserID, _ int64) error {
	if user == r.full {
		return vector.ErrQuota
	}
	return nil
}

func (r *recorder) Upsert(
	_ context.Context, user conversation.UserID, generation int64, records []vector.Record,
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if user == r.fail {
		return errors.New("down")
	}
	if r.records == nil {
		r.records = map[conversation.UserID][]vector.Record{}
	}
	name := conversation.UserID(fmt.Sprintf("%s.%d", user, generation))
	r.records[name] = append(r.records[name], records...)
	return nil
}

var evening = time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)

func TestRecordOfAMessage(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	m := conversation.Message{
		ID: "msg_ann_1_a", Seq: 2, SessionID: "chat", Context: "program_designer", CoachID: "coach",
		Role: conversation.RoleAssistant, Content: strings.Repeat("é", 1000), Timestamp: evening,
	}
	batch := indexing.Batch{User: "ann", Generation: 3, Messages: []conversation.Message{m}, Previous: map[string]string{
		"chat": strings.Repeat("x", 300) + " banded glute bridges?",
	}}
	check.OK(t, indexing.NewIndexer(r.as("model-1")).IndexBatches(t.Context(), []indexing.Batch{batch})[0])
	want := map[string]any{
		"recordType": "message", "sourceContext": "program_designer", "sessionId": "chat",
		"timestamp": 1770316200.0, "text": strings.Repeat("é", 1000), "role": "assistant", "seq": 2.0,
		"embedding": "model-1", "wordForm": word.Form,
	}
	got := r.records["ann.3"]
	if len(got) != 1 || got[0].ID != m.ID || len(got[0].Sparse.Indices) == 0 {
		t.Fatalf("records %+v", got)
	}
	check.Same(t, want, got[0].Metadata, "metadata")
	text := r.texts[0][0]
	if !strings.HasPrefix(text, "Thursday, 5 February 2026, Program Designer. Coach: éé") ||
		!strings.HasSuffix(text, "x banded glute bridges?)") || strings.Count(text, "x") > 200 {
		t.Errorf("embedded %q", text)
	}
}

func TestAMessageFollowsThePreviousOneOfItsSession(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	said := func(session, text string) conversation.Message {
		return conversation.Message{ID: text, SessionID: session, Context: "workout_log", Content: text, Timestamp: evening}
	}
	messages := []conversation.Message{said("s", "one"), said("t", "two"), said("s", "three"), said("t", "four")}
	check.OK(t, indexing.NewIndexer(r.as("")).IndexMessages(t.Context(), "ann", 0, messages))
	var after []string
	for _, text := range r.texts[0] {
		_, before, _ := strings.Cut(text, "(after: ")
		after = append(after, strings.TrimSuffix(before, ")"))
	}
	check.Same(t, []string{"", "", "one", "two"}, after, "what each one follows")
}

func TestBatchesFailIndependently(t *testing.T) {
	t.Parallel()
	one := func(user conversation.UserID) indexing.Batch {
		m := conversation.Message{ID: string(user), SessionID: "s", Context: "workout_log", Content: "hi", Timestamp: evening}
		return indexing.Batch{User: user, Messages: []conversation.Message{m}}
	}
	r := &recorder{fail: "bob"}
	batches := []indexing.Batch{one("ann"), {User: "none"}, one("bob"), one("eve")}
	errs := indexing.NewIndexer(r.as("")).IndexBatches(t.Context(), batches)
	if errs[0] != nil || errs[1] != nil || errs[2] == nil || errs[3] != nil || len(r.texts) != 1 {
		t.Errorf("errors %v after %d embeddings, want one for bob after one", errs, len(r.texts))
	}
	r.failAll = errors.New("down")
	errs = indexing.NewIndexer(r.as("")).IndexBatches(t.Context(), batches)
	if errs[0] == nil || errs[1] != nil || errs[2] == nil || errs[3] == nil {
		t.Errorf("errors %v without embeddings, want one for each batch that has a text", errs)
	}
}

// TestNothingIsEmbeddedWithoutRoom has the index refuse one user of a batch before anything is embedded.
func TestNothingIsEmbeddedWithoutRoom(t *testing.T) {
	t.Parallel()
	batch := func(user conversation.UserID, contents ...string) indexing.Batch {
		b := indexing.Batch{User: user}
		for _, c := range contents {
			b.Messages = append(b.Messages, conversation.Message{
				ID: c, SessionID: "s", Context: "workout_log", Content: c, Role: conversation.RoleSystem, Timestamp: evening,
			})
		}
		return b
	}
	r := &recorder{full: "bob"}
	batches := []indexing.Batch{batch("bob", "b1", "b2"), batch("ann", "a"), batch("bob", "b3"), batch("eve", "e2", "e3-")}
	errs := indexing.NewIndexer(r.as("")).IndexBatches(t.Context(), batches)
	for i, b := range batches {
		if errors.Is(errs[i], vector.ErrQuota) != (b.User == "bob") {
			t.Errorf("%s: %v", b.User, errs[i])
		}
	}
	stored := slices.Concat(r.records["ann.0"], r.records["eve.0"])
	if len(r.texts) != 1 || len(r.texts[0]) != 3 || len(stored) != 3 || len(r.records) != 2 {
		t.Fatalf("embedded %q, stored %v", r.texts, r.records)
	}
	for i, text := range r.texts[0] {
		if stored[i].Dense[0] != float32(len(text)) {
			t.Errorf("%s has the vector of another text", stored[i].ID)
		}
	}
	r.texts = nil
	if errs := indexing.NewIndexer(r.as("")).IndexBatches(t.Context(), batches[:1]); errs[0] == nil || len(r.texts) > 0 {
		t.Errorf("%v after embedding %q", errs, r.texts)
	}
}

// TestWhatSaysNothingHasNoVector indexes a chat. A receipt has no vector, but the next message is found by its words.
// Of two equal texts one is embedded, and each record has its vector.
func TestWhatSaysNothingHasNoVector(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	said := func(session, text string) conversation.Message {
		return conversation.Message{
			ID: session + text, SessionID: session, Context: "workout_log", Content: text, Timestamp: evening,
		}
	}
	messages := []conversation.Message{
		said("s", "ok, thanks!"), said("s", "\U0001F44D"), said("s", "Squats hurt"),
		said("t", "Push day"), said("u", "Push day"),
	}
	check.OK(t, indexing.NewIndexer(r.as("")).IndexMessages(t.Context(), "ann", 0, messages))
	if got := r.records["ann.0"]; len(got) != 3 || len(r.texts[0]) != 2 ||
		!strings.Contains(r.texts[0][0], "\U0001F44D") ||
		got[1].Dense[0] != got[2].Dense[0] || got[0].Dense[0] == got[1].Dense[0] {
		t.Errorf("%d records of the texts %q", len(got), r.texts)
	}
}

func TestRecordOfASummary(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	long := strings.Repeat("ü", 300)
	s := summary.Summary{
		RecordType: conversation.WorkoutSummary, SubjectID: "w1", SessionID: "s", Context: "workout_log",
		CoachID: "c", Text: "Built.", Kind: conversation.ByModel, OccurredAt: evening, Generation: 1,
		Fields: map[string]any{
			"workoutName": long, "totalDays": 28.0, "adherenceRate": 0.5, "deload": true, "phaseNames": []any{"base", "peak"},
			"mixed": []any{"a", 1.5, true, nil, []any{"b"}}, "none": nil, "empty": []any{}, "$odd": "x", "sourceId": "forged",
			"metrics": map[string]any{"distanceKm": 10.0, "laps": map[string]any{"fastest": 61.5}, "": "x"},
			"prAchievements": []any{
				map[string]any{"exercise": "Deadlift", "weight": 180.0, "sets": []any{1.0, 2.0}},
				map[string]any{"exercise": "Squat", "first": true},
			},
		},
	}
	check.OK(t, indexing.NewIndexer(r.as("")).IndexSummary(t.Context(), "ann", s))
	want := map[string]any{
		"recordType": "workout_summary", "coachId": "c", "sourceContext": "workout_log", "sourceId": "s",
		"sessionId": "s", "timestamp": 1770316200.0, "text": "Built.", "inProgress": false, "kind": "model",
		"wordForm":    word.Form,
		"workoutName": long[:400], "totalDays": 28.0, "adherenceRate": 0.5, "deload": true,
		"phaseNames": []string{"base", "peak"}, "mixed": []string{"a", "1.5", "true", "b"},
		"mixed#least": 1.5, "mixed#greatest": 1.5,
		"metrics.distanceKm": 10.0, "metrics.laps.fastest": 61.5,
		"prAchievements.exercise": []string{"Deadlift", "Squat"}, "prAchievements.weight": []string{"180"},
		"prAchievements.weight#least": 180.0, "prAchievements.weight#greatest": 180.0,
		"prAchievements.sets": []string{"1", "2"}, "prAchievements.first": []string{"true"},
		"prAchievements.sets#least": 1.0, "prAchievements.sets#greatest": 2.0,
	}
	got := r.records["ann.1"][0]
	if diff := cmp.Diff(want, got.Metadata); diff != "" || got.ID != "workout_summary#s" {
		t.Errorf("%s: metadata (-want +got)\n%s", got.ID, diff)
	}
	if text := r.texts[0][0]; !strings.HasPrefix(text, "Thursday, 5 February 2026, Workout Log. Built. Workout: ") {
		t.Errorf("embedded %q", text)
	}
}

// TestOwnFieldsAreLimited has fields that take more in JSON than in memory. The service takes 40 KB for one record.
func TestOwnFieldsAreLimited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		count int // more than there is room for
		field func(i int) any
	}{
		"long texts":          {100, func(int) any { return strings.Repeat("x", 1000) }},
		"control characters":  {100, func(int) any { return strings.Repeat("\x01", 1000) }},
		"numbers":             {6000, func(i int) any { return 1.2345678901234567e-100 * float64(i+1) }},
		"flags":               {6000, func(i int) any { return i%2 == 0 }},
		"lists of long texts": {100, func(int) any { return slices.Repeat([]any{strings.Repeat("\"", 1000)}, 100) }},
		"lists of texts":      {1000, func(int) any { return slices.Repeat([]any{"x"}, 100) }},
		"lists of numbers":    {1000, func(int) any { return slices.Repeat([]any{1e125}, 100) }},
		"objects": {1000, func(int) any {
			return map[string]any{strings.Repeat("\x02", 150): 1.0, strings.Repeat("k", 300): 1.0}
		}},
	} {
		r := &recorder{}
		fields := map[string]any{}
		for i := range c.count {
			fields[fmt.Sprintf("%x", i)] = c.field(i)
		}
		s := summary.Summary{
			RecordType: conversation.ProgramSummary, SessionID: strings.Repeat("s", 128), CoachID: strings.Repeat("c", 128),
			Text: strings.Repeat("\x03", 1200), OccurredAt: evening, Fields: fields,
		}
		check.OK(t, indexing.NewIndexer(r.as("")).IndexSummary(t.Context(), "ann", s))
		metadata := r.records["ann.0"][0].Metadata
		text := check.Got(json.Marshal(metadata))(t)
		converted := map[string]any{}
		check.OK(t, json.Unmarshal(text, &converted))
		message := check.Got(structpb.NewStruct(converted))(t)
		if size := max(len(text), proto.Size(message)); size > 40_000 || len(metadata) < 11 {
			t.Errorf("%s: %d fields of %d bytes", name, len(metadata), size)
		}
	}
}

// TestPartsAreTheWholeText splits texts of every script. Nothing is lost, no part is too long for one embedding, and
// every part's id leads back to its record.
func TestPartsAreTheWholeText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringN(1, 40, -1).Draw(t, "piece")
		content := "knee " + strings.Repeat(piece, rapid.IntRange(1, 2000).Draw(t, "times"))
		id := rapid.SampledFrom([]string{"msg_ann_1_a", "msg_a#1_1_b", "mem_1"}).Draw(t, "id")
		r := &recorder{}
		m := conversation.Message{ID: id, SessionID: "s", Context: "workout_log", Content: content, Timestamp: evening}
		check.OK(t, indexing.NewIndexer(r.as("")).IndexMessages(t.Context(), "ann", 0, []conversation.Message{m}))
		var ids []string
		var whole strings.Builder
		for _, stored := range r.records["ann.0"] {
			ids = append(ids, stored.ID)
			whole.WriteString(stored.Metadata["text"].(string))
			if vector.RecordID(stored.ID) != id {
				t.Fatalf("part %q leads to %q, not to %q", stored.ID, vector.RecordID(stored.ID), id)
			}
		}
		for _, text := range r.texts[0] {
			if len(text) > 8_000 || !utf8.ValidString(text) {
				t.Fatalf("a part of %d bytes", len(text))
			}
		}
		if diff := cmp.Diff(indexing.MessageVectorIDs(m), ids); diff != "" {
			t.Fatalf("ids (-said +indexed)\n%s", diff)
		}
		if whole.String() != content {
			t.Fatal("the parts are not the whole text")
		}
	})
}

func TestRecordID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"msg_ann_1_a": "msg_ann_1_a", "msg_ann_1_a#12": "msg_ann_1_a", "msg_a#1_1_a": "msg_a#1_1_a",
		"program_summary#5": "program_summary#5", "conversation_summary#s": "conversation_summary#s",
	} {
		check.Equal(t, want, vector.RecordID(id), "RecordID(%q)", id)
	}
}
