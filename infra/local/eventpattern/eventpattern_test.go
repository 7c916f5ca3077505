package eventpattern_test

import (
	"encoding/json"
	"testing"

	"github.com/throughline/throughline/infra/local/eventpattern"
)

const event = `{"eventName":"INSERT","size":7,"tags":["a","b"],"none":null,"dynamodb":{
	"Keys":{"sk":{"S":"msg#2026-02-05T18:30:00.000Z#ab"}},
	"NewImage":{"role":{"S":"user"},"origin":{"S":"live"},"seq":{"N":"3"},"on":{"BOOL":true}}}}`

func TestMatch(t *testing.T) {
	cases := []struct {
		name, pattern string
		want          bool
	}{
		{"exact", `{"eventName":["INSERT"]}`, true},
		{"exact, another", `{"eventName":["MODIFY","REMOVE"]}`, false},
		{"one of", `{"eventName":["MODIFY","INSERT"]}`, true},
		{"number", `{"size":[7]}`, true},
		{"number is no string", `{"size":["7"]}`, false},
		{"bool", `{"dynamodb":{"NewImage":{"on":{"BOOL":[true]}}}}`, true},
		{"null", `{"none":[null]}`, true},
		{"null is not absent", `{"missing":[null]}`, false},
		{"element of an array", `{"tags":["b"]}`, true},
		{"nested prefix", `{"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"msg#"}]}}}}`, true},
		{"nested prefix, another", `{"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"summary#"}]}}}}`, false},
		{"suffix", `{"dynamodb":{"Keys":{"sk":{"S":[{"suffix":"#ab"}]}}}}`, true},
		{"ignore case", `{"eventName":[{"equals-ignore-case":"insert"}]}`, true},
		{"all fields hold", `{"eventName":["INSERT"],"dynamodb":{"NewImage":{"role":{"S":["assistant"]}}}}`, false},
		{"exists", `{"dynamodb":{"NewImage":{"origin":{"S":[{"exists":true}]}}}}`, true},
		{"absent", `{"dynamodb":{"NewImage":{"gone":{"S":[{"exists":false}]}}}}`, true},
		{"absent below an absent image", `{"dynamodb":{"OldImage":{"role":{"S":[{"exists":false}]}}}}`, true},
		{"exists is for leaves", `{"dynamodb":{"NewImage":[{"exists":true}]}}`, false},
		{"anything but", `{"dynamodb":{"NewImage":{"origin":{"S":[{"anything-but":["backfill"]}]}}}}`, true},
		{"anything but it", `{"dynamodb":{"NewImage":{"origin":{"S":[{"anything-but":"live"}]}}}}`, false},
		{"anything but a prefix", `{"dynamodb":{"Keys":{"sk":{"S":[{"anything-but":{"prefix":"msg#"}}]}}}}`, false},
		{"anything but needs the field", `{"gone":[{"anything-but":["x"]}]}`, false},
		{"anything but or absent", `{"gone":[{"anything-but":["x"]},{"exists":false}]}`, true},
		{"numeric", `{"size":[{"numeric":[">",0,"<=",7]}]}`, true},
		{"numeric, outside", `{"size":[{"numeric":["<",7]}]}`, false},
		{"numeric on DynamoDB's number", `{"dynamodb":{"NewImage":{"seq":{"N":[{"numeric":["=",3]}]}}}}`, false},
		{"or", `{"$or":[{"eventName":["MODIFY"]},{"size":[7]}]}`, true},
		{"or and a field", `{"eventName":["MODIFY"],"$or":[{"size":[1]},{"size":[7]}]}`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := eventpattern.Parse(c.pattern)
			if err != nil {
				t.Fatal(err)
			}
			var doc any
			if err := json.Unmarshal([]byte(event), &doc); err != nil {
				t.Fatal(err)
			}
			if got := p.Match(doc); got != c.want {
				t.Errorf("match %v, want %v", got, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, pattern := range []string{
		``, `[]`, `{}`, `{"a":"b"}`, `{"a":[]}`, `{"a":[["b"]]}`, `{"a":[{"wildcard":7}]}`, `{"a":[{"no-such":"x"}]}`,
		`{"a":[{"prefix":1}]}`, `{"a":[{"exists":"yes"}]}`, `{"a":[{"numeric":["~",1]}]}`, `{"a":[{"numeric":["<"]}]}`,
		`{"a":[{"prefix":"x","suffix":"y"}]}`, `{"$or":[{"a":["b"]}]}`, `{"a":[{"anything-but":{"no-such":"x"}}]}`,
	} {
		if _, err := eventpattern.Parse(pattern); err == nil {
			t.Errorf("parsed %s", pattern)
		}
	}
}
