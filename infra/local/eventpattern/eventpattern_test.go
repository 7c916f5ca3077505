package eventpattern_test

import (
	"encoding/json"
	"testing"

	"github.com/throughline/throughline/infra/local/eventpattern"
	"github.com/throughline/throughline/internal/testing/check"
)

const event = `{"eventName":"INSERT","size":7,"dynamodb":{
	"Keys":{"sk":{"S":"msg#2026-02-05T18:30:00.000Z#ab"}},
	"NewImage":{"role":{"S":"user"},"origin":{"S":"live"},"seq":{"N":"3"}}}}`

func TestMatch(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, pattern string
		want          bool
	}{
		{"exact", `{"eventName":["INSERT"]}`, true},
		{"exact, another", `{"eventName":["MODIFY","REMOVE"]}`, false},
		{"one of", `{"eventName":["MODIFY","INSERT"]}`, true},
		{"a number is no text", `{"size":["7"]}`, false},
		{"nested prefix", `{"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"msg#"}]}}}}`, true},
		{"nested prefix, another", `{"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"summary#"}]}}}}`, false},
		{"one of two prefixes", `{"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"summary#"},{"prefix":"msg#"}]}}}}`, true},
		{"all fields hold", `{"eventName":["INSERT"],"dynamodb":{"NewImage":{"role":{"S":["assistant"]}}}}`, false},
		{"exists", `{"dynamodb":{"NewImage":{"origin":{"S":[{"exists":true}]}}}}`, true},
		{"exists, and must not", `{"dynamodb":{"NewImage":{"origin":{"S":[{"exists":false}]}}}}`, false},
		{"absent", `{"dynamodb":{"NewImage":{"gone":{"S":[{"exists":false}]}}}}`, true},
		{"absent below an absent image", `{"dynamodb":{"OldImage":{"role":{"S":[{"exists":false}]}}}}`, true},
		{"anything but it", `{"dynamodb":{"NewImage":{"role":{"S":[{"anything-but":["user"]}]}}}}`, false},
		{"anything but others", `{"dynamodb":{"NewImage":{"role":{"S":[{"anything-but":["a","b"]}]}}}}`, true},
		{"anything but, of what is absent", `{"dynamodb":{"OldImage":{"role":{"S":[{"anything-but":["a"]}]}}}}`, false},
		{"exists is for leaves", `{"dynamodb":{"NewImage":[{"exists":true}]}}`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := check.Got(eventpattern.Parse(c.pattern))(t)
			var doc any
			check.OK(t, json.Unmarshal([]byte(event), &doc))
			check.Equal(t, c.want, p.Match(doc), "match")
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		``, `[]`, `{}`, `{"a":"b"}`, `{"a":[]}`, `{"a":[["b"]]}`, `{"a":[7]}`, `{"a":[null]}`,
		`{"a":[{"prefix":1}]}`, `{"a":[{"exists":"yes"}]}`, `{"a":[{"prefix":"x","exists":true}]}`,
		`{"a":[{"suffix":"1"}]}`, `{"a":[{"anything-but":"x"}]}`, `{"a":[{"anything-but":[]}]}`,
		`{"a":[{"anything-but":[1]}]}`, `{"a":[{"anything-but":{"prefix":"x"}}]}`, `{"a":[{"numeric":["<",1]}]}`,
		`{"$or":[{"a":["b"]},{"c":["d"]}]}`,
	} {
		if _, err := eventpattern.Parse(pattern); err == nil {
			t.Errorf("parsed %s", pattern)
		}
	}
}
