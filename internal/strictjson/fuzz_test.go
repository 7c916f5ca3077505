package strictjson_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/strictjson"
	"github.com/throughline/throughline/internal/testing/check"
)

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"x","metadata":{"a":[1,-2.5e3,true,false,null,"é😀"]}}]}`,
		`{"a":1,"a":2}`, `"\ud83d"`, "\"\xff\"", strings.Repeat("[", 40) + strings.Repeat("]", 40), `01`, `1e999`, `{}x`,
		` [1 , 2 ] `, `{"\u0061":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := strictjson.Check(text)
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
		if bytes.ContainsRune(first, utf8.RuneError) && !bytes.ContainsRune(text, utf8.RuneError) &&
			!bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`)) {
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
	return check.Got(json.Marshal(v))(t)
}

func FuzzStorable(f *testing.F) {
	for _, seed := range []string{
		"0", "-0.0", "1e125", "1e126", "9.99e125", "1e-125", "1e-126", "0.1e-124", "9007199254740992", "9007199254740993",
		"0.1", "0.30000000000000004", "1000000000000000000000000000000000000000000", "0e99999999999999999999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, number string) {
		if !json.Valid([]byte(number)) || len(number) > 400 || number[0] != '-' && (number[0] < '0' || number[0] > '9') {
			return
		}
		got := strictjson.Storable(number)
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
	out := check.Got(json.Marshal(f))(t)
	back, ok := new(big.Rat).SetString(string(out))
	return ok && back.Cmp(v) == 0
}

func power(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}
