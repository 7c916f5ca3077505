package adopt_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestWhatCannotMove backfills a table with records that cannot be migrated. Each is named with the reason. The others
// move, the backfill counts, and only the stage shared is refused. Records beside conversations are left alone.
func TestWhatCannotMove(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	hello := map[string]any{"role": "user", "content": "hello"}
	put := func(pk, sk string, attributes any) {
		t.Helper()
		it := check.Got(attributevalue.MarshalMap(map[string]any{"pk": pk, "sk": sk, "attributes": attributes}))(t)
		a.put(t, it)
	}
	messages := func(entries ...any) map[string]any { return map[string]any{"messages": entries} }
	put("user#ann", "conversation#good", messages(hello))
	put("user#ann", "conversation#odd", messages(hello, "how are you"))
	put("user#ann", "conversation#odder", messages(hello, "x", "y"))
	put("user#ann", "conversation#text", "x")
	put("user#ann", "conversation#twin", messages(hello))
	put("user#ann", "coach_creator_session#twin", messages(hello))
	put("user#ann", "conversation#none", map[string]any{"messages": "hello"})
	put("user#ann", "conversation#a b", messages(hello))
	put("user#ann", "program_session#", messages(hello))
	put("user#", "conversation#c", messages(hello))
	put("user#ann", "conversation#good#draft", map[string]any{"text": "hello"})
	put("user#ann", "conversation#good#counter", nil)
	before := a.contentsOf(t)

	service := a.service(t, a.client, a.client, migration.Dual)
	named := func(out migration.Answer) map[string]string {
		reasons := map[string]string{}
		for _, m := range out.Mismatches {
			reasons[string(m.UserID)+"/"+m.SessionID] = m.Reason
		}
		return reasons
	}
	cannotName := func(context string) string {
		return "its user or its session, in " + context + ", has an id that the API cannot name"
	}
	out := run(t, service, migration.Backfill)
	want := map[string]string{
		"ann/odd":   "attributes.messages[1]: the entry is no map",
		"ann/odder": "attributes.messages[1]: the entry is no map, and 1 more",
		"ann/text":  "the attributes have no list of messages",
		"ann/twin":  "the user has another session of this id in coach_creator",
		"ann/none":  "the attributes have no list of messages",
		"ann/a b":   cannotName("coach_conversation"),
		"ann/":      cannotName("program_designer"),
		"/c":        cannotName("coach_conversation"),
	}
	problems := len(want) + 1 // two of the twins
	if diff := cmp.Diff(want, named(out)); diff != "" || out.Backfilled != 100 || out.Progress.Problems != problems {
		t.Errorf("backfilled %d, %d problems (-want +got):\n%s", out.Backfilled, out.Progress.Problems, diff)
	}
	for _, id := range []string{"text", "none"} { // is served all the same
		session, err := dynamotest.StoresOf(a.db).Sessions.Session(t.Context(), "ann", id)
		if err != nil || session.MessageCount != 0 {
			t.Errorf("%s is served as %+v, %v", id, session, err)
		}
	}
	if got := a.stored(t, "ann", "conversation#good"); len(got) != 1 {
		t.Errorf("the good session has %d messages in the store", len(got))
	}
	for at, r := range a.contentsOf(t) {
		if !strings.HasSuffix(at, "#good") && before[at] != nil {
			if diff := diffRecords(before[at], r); diff != "" {
				t.Errorf("%s changed (-before +after):\n%s", at, diff)
			}
		}
	}

	service = a.service(t, a.client, a.client, migration.SharedRead)
	if out = run(t, service, migration.Verify); len(out.Mismatches) != problems || out.VerifiedAt != "" {
		t.Errorf("verify names %v, verified %q", named(out), out.VerifiedAt)
	}
	_, err := service.Advance(t.Context(), migration.Request{To: string(migration.Shared), Percent: 100})
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "a verify has to go through first") {
		t.Errorf("advance to %s: %v", migration.InStore, err)
	}
}

// TestForecastNamesWhatCannotMove forecasts the backfill of a table with records that cannot be migrated. They are
// named as by the backfill, before anything is written, and are not in the forecast.
func TestForecastNamesWhatCannotMove(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	hello := map[string]any{"role": "user", "content": "hello"}
	for id, entries := range map[string]any{"good": []any{hello}, "odd": []any{hello, "how are you"}, "none": "hello"} {
		a.put(t, check.Got(attributevalue.MarshalMap(map[string]any{
			"pk": "user#ann", "sk": "conversation#" + id, "attributes": map[string]any{"messages": entries},
		}))(t))
	}
	before := a.contentsOf(t)
	service := a.service(t, a.client, a.client, migration.Embedded)
	out := run(t, service, migration.Backfill, func(r *migration.Request) { r.DryRun = true })
	reasons := map[string]string{}
	for _, m := range out.Mismatches {
		reasons[m.SessionID] = m.Reason
	}
	want := map[string]string{
		"odd": "attributes.messages[1]: the entry is no map", "none": "the attributes have no list of messages",
	}
	check.Same(t, want, reasons, "wanted (-) and named (+)")
	if f := out.Forecast; f == nil || f.Sessions != 1 || f.Messages != 1 {
		t.Errorf("the forecast is %+v, want that of the good session", f)
	}
	check.Equal(t, len(before), len(a.contentsOf(t)), "records")
}

// TestMessageTooLargeToMove backfills an array whose second message, with what is kept of its entry, is larger than a
// record may be. The reason names it.
func TestMessageTooLargeToMove(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	entry := func(text string) any {
		return map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}}
	}
	a.put(t, check.Got(attributevalue.MarshalMap(map[string]any{
		"pk": "user#ann", "sk": "conversation#c",
		"attributes": map[string]any{"messages": []any{entry("hello"), entry(strings.Repeat("z", 250_000))}},
	}))(t))
	out := run(t, a.service(t, a.client, a.client, migration.Dual), migration.Backfill)
	if len(out.Mismatches) != 1 || !strings.HasPrefix(out.Mismatches[0].Reason, "the message of seq 2 does not fit") {
		t.Errorf("named %v, want the message of seq 2", out.Mismatches)
	}
}
