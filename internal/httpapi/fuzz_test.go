package httpapi_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

func FuzzInspect(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"x","metadata":{"a":[1,-2.5e3,true,false,null,"é😀"]}}]}`,
		`{"a":1,"a":2}`, `"\ud83d"`, "\"\xff\"", strings.Repeat("[", 40) + strings.Repeat("]", 40), `01`, `1e999`, `{}x`, ` [1 , 2 ] `, `{"\u0061":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := httpapi.Inspect(text)
		if valid := json.Valid(text); (err == nil && !valid) || (fault.Is(err, fault.NotJSON) && valid) {
			t.Fatalf("%q: %v, but JSON is %v", text, err, valid)
		}
		if err != nil {
			return
		}
		if !utf8.Valid(text) {
			t.Fatalf("%q passed, but is not UTF-8", text)
		}
		// What passes is not mended: reading and writing it twice gives the same.
		first := rewrite(t, text)
		if bytes.Contains(first, []byte(`\ufffd`)) || !bytes.Equal(first, rewrite(t, first)) {
			t.Fatalf("%q reads as %s", text, first)
		}
		if bytes.ContainsRune(first, utf8.RuneError) && !bytes.ContainsRune(text, utf8.RuneError) && !bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`)) {
			t.Fatalf("%q was mended to %s", text, first)
		}
	})
}

func rewrite(t *testing.T, text []byte) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q passed, but: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func FuzzStorable(f *testing.F) {
	for _, seed := range []string{"0", "-0.0", "1e125", "1e126", "9.99e125", "1e-125", "1e-126", "0.1e-124", "9007199254740992", "9007199254740993", "0.1", "0.30000000000000004", "1000000000000000000000000000000000000000000", "0e99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, number string) {
		if !json.Valid([]byte(number)) || len(number) > 400 || number[0] != '-' && (number[0] < '0' || number[0] > '9') {
			return
		}
		got := httpapi.Storable(number)
		if at := strings.IndexAny(number, "eE"); at >= 0 && len(number)-at > 5 {
			return // an exponent too large to compare; Storable must only not fail
		}
		value, ok := new(big.Rat).SetString(number)
		if !ok {
			return
		}
		if want := inRange(value) && comesBack(t, number, value); got != want {
			t.Errorf("Storable(%s) = %v, want %v", number, got, want)
		}
	})
}

// inRange reports whether a value is zero or lies within DynamoDB's range.
func inRange(v *big.Rat) bool {
	most, least := power(126), new(big.Rat).Inv(power(125))
	a := new(big.Rat).Abs(v)
	return a.Sign() == 0 || (a.Cmp(most) < 0 && a.Cmp(least) >= 0)
}

// comesBack reports whether a number reads as the same value after encoding/json kept it as a double.
func comesBack(t *testing.T, number string, v *big.Rat) bool {
	t.Helper()
	var f float64
	if json.Unmarshal([]byte(number), &f) != nil {
		return false
	}
	out, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	back, ok := new(big.Rat).SetString(string(out))
	return ok && back.Cmp(v) == 0
}

func power(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

func FuzzCursor(f *testing.F) {
	f.Add("ann", "GET /v1/sessions", "context=x", "position", "1.AAAA")
	f.Add("", "", "", "\x00\xff", "")
	f.Fuzz(func(t *testing.T, user, path, query, at, forged string) {
		key := cursorKey(t, "1")
		cursor := key.Seal(user, path, query, at)
		if got, err := key.Open(user, path, query, cursor); err != nil || got != at {
			t.Fatalf("a cursor of %q opens as %q, %v", at, got, err)
		}
		if at == "" {
			return
		}
		for _, other := range [][3]string{{user + "x", path, query}, {user, path + "x", query}, {user, path, query + "x"}, {user + path, "", query}} {
			if other == [3]string{user, path, query} {
				continue
			}
			if _, err := key.Open(other[0], other[1], other[2], cursor); err == nil {
				t.Fatalf("a cursor of %q %q %q opens for %q", user, path, query, other)
			}
		}
		if got, err := key.Open(user, path, query, forged); err == nil && forged != "" && forged != cursor {
			t.Fatalf("the forged cursor %q opens as %q", forged, got)
		}
		if _, err := cursorKey(t, "2").Open(user, path, query, cursor); err == nil {
			t.Fatal("a cursor opens with another key")
		}
	})
}

// FuzzHandler sends whatever comes to a path of the messages function: never a failure of ours, never a panic, and
// every error a problem.
func FuzzHandler(f *testing.F) {
	f.Add("POST", "/v1/sessions", `{"context":"coach_conversation","coachId":"c","attributes":{"a":{"b":[1,null]}}}`, "k", "application/json")
	f.Add("POST", "/v1/sessions/s1/messages", `{"messages":[{"role":"user","content":"x","timestamp":"2020-01-01T00:00:00Z","metadata":{}}]}`, "", "")
	f.Add("PATCH", "/v1/sessions/s1", `{"title":null,"status":"archived"}`, "", "application/json")
	f.Add("GET", "/v1/messages?from=2020-01-01T00:00:00Z&limit=3&cursor=1.abc", "", "", "")
	f.Add("PUT", "/v1/preferences", `{"contexts":{"workout_log":{"share":false}},"timezone":"Europe/Berlin"}`, "", "application/json")
	f.Add("POST", "/v1/memories", `{"type":"PROFILE","content":"x","confidence":1e-3,"messageIds":["a"]}`, "k", "application/json")
	f.Add("PATCH", "/v1/todos/x", `{"completedAt":null,"status":"COMPLETED"}`, "", "application/json")
	f.Add("PUT", "/v1/profile", `{"email":"x","createdAt":"2026-02-30T00:00:00Z","name":1}`, "", "application/json")
	f.Add("PUT", "/v1/user-summary", `{"patterns":{},"wins":[1],"struggles":null,"lastUpdated":"x"}`, "", "application/json")
	f.Add("POST", "/v1/memories", `{"type":"x","content":"","confidence":2,"pinned":"yes","messageIds":[1]}`, "", "application/json")
	f.Add("PATCH", "/v1/memories/x", `{"confidence":"x","validUntil":1,"supersededBy":[]}`, "", "application/json")
	f.Add("GET", "/v1/sessions?limit=x&status=y&context=z", "", "", "")
	f.Add("GET", "/v1/messages?limit=1e3&from=1&to=2026-02-30T00:00:00Z&order=up", "", "", "")
	f.Add("PUT", "/v1/preferences", `{"contexts":{"x":{"share":1}},"timezone":"Moon","memory":0}`, "", "application/json")
	f.Add("POST", "/v1/sessions", `[1]`, "", "application/json")
	f.Add("POST", "/v1/sessions/s1/messages", `{"messages":{"role":1}}`, "", "application/json")
	f.Add("DELETE", "/v1/sessions/s1/messages/%00%ff", "", "", "")
	h, _, _ := newMessages(f)
	newSession(f, h, "s1")
	f.Fuzz(func(t *testing.T, method, path, body, key, contentType string) {
		r := send(t, h, call{method: method, path: path, body: body, user: "ann", headers: map[string]string{"Idempotency-Key": key, "content-type": contentType}})
		if r.status >= 500 {
			t.Fatalf("%s %q %q: %d %s", method, path, body, r.status, r.body)
		}
		if r.status >= 400 && method != "HEAD" {
			var p problem
			r.decode(t, &p)
			if p.Status != r.status || p.Code == "" || r.header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("%s %q %q: %d %s", method, path, body, r.status, r.body)
			}
			if word := goWord(p, path+body+key+contentType); word != "" {
				t.Fatalf("%s %q %q: %s in %s", method, path, body, word, r.body)
			}
		}
	})
}

// goWord returns a word of Go's own, rather than of the API's, that a problem holds and the request does not.
func goWord(p problem, request string) string {
	text := p.Title + p.Detail
	for _, e := range p.Errors {
		text += " " + e.Message
	}
	for _, word := range []string{"json:", "strconv", "time.", "time:", "unmarshal", "Unmarshal", "reflect", "int64", "float64", "Go ", "parse ", "mail:", "interface", "map[", "nil", "0x", "%!", "expected string", "expected value", "expected number"} {
		if strings.Contains(text, word) && !strings.Contains(request, word) {
			return word
		}
	}
	return ""
}
