package architecture_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/throughline/throughline/infra/local/eventpattern"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestSummarizeWakesForWhatAsks checks which changes of a session invoke summarize. What does not pass and asks for
// something is found by the sweep, at the session's dueAt.
func TestSummarizeWakesForWhatAsks(t *testing.T) {
	t.Parallel()
	const (
		fresh   = `"status":{"S":"active"},"sessionCreatedAt":{"N":"1"},"lastSeq":{"N":"0"}`
		spoken  = `"lastMessageAt":{"S":"t"},"urgentSeq":{"N":"0"},"lastSeq":{"N":"4"}`
		talking = `"status":{"S":"active"},"dueAt":{"S":"t"},"lastMessageAt":{"S":"t"},"urgentSeq":{"N":"0"},` +
			`"lastSeq":{"N":"%d"}`
		rested = `"status":{"S":"active"},` + spoken
		done   = `"status":{"S":"completed"},"dueAt":{"S":"t"},` + spoken
		urgent = `"status":{"S":"active"},"dueAt":{"S":"t"},"lastMessageAt":{"S":"t"},"urgentSeq":{"N":"3"},` +
			`"lastSeq":{"N":"3"}`
		left  = `,"leftAt":{"S":"t"}`
		asked = `,"summaryAskedAt":{"S":"t"}`
		more  = `,"indexedSeq":{"N":"4"}`
	)
	at := func(seq int) string { return fmt.Sprintf(talking, seq) }
	for name, c := range map[string]struct {
		before, after string
		wakes         bool
	}{
		"a new session":                             {"", fresh, true},
		"its first message":                         {fresh, at(1), true},
		"a session that begins with a message":      {"", at(1), true},
		"an answer":                                 {at(1), at(2), false},
		"the next message":                          {at(2), at(3), false},
		"a watermark":                               {at(3), at(3) + more, false},
		"a tenth message":                           {at(9), at(10), false},
		"as many messages as bring a summary":       {at(19), at(20) + asked, true},
		"a watermark after them":                    {at(20) + asked, at(20) + asked + more, false},
		"the message after them":                    {at(20) + asked, at(21), false},
		"a message after a rest":                    {rested, at(5), true},
		"it leaves the due index":                   {at(4), rested, false},
		"an edit of a session at rest that matters": {rested, at(4), true},
		"it is left":                                {at(4), at(4) + left, true},
		"the index follows a leave":                 {at(4) + left, at(4) + left + more, false},
		"a message after a leave":                   {at(4) + left, at(5), false},
		"it is left again":                          {at(5), at(5) + left, true},
		"it is completed":                           {at(4), done, true},
		"an import of a completed session":          {"", done, true},
		"the claim of a completed session":          {done, done + `,"claimedVersion":{"N":"1"}`, false},
		"something urgent":                          {at(2), urgent, true},
		"an app's own record":                       {`"messages":{"L":[]}`, `"messages":{"L":[{"M":{}}]}`, true},
		"a backfill":                                {"", `"origin":{"S":"backfill"},` + at(10), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, c.wakes, passes(t, c.before, c.after), "invokes summarize")
		})
	}
}

// passes reports whether a change of a session matches a filter of summarize. An empty image is none.
func passes(t *testing.T, before, after string) bool {
	t.Helper()
	kind, old := "MODIFY", `"OldImage":{`+before+`},`
	if before == "" {
		kind, old = "INSERT", ""
	}
	var event any
	record := fmt.Sprintf(`{"eventName":%q,"dynamodb":{"Keys":{"sk":{"S":"conversation#a"}},%s"NewImage":{%s}}}`,
		kind, old, after)
	if err := json.Unmarshal([]byte(record), &event); err != nil {
		t.Fatalf("%s: %v", record, err)
	}
	f, _ := readTemplate(t).Function("summarize")
	for _, filter := range f.Streams[0].Filters {
		p := check.Got(eventpattern.Parse(filter))(t)
		if p.Match(event) {
			return true
		}
	}
	return false
}
