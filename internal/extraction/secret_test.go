package extraction

import "testing"

func TestSecrets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Card 4111 1111 1111 1111":                         true,
		"Card 5500-0000-0000-0004, valid":                  true,
		"Card 4111 1111 1111 1112":                         false, // the last digit is wrong
		"IBAN GB82 WEST 1234 5698 7654 32":                 true,
		"IBAN GB82 WEST 1234 5698 7654 33":                 false,
		"The user's password is hunter22.":                 true,
		"Passwort: geheim1":                                true,
		"パスワードはabc123":                                     true,
		"The PIN is 4711":                                  true,
		"The user forgot their password.":                  false,
		"The user likes to spin on Mondays.":               false,
		"The user runs 10 km on 2026-11-20 at 07:30.":      false,
		"The user's phone is +47 912 34 567.":              false,
		"Order 2026 1120 0000":                             false,
		"The user's race numbers were 1234, 5678 and 9012": false,
	} {
		if got := hasSecret(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
