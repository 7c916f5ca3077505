package query_test

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/testing/check"
)

// referenceCase is a line of testdata/references.txt.
type referenceCase struct {
	set, message string
	refers       bool
}

func referenceCases(t *testing.T) []referenceCase {
	t.Helper()
	file := check.Got(os.ReadFile("testdata/references.txt"))(t)
	var cases []referenceCase
	var set string
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == '[':
		case strings.HasPrefix(line, "== "):
			set = line[3:]
		case strings.HasPrefix(line, "+ "), strings.HasPrefix(line, "- "):
			cases = append(cases, referenceCase{set, line[2:], line[0] == '+'})
		default:
			t.Fatalf("references.txt: %q", line)
		}
	}
	return cases
}

// TestRefersBack decides all cases of testdata/references.txt that the examples were chosen by. It holds the precision
// and the recall over those that were held out, and prints them with -v.
func TestRefersBack(t *testing.T) {
	t.Parallel()
	type counts struct{ right, found, referring, cases int }
	var all counts
	sets := map[string]counts{}
	for _, c := range referenceCases(t) {
		got, n := refersBack(c.message), sets[c.set]
		if got != c.refers && c.set == "seen" {
			t.Errorf("%q: %v", c.message, got)
		} else if got != c.refers {
			t.Logf("%s: %q: %v", c.set, c.message, got)
		}
		for _, n := range []*counts{&n, &all} {
			n.cases++
			if c.refers {
				n.referring++
			}
			if got {
				n.found++
			}
			if got && c.refers {
				n.right++
			}
		}
		sets[c.set] = n
	}
	for set, n := range sets {
		t.Logf("%s: %d cases, precision %d of %d, recall %d of %d", set, n.cases, n.right, n.found, n.right, n.referring)
		if n.right*100 < n.found*97 || n.right*100 < n.referring*97 {
			t.Errorf("%s: precision or recall below 97%%", set)
		}
	}
	if all.right*100 < all.found*99 || all.right*100 < all.referring*99 {
		t.Errorf("precision %d of %d, recall %d of %d, below 99%%", all.right, all.found, all.right, all.referring)
	}
	if all.referring < 120 || all.cases-all.referring < 120 {
		t.Errorf("%d cases, %d that refer back", all.cases, all.referring)
	}
}

// Upper case, decomposed accents, other punctuation, a greeting and another sentence do not change the decision.
func TestReferenceIgnoresForm(t *testing.T) {
	t.Parallel()
	cases := referenceCases(t)
	decomposed := strings.NewReplacer("é", "e\u0301", "è", "e\u0300", "à", "a\u0300",
		"ü", "u\u0308", "ñ", "n\u0303", "ã", "a\u0303")
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(cases).Draw(t, "case")
		want := refersBack(c.message)
		for name, message := range map[string]string{
			"upper case": strings.ToUpper(c.message),
			"decomposed": decomposed.Replace(c.message),
			"end":        strings.TrimRight(c.message, ".!? ") + rapid.SampledFrom([]string{"", "!", "?!"}).Draw(t, "end"),
			"commas":     strings.ReplaceAll(c.message, ",", " -"),
			"greeting": rapid.SampledFrom([]string{"Hi! ", "Hello Mia, ", "Hallo zusammen, ", "Bonjour, ", "Ciao Mia! "}).
				Draw(t, "greeting") + c.message,
			"before": "It rains here. " + c.message, "behind": c.message + "\nIt rains here.",
		} {
			check.Equal(t, want, refersBack(message), "%s: %q", name, message)
		}
	})
}

// References are found at the beginning and at the end of long messages, in long sentences, and not in quotations.
func TestReferenceInLongMessages(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("word ", 50_000)
	for message, want := range map[string]bool{
		"Like last time. " + filler:                                 true,
		filler + " like last time":                                  true,
		filler + " like last time " + filler:                        false,
		strings.Repeat("word ", 38) + "like last time":              true,
		strings.Repeat("word ", 100) + "like last time":             true,
		"> as we said\nMy boss wrote this. Nice?":                   false,
		`My boss wrote: "as we said last week".`:                    false,
		"Mein Chef schrieb: „wie besprochen“.":                      false,
		"Mon chef a écrit « comme convenu ».":                       false,
		"As we discussed, I told my wife that I will stop smoking.": true,
		"I told my wife everything. As we discussed, she was calm.": true,
		"As I said to my wife, I will stop.":                        false,
		"As we discovered, I run best at night.":                    false,
		"":                                                          false,
	} {
		check.Equal(t, want, refersBack(message), "RefersBack(%.50q, %d bytes)", message, len(message))
	}
}

func refersBack(message string) bool {
	_, refers := query.FindReference(message)
	return refers
}
