package httpapi_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/limits.md anew")

const (
	limitsPage = "../../docs/limits.md"
	// maxItemBytes and maxTransactionBytes are DynamoDB's limits (Amazon DynamoDB Developer Guide, "Constraints").
	maxItemBytes        = 400 << 10
	maxTransactionBytes = 4_000_000
	// ownBytes is what a record has beside the caller's fields: keys, the names of attributes, ids, times and numbers. The
	// longest user, session and coach are in it several times.
	ownBytes = 8 << 10
	// maxNumberBytes is the size of a number, maxTimeBytes that of a time.
	maxNumberBytes = 21
	maxTimeBytes   = 24
	callBytes      = 1 << 20 // the contents of one call together
)

// field is a field that a caller can write.
type field struct {
	operation, path, bound, refusedBy string
	bytes                             int
}

// inCode names the functions that refuse what a schema cannot say, by the field.
var inCode = map[string]string{
	"message": "the operation", "content": "`conversation.Append.Prepare`", "messages": "`conversation.Append.Prepare`",
	"parts": "`conversation.Append.Prepare`", "parameters": "`ownTools`",
	"metadata": "`conversation.PrepareDocument`", "attributes": "`conversation.PrepareDocument`",
	"value": "`document.Put.Document`", "filter": "`conversation.PrepareDocument`", "messageIds": "`checkSources`",
	"patterns": "`checkRemarks`", "wins": "`checkRemarks`", "struggles": "`checkRemarks`",
}

// sharedBound is in the description of a list whose items have no bound but that of the content, which counts for both.
const sharedBound = "together with the content"

var inKiB = regexp.MustCompile(`(?i)at most (\d+) KiB`)

// fields lists a schema's fields with their bounds. A field without one is an error.
func (d document) fields(t *testing.T, s schema, operation, path string) []field {
	if s.Ref != "" {
		described := s.Description
		s = d.resolve(s)
		s.Description = cmp.Or(described, s.Description)
	}
	name := strings.Trim(path[strings.LastIndex(path, ".")+1:], "[]")
	f := field{operation: operation, path: path, refusedBy: "schema"}
	if m := inKiB.FindStringSubmatch(s.Description); m != nil {
		kib, _ := strconv.Atoi(m[1])
		f.bound, f.bytes, f.refusedBy = m[1]+" KiB", kib<<10, inCode[name]
		if f.refusedBy == "" {
			t.Errorf("%s: %s is bounded in KiB, and no function is named that refuses more", operation, path)
		}
		if strings.Contains(s.Description, sharedBound) {
			f.bytes = 0
			return []field{f}
		}
		if slices.Contains(s.Type, "object") {
			// A value counts 8 bytes, and a number of 17 digits takes 11 (conversation.PrepareDocument).
			f.bytes = f.bytes / 8 * 11
		}
		return append([]field{f}, d.items(t, s, operation, path)...)
	}
	switch {
	case slices.Contains(s.Type, "object"):
		var out []field
		for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
			out = append(out, d.fields(t, s.Properties[property], operation, strings.TrimPrefix(path+"."+property, "."))...)
		}
		if a := s.AdditionalProperties; len(out) == 0 || a != nil && (a.allowed || a.schema != nil) {
			t.Errorf("%s: %s takes any fields, and no bound is described", operation, path)
		}
		return out
	case slices.Contains(s.Type, "array"):
		return d.items(t, s, operation, path)
	}
	f.bound, f.bytes = scalarBound(s)
	if f.bytes == 0 {
		t.Errorf("%s: %s has no bound", operation, path)
	}
	return []field{f}
}

// items lists the fields of a list's items. The bytes are those of all items.
func (d document) items(t *testing.T, s schema, operation, path string) []field {
	if !slices.Contains(s.Type, "array") {
		return nil
	}
	if s.MaxItems == nil {
		t.Errorf("%s: %s has any number of items", operation, path)
		return nil
	}
	out := d.fields(t, *s.Items, operation, path+"[]")
	for i := range out {
		out[i].bound += fmt.Sprintf(", in each of %d", *s.MaxItems)
		out[i].bytes *= *s.MaxItems
	}
	return out
}

// scalarBound says what bounds a text, a number or a boolean, and how many bytes it takes at most, 0 for any number.
func scalarBound(s schema) (string, int) {
	switch {
	case len(s.Enum) > 0:
		longest := 0
		for _, value := range s.Enum {
			longest = max(longest, len(fmt.Sprint(value)))
		}
		return fmt.Sprintf("one of %d values", len(s.Enum)), longest
	case s.Format == "date-time":
		return "a time", maxTimeBytes
	case slices.Contains(s.Type, "boolean"):
		return "true or false", 1
	case slices.Contains(s.Type, "number"), slices.Contains(s.Type, "integer"):
		if s.Minimum == nil || s.Maximum == nil {
			return "", 0
		}
		return fmt.Sprintf("a number from %.0f to %.0f", *s.Minimum, *s.Maximum), maxNumberBytes
	case s.MaxLength == nil:
		return "", 0
	case strings.HasPrefix(s.Pattern, "^") && !strings.Contains(s.Pattern, `\S`):
		return fmt.Sprintf("%d letters, digits and signs", *s.MaxLength), *s.MaxLength
	default:
		return fmt.Sprintf("%d characters", *s.MaxLength), 4 * *s.MaxLength
	}
}

// total adds up the fields of an operation. Of a list that has a bound of its own, the items do not count.
func total(fields []field, operation, prefix string) int {
	sum, bounded := 0, ""
	for _, f := range fields {
		isItem := bounded != "" && strings.HasPrefix(f.path, bounded)
		if f.operation != operation || !strings.HasPrefix(f.path, prefix) || isItem {
			continue
		}
		if strings.HasSuffix(f.bound, " KiB") {
			bounded = f.path + "[]"
		}
		sum += f.bytes
	}
	return sum
}

// limitedRecord is a record that a caller's fields end in.
type limitedRecord struct {
	name, operation string
	// more are the bytes of the caller's fields that other operations write, or that Throughline derives.
	more int
	note string
}

var records = []limitedRecord{
	{name: "message of a chat", operation: "POST /v1/chat"},
	{
		name: "session", operation: "POST /v1/sessions", more: 72 << 10,
		note: "with its summary, whose fields repeat attributes",
	},
	{name: "profile", operation: "PUT /v1/profile"},
	{name: "seed", operation: "PUT /v1/seed"},
	{name: "user summary", operation: "PUT /v1/user-summary"},
	{name: "preferences", operation: "PUT /v1/preferences"},
	{name: "coach", operation: "PUT /v1/coaches/{coachId}"},
	{name: "goal", operation: "POST /v1/goals"},
	{name: "check-in", operation: "POST /v1/check-ins"},
	{name: "memory", operation: "POST /v1/memories"},
	{name: "todo", operation: "POST /v1/todos"},
}

// TestLimitsPage derives the tables of docs/limits.md from the served schemas and compares them with the page. It fails
// where a field has no bound, and where the bounds of a record together pass a limit of DynamoDB.
func TestLimitsPage(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	d := serveDocument(t, h)
	var all []field
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			op, operation := d.Paths[path][method], strings.ToUpper(method)+" "+path
			if op.RequestBody == nil {
				continue
			}
			for _, p := range op.Parameters {
				if p.In == "header" {
					all = append(all, d.fields(t, p.Schema, operation, p.Name+" (header)")...)
				}
			}
			all = append(all, d.fields(t, op.RequestBody.Content["application/json"].Schema, operation, "")...)
		}
	}
	tables := map[string]string{"fields": fieldTable(all), "records": recordTable(t, all)}
	page, err := os.ReadFile(limitsPage)
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	for name, table := range tables {
		begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
		before, rest, found := strings.Cut(want, begin)
		_, after, ends := strings.Cut(rest, end)
		if !found || !ends {
			t.Fatalf("%s has no place for the table of %s", limitsPage, name)
		}
		want = before + begin + "\n" + table + "\n" + end + after
	}
	if want == string(page) {
		return
	}
	if !*update {
		t.Errorf("%s is not what the schemas say: write it with go test ./internal/httpapi -run TestLimitsPage -update",
			limitsPage)
	} else if err := os.WriteFile(limitsPage, []byte(want), 0o644); err != nil { //nolint:gosec // a page of the repository
		t.Fatal(err)
	}
}

func fieldTable(all []field) string {
	var b strings.Builder
	b.WriteString("| operation | field | bound | refused by | bytes at most |\n|---|---|---|---|---|\n")
	last := ""
	for _, f := range all {
		operation := "`" + f.operation + "`"
		if f.operation == last {
			operation = ""
		}
		last = f.operation
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %d |\n", operation, f.path, f.bound, f.refusedBy, f.bytes)
	}
	return b.String()
}

// recordTable adds up the records, and fails where one is too large.
func recordTable(t *testing.T, all []field) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| record | bytes of its fields | with its own | bound | |\n|---|---|---|---|---|\n")
	row := func(name string, fields, own, bound int, note string) {
		sum := fields + own
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", name, fields, sum, bound, note)
		if sum > bound || fields == 0 {
			t.Errorf("%s: %d bytes, at most %d", name, sum, bound)
		}
	}
	const append50 = "POST /v1/sessions/{id}/messages"
	messages, content := total(all, append50, "messages[]"), total(all, append50, "messages[].content")
	count := content / (256 << 10)
	row("message", messages/count, ownBytes, maxItemBytes, "")
	row(fmt.Sprintf("append of %d messages", count), messages-content+callBytes, (count+2)*ownBytes, maxTransactionBytes,
		"contents 1 MiB together; with the session's and the idempotency record; a body has at most 3 MiB")
	for _, r := range records {
		row(r.name, total(all, r.operation, "")+r.more, ownBytes, maxItemBytes, r.note)
	}
	return b.String()
}
