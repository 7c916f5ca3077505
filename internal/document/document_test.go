package document_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

var now = time.Date(2026, 2, 5, 18, 30, 0, 900e6, time.UTC)

func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"a": 1, "a/b": 2, "a b/#/*": 3, strings.Repeat("😀", 64): 1, "1/2/3/4/5/6/7/8": 8,
		"": 0, "/": 0, "a/": 0, "/a": 0, "a//b": 0, ".": 0, "a/../b": 0, strings.Repeat("a", 65): 0, "1/2/3/4/5/6/7/8/9": 0,
		"a\n": 0, "\x00": 0, "\xff": 0, "a\u0085": 0,
	} {
		n, err := document.ParseNamespace("prefix", text)
		if len(n) != want || (err == nil) != (want > 0) || err != nil && fault.From(err).Fields[0].Field != "prefix" {
			t.Errorf("%q: %q, %v", text, n, err)
		}
		if want > 0 && n.String() != text {
			t.Errorf("%q is written as %q", text, n)
		}
	}
	for key, ok := range map[string]bool{
		"k": true, "#%*: 😀": true, strings.Repeat("😀", 512): true,
		"": false, "a/b": false, ".": false, "..": false, strings.Repeat("k", 513): false, "\t": false, "\xff": false,
	} {
		if err := document.CheckKey(key); (err == nil) != ok {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

func TestPut(t *testing.T) {
	t.Parallel()
	full := `{"a":"` + strings.Repeat("x", document.MaxValueBytes-8) + `"}`
	for value, code := range map[string]fault.Code{
		`{}`: "", ` { "a" : 1 } `: "", full: "", `{"aa":"` + full[6:]: fault.TooLarge, `[]`: fault.Invalid,
		`null`: fault.Invalid, ``: fault.Invalid, `"{}"`: fault.Invalid, `{`: fault.Invalid,
	} {
		_, err := document.Put{Namespace: document.Namespace{"a"}, Key: "k", Value: json.RawMessage(value)}.Document(now)
		if code == "" && err != nil || code != "" && !fault.Is(err, code) {
			t.Errorf("%.40s: %v, want %q", value, err, code)
		}
	}
	d, err := document.Put{Key: "k", Value: json.RawMessage(` {"a": 1.0} `), TTL: time.Second}.Document(now)
	if err != nil || string(d.Value) != `{"a":1.0}` || d.ExpiresAt.Sub(now) != 1100*time.Millisecond {
		t.Errorf("%s until %v, %v", d.Value, d.ExpiresAt, err)
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	const value = `{"n":3,"big":1e100,"s":"b","t":true,"z":null,"o":{"x":1,"y":[2]},"l":[1,"a"],"":0}`
	for filter, want := range map[string]bool{
		`{}`: true, `{"n":3}`: true, `{"n":3.0}`: true, `{"n":"3"}`: false, `{"n":3,"s":"b"}`: true, `{"n":3,"s":"a"}`: false,
		`{"n":{"$eq":3}}`: true, `{"n":{"$ne":3}}`: false, `{"n":{"$ne":4}}`: true, `{"n":{"$gt":2,"$lt":4}}`: true,
		`{"n":{"$gt":3}}`: false, `{"n":{"$gte":3}}`: true, `{"n":{"$lte":3}}`: true, `{"n":{"$lt":3}}`: false,
		`{"n":{"$gt":"2"}}`: false, `{"s":{"$gt":"a"}}`: true, `{"s":{"$lt":1}}`: false, `{"big":{"$gt":1e99}}`: true,
		`{"t":true}`: true, `{"t":1}`: false, `{"z":null}`: true, `{"gone":null}`: true, `{"gone":{"$ne":null}}`: false,
		`{"gone":{"$ne":1}}`: true, `{"gone":{"$gt":0}}`: false, `{"o":{"y":[2],"x":1}}`: true, `{"o":{"x":1}}`: false,
		`{"o":{"$eq":{"x":1,"y":[2]}}}`: true, `{"l":[1,"a"]}`: true, `{"l":["a",1]}`: false, `{"":0}`: true,
		`{"t":{"$gt":0}}`: false,
		`{"o":{}}`:        false,
	} {
		f, err := document.ParseFilter("filter", filter)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
		}
		check.Equal(t, want, f.Matches(json.RawMessage(value)), "%s", filter)
	}
	for filter, field := range map[string]string{
		`[]`: "filter", `null`: "filter", `3`: "filter", `{`: "filter", `{"a":1,"a":2}`: "filter", `{"$gt":1}`: "filter.$gt",
		`{"a":{"$in":[1]}}`: "filter.a", `{"a":{"$gt":1,"b":2}}`: "filter.a", `{"a":{"$gt":true}}`: "filter.a",
		`{"a":{"$lt":null}}`: "filter.a", `{"a":1e999}`: "filter", `{"a":"` + strings.Repeat("x", 4096) + `"}`: "filter",
		`{"a":12345678901234567890}`: "filter",
	} {
		f, err := document.ParseFilter("filter", filter)
		if !fault.Is(err, fault.Invalid) || fault.From(err).Fields[0].Field != field {
			t.Errorf("%.40s: %v, %v", filter, f, err)
		} else if text := fault.From(err).Fields[0].Message; strings.Contains(text, "body") {
			t.Errorf("%.40s is in no body: %s", filter, text)
		}
	}
	if f, err := document.ParseFilter("filter", ""); err != nil || !f.Matches(json.RawMessage(`{}`)) {
		t.Errorf("no filter: %v, %v", f, err)
	}
}

// FuzzFilter checks that a filter of any text is refused or compares any value without a panic, and that a value of one
// field equals itself.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":{"$gt":1}}`, `{"a":{"b":[null]}}`, `[]`, `{"a":`} {
		f.Add(s, `{"a":2}`)
	}
	f.Fuzz(func(t *testing.T, filter, value string) {
		parsed, err := document.ParseFilter("filter", filter)
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Fatal(err)
		}
		parsed.Matches(json.RawMessage(value))
		if err == nil && filter != "" && !strings.Contains(filter, "$") && !parsed.Matches(json.RawMessage(filter)) {
			t.Errorf("%s does not match itself", filter)
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	const value = `{"title":"Plan","n":2.5,"ok":true,"no":null,"empty":"","notes":[{"text":"one","tag":["x","y"]},
		{"text":"two"}],"deep":{"er":{"a.b":"dot"}},"l":[1,[2,3]]}`
	for name, c := range map[string]struct {
		index []string
		want  string
	}{
		"default": {nil, "deep.er.a.b: dot\nl: 1\nl: 2\nl: 3\nn: 2.5\nnotes.tag: x\nnotes.tag: y\nnotes.text: one\n" +
			"notes.text: two\nok: true\ntitle: Plan"},
		"none":           {[]string{}, ""},
		"field":          {[]string{"title"}, "Plan"},
		"rooted":         {[]string{"$.title"}, "Plan"},
		"several":        {[]string{"ok", "title", "missing", "no"}, "true\nPlan"},
		"items":          {[]string{"notes[*].text"}, "one\ntwo"},
		"first":          {[]string{"notes[0].tag"}, "x\ny"},
		"last":           {[]string{"notes[-1].text"}, "two"},
		"beyond":         {[]string{"notes[2].text", "notes[-3]"}, ""},
		"nested list":    {[]string{"l[1][0]"}, "2"},
		"all fields":     {[]string{"deep.*"}, "a.b: dot"},
		"object":         {[]string{"notes[0]"}, "tag: x\ntag: y\ntext: one"},
		"field of texts": {[]string{"title.x", "title[0]"}, ""},
	} {
		put := document.Put{Key: "k", Value: json.RawMessage(value), Index: c.index}
		d, err := put.Document(now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check.Same(t, c.want, d.Text(), "%s", name)
		if hasParts := len(d.Parts()) > 0; hasParts != (c.want != "") || d.Vectors != len(d.Parts()) {
			t.Errorf("%s: %d parts, %d vectors", name, len(d.Parts()), d.Vectors)
		}
	}
	for _, path := range []string{
		"", ".", "a.", ".a", "a[", "a[]", "a[x]", "a[01]", "a[+1]", "a[1", "a[1]b", "[0]",
		"$[0]", "a.$", strings.Repeat("a", 257), "a\xff",
	} {
		_, err := document.Put{Key: "k", Value: json.RawMessage(`{}`), Index: []string{"$", path}}.Document(now)
		if !fault.Is(err, fault.Invalid) || fault.From(err).Fields[0].Field != "index[1]" {
			t.Errorf("path %q: %v", path, err)
		}
	}
	_, err := document.Put{Key: "k", Value: json.RawMessage(`{}`), Index: make([]string, 33)}.Document(now)
	check.Fault(t, err, fault.Invalid, "33 paths")
}
