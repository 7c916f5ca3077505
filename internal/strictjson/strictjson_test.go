package strictjson_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/strictjson"
	"github.com/throughline/throughline/internal/testing/check"
)

// common is embedded in a request.
type common struct {
	Name  string    `json:"name"`
	From  time.Time `json:"from,omitzero"`
	Inner *inner    `json:"inner,omitempty"`
	Lost  bool      `json:"-"`
}

type inner struct {
	Tokens int `json:"tokens"`
}

type request struct {
	User   string   `json:"userId"`
	Lost   bool     `json:"lost"`
	Words  []string `json:"words"`
	Inners []inner  `json:"inners"`
	Plain  float64
	Took   time.Duration `json:"took"`
	common
}

func TestUnmarshalReadsEveryField(t *testing.T) {
	t.Parallel()
	var got request
	err := strictjson.Unmarshal(
		[]byte(` {"userId":"ann","lost":true,"words":["é\ud83d\ude00",null],"inners":[{"tokens":2}],"Plain":1.5,
		"took":150000001,"name":null,"from":"2026-02-05T11:00:00Z","inner":{"tokens":1}} `),
		&got,
	)
	want := request{
		User: "ann", Lost: true, Words: []string{"é😀", ""}, Inners: []inner{{2}}, Plain: 1.5, Took: 150_000_001,
		common: common{From: time.Date(2026, 2, 5, 11, 0, 0, 0, time.UTC), Inner: &inner{1}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(request{}), cmp.AllowUnexported(inner{})); diff != "" ||
		err != nil {
		t.Errorf("request (-want +got):\n%s%v", diff, err)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, test := range []struct{ name, text, fields string }{
		{"an unknown field", `{"inner":{"chars":1}}`, "inner.chars"},
		{"an unknown field in a list", `{"inners":[{},{"x":1}]}`, "inners[1].x"},
		{"a name in another case", `{"inner":{"Tokens":1}}`, "inner.Tokens"},
		{"a name that only the code has", `{"plain":1}`, "plain"},
		{"a field that is none in JSON", `{"Lost":true}`, "Lost"},
		{"a number for a text", `{"userId":7}`, "userId"},
		{"a text for a boolean", `{"lost":"x"}`, "lost"},
		{"a number in a list of texts", `{"words":["a",1]}`, "words[1]"},
		{"a text for a number", `{"Plain":"1"}`, "Plain"},
		{"a list for an object", `{"inner":[]}`, "inner"},
		{"an object for a list", `{"inners":{}}`, "inners"},
		{"a fraction", `{"inner":{"tokens":1.5}}`, "inner.tokens"},
		{"an exponent", `{"inners":[{"tokens":1e-1}]}`, "inners[0].tokens"},
		{"no time", `{"from":"yesterday"}`, "from"},
		{"half a surrogate pair", `{"name":"\ud83d"}`, "name"},
		{"the other half", `{"words":["a","\ude00"]}`, "words[1]"},
		{"bytes that are not UTF-8", "{\"name\":\"\xff\"}", "name"},
		{"a field twice", `{"inner":{"tokens":1,"tokens":2}}`, "inner.tokens"},
		{"a field twice, once escaped", `{"name":"a","\u006eame":"b"}`, "name"},
		{"a number that would change", `{"inner":{"tokens":9007199254740993}}`, "inner.tokens"},
		{"nesting", `{"x":` + nested(100) + `}`, "x" + strings.Repeat("[0]", 7)},
		{"nesting without end", `{"x":` + nested(200_000) + `}`, "x" + strings.Repeat("[0]", 7)},
		{"a list", `[1]`, "body"},
		{"null", `null`, "body"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := strictjson.Unmarshal([]byte(test.text), &request{})
			var names []string
			for _, f := range fault.From(err).Fields {
				names = append(names, f.Field)
			}
			if got := strings.Join(names, " "); !fault.Is(err, fault.Invalid) || got != test.fields {
				t.Errorf("got %v with the fields %q, want %q", err, got, test.fields)
			}
		})
	}
}

// TestWhatIsNotJSONIsDistinguished includes texts with another mistake before the syntax error.
func TestWhatIsNotJSONIsDistinguished(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "hello", `{"userId":"ann"} {}`, `{"a":1,}`, `{"a":1`, `{'a':1}`, "01", `"a`, `"\x"`, "\"\n\"",
		`{"a":1,"a":2`, "[\"\xff\",", strings.Repeat("[", 40), strings.Repeat("[", 200_000), strings.Repeat(`{"a":`, 100_000),
	} {
		check.Fault(t, strictjson.Unmarshal([]byte(text), &request{}), fault.NotJSON, "%.40q", text)
	}
}

func TestPlainIntegers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":3.0,"b":[1e1,-2.50e1,0.0,-0e5],"c":"1.0 \" 2.0"}`: `{"a":3,"b":[10,-25,0,0],"c":"1.0 \" 2.0"}`,
		`[1.5,1e-1,12,1e17,1e18,1.0e100,-1E+2]`:                 `[1.5,1e-1,12,100000000000000000,1e18,1.0e100,-100]`,
		`1.0`:                                                   `1`,
		`{"1.0":true}`:                                          `{"1.0":true}`,
	} {
		got, err := strictjson.Plain([]byte(text), strictjson.Verbatim{})
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestPlainLeavesVerbatim keeps the numbers of verbatim values, and no others. Beyond a double there is none.
func TestPlainLeavesVerbatim(t *testing.T) {
	t.Parallel()
	v := strictjson.Verbatim{List: "parts", Fields: []string{"input"}}
	const digits = "12345678901234567890.10"
	for text, want := range map[string]string{
		`{"n":1.0,"parts":[{"input":{"a":[1.0,` + digits + `]},"n":2.0}]}`: `{"n":1,"parts":[{"input":{"a":[1.0,` +
			digits + `]},"n":2}]}`,
		`{"m":[{"parts":[{"x":1.0},{"input":1e2}]}],"input":3.0}`: `{"m":[{"parts":[{"x":1},{"input":1e2}]}],"input":3}`,
		`{"parts":{"input":1.0}}`:                                 `{"parts":{"input":1}}`,
		`{"parts":[[{"input":1.0}]]}`:                             `{"parts":[[{"input":1}]]}`,
		`[1]`:                                                     `[1]`,
		`{"parts":[{"input":[1e308,1e-400]}]}`:                    `{"parts":[{"input":[1e308,1e-400]}]}`,
	} {
		got, err := strictjson.Plain([]byte(text), v)
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		`{"parts":[{"input":{"a":[1,1e400]}}]}`, `{"parts":[{"input":-1e309}]}`,
		`{"parts":[{"output":` + digits + `}]}`, `{"input":` + digits + `}`, `{"parts":[{"input":"\ud800"}]}`, `{"parts":[`,
	} {
		if _, err := strictjson.Plain([]byte(text), v); err == nil {
			t.Errorf("%s passes", text)
		}
	}
}
