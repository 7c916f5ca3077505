package auth_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/fault"
)

// FuzzClaims signs any payload. A token that is accepted names one user, exactly once, by the exact name.
func FuzzClaims(f *testing.F) {
	i := newIssuer(f, "k1")
	v := newVerifier(f, i)
	valid := func(extra string) string {
		return `{"iss":"` + i.URL + `","aud":"` + audience + `","exp":9999999999,"sub":"ann"` + extra + `}`
	}
	for _, extra := range []string{
		"", `,"Sub":"bob"`, `,"ſub":"bob"`, `,"sub":"bob"`, `,"EXP":1`, `,"scope":"[throughline/app"`, `,"scope":["a b"]`,
		`,"scp":["throughline/app"]`, `,"x":"\ud800"`, `,"aud":["other"]`, `,"client_id":"x"`, `,"nbf":1e400`,
	} {
		f.Add(valid(extra))
	}
	f.Add(`{"sub":`)
	f.Fuzz(func(t *testing.T, payload string) {
		user, scopes, err := v.Verify(t.Context(), i.signText(t, "k1", payload))
		if err != nil {
			if !fault.Is(err, fault.Unauthorized) {
				t.Fatalf("%q: %v", payload, err)
			}
			return
		}
		var named map[string]json.RawMessage
		if err := json.Unmarshal([]byte(payload), &named); err != nil {
			t.Fatalf("%q is accepted: %v", payload, err)
		}
		for name := range named {
			if name != "sub" && strings.EqualFold(name, "sub") {
				t.Fatalf("%q is accepted with %q", payload, name)
			}
		}
		var sub string
		if err := json.Unmarshal(named["sub"], &sub); err != nil || sub != string(user) {
			t.Fatalf("%q is the token of %q, %v; want %q", payload, user, err, sub)
		}
		for _, scope := range scopes {
			if !strings.Contains(string(named["scope"])+string(named["scp"]), `throughline/app`) && scope == "throughline/app" {
				t.Fatalf("%q has the scopes %q", payload, scopes)
			}
		}
	})
}
