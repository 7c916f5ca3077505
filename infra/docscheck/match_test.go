package docscheck_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// anything replaces, in an output, what is not shown.
const anything = "…"

// changing are the parts of an output that differ each time.
var changing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]+){0,2}`), "TOKEN"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z`), "TIME"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`), "TIME"},
	{regexp.MustCompile(`[A-Z][a-z]+day, \d{1,2} [A-Z][a-z]+ \d{4}`), "DAY"},
	{regexp.MustCompile(`\b\d\d:\d\d\b`), "MINUTE"},
	{regexp.MustCompile(`_\d{10}_[0-9a-z]{12}\b`), "_ID"},
	{regexp.MustCompile(`prompt_\d{13}_[A-Z2-7]{26}`), "prompt_ID"},
	{regexp.MustCompile(`req_[A-Z2-7]{26}`), "req_ID"},
	{regexp.MustCompile(`(memory|goal|todo|check_in)_[0-9a-z]{20}\b`), "${1}_ID"},
	{regexp.MustCompile(`"1\.[A-Za-z0-9_-]{16,}"`), `"CURSOR"`},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`(localhost|127\.0\.0\.1):\d+`), "HOST"},
	{regexp.MustCompile(`\b\d+(\.\d+)? (ms|s)\b`), "DURATION"},
	{regexp.MustCompile(`Content-Length: \d+`), "Content-Length: N"},
}

// near are the members of JSON objects whose numbers may differ a little: they depend on what day it is, since a
// message is embedded with its date.
var near = []string{"tokens", "chars", "total", "score", "features"}

func normalize(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.name)
	}
	return text
}

// compare checks that an output is still what a page shows.
func compare(t *testing.T, path string, shown block, printed string) {
	t.Helper()
	var difference string
	if shown.info[0] == "json" {
		difference = differJSON(shown.text, printed)
		var pretty bytes.Buffer
		if json.Indent(&pretty, []byte(printed), "", "  ") == nil {
			printed = pretty.String()
		}
	} else {
		difference = differText(shown.text, printed)
	}
	if difference != "" {
		t.Errorf("%s:%d: %s\nit prints now:\n%s", path, shown.line, difference, printed)
	}
}

// differText compares line by line and says what differs.
func differText(shown, printed string) string {
	want := strings.Split(strings.TrimSpace(normalize(shown)), "\n")
	have := strings.Split(strings.TrimSpace(normalize(printed)), "\n")
	for i, line := range want {
		if strings.TrimSpace(line) == anything {
			if i == len(want)-1 {
				return ""
			}
			next := slices.IndexFunc(have, func(h string) bool { return matches(want[i+1], h) })
			if next < 0 {
				return fmt.Sprintf("no line is %q", want[i+1])
			}
			have = have[next:]
			continue
		}
		if len(have) == 0 {
			return fmt.Sprintf("it ends before %q", line)
		}
		if !matches(line, have[0]) {
			return fmt.Sprintf("a line is not %q but %q", line, have[0])
		}
		have = have[1:]
	}
	if len(have) > 0 {
		return fmt.Sprintf("it goes on with %q", have[0])
	}
	return ""
}

var (
	column = regexp.MustCompile(` {2,}(\d+)(?: {2,}|$)`)
	spaces = regexp.MustCompile(` +`)
)

// matches reports whether a line is what is shown. Numbers in columns may be near.
func matches(shown, printed string) bool {
	if strings.Contains(shown, anything) {
		return like(collapse(shown), collapse(printed))
	}
	want, have := column.FindAllStringSubmatch(shown, -1), column.FindAllStringSubmatch(printed, -1)
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		a, _ := strconv.ParseFloat(want[i][1], 64) // both are digits
		b, _ := strconv.ParseFloat(have[i][1], 64)
		if !isNear(a, b) {
			return false
		}
	}
	return collapse(column.ReplaceAllString(shown, " N ")) == collapse(column.ReplaceAllString(printed, " N "))
}

func collapse(line string) string { return spaces.ReplaceAllString(strings.TrimSpace(line), " ") }

// like reports whether a text is what is shown, where each "…" matches anything.
func like(shown, printed string) bool {
	parts := strings.Split(shown, anything)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `\s*$`).MatchString(printed)
}

// isNear allows a fifth, or a few tokens; scores are below 1.
func isNear(a, b float64) bool {
	few := 10.0
	if a < 1 {
		few = 0.2
	}
	return math.Abs(a-b) <= max(0.2*math.Abs(a), few)
}

func differJSON(shown, printed string) string {
	var want, have any
	if err := json.Unmarshal([]byte(normalize(shown)), &want); err != nil {
		return fmt.Sprintf("what is shown is not JSON: %v", err)
	}
	if err := json.Unmarshal([]byte(normalize(printed)), &have); err != nil {
		return fmt.Sprintf("what is printed is not JSON: %v", err)
	}
	return differ("", want, have)
}

// differ compares two values and says where they differ.
func differ(at string, want, have any) string {
	switch want := want.(type) {
	case map[string]any:
		return differObjects(at, want, have)
	case []any:
		return differArrays(at, want, have)
	case string:
		if text, ok := have.(string); ok && like(want, text) {
			return ""
		}
	case float64:
		number, ok := have.(float64)
		if ok && (number == want || mayDiffer(at) && isNear(want, number)) {
			return ""
		}
	default:
		if want == have {
			return ""
		}
	}
	if want == anything {
		return ""
	}
	return fmt.Sprintf("%s is not %v but %v", at, want, have)
}

// mayDiffer reports whether the member at a path, or the object that it is in, is one of near.
func mayDiffer(path string) bool {
	names := strings.Split(path, ".")
	named := func(name string) bool { return slices.Contains(near, name) }
	return slices.ContainsFunc(names[max(0, len(names)-2):], named)
}

func differObjects(at string, want map[string]any, have any) string {
	object, ok := have.(map[string]any)
	if !ok {
		return at + " is no object"
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, ok := object[name]
		if name == anything {
			continue
		} else if !ok {
			return at + " has no " + name
		}
		if d := differ(at+"."+name, want[name], value); d != "" {
			return d
		}
	}
	if _, more := want[anything]; !more {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if _, ok := want[name]; !ok {
				return at + " has " + name + ", too"
			}
		}
	}
	return ""
}

func differArrays(at string, want []any, have any) string {
	array, ok := have.([]any)
	if !ok {
		return at + " is no array"
	}
	for i, value := range want {
		if value == anything && i == len(want)-1 {
			return ""
		}
		if i >= len(array) {
			return fmt.Sprintf("%s has only %d elements", at, len(array))
		}
		if d := differ(fmt.Sprintf("%s[%d]", at, i), value, array[i]); d != "" {
			return d
		}
	}
	if len(array) > len(want) {
		return fmt.Sprintf("%s has %d elements", at, len(array))
	}
	return ""
}
