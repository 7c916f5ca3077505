package extraction

import (
	"regexp"
	"slices"
	"strings"
)

// The numbers of payment cards (ISO/IEC 7812-1: up to 19 digits, the last one by Luhn's formula) and of bank accounts
// (ISO 13616: two letters, two digits, up to 30 letters and digits, with a remainder of 1 by 97), with spaces or
// hyphens in them.
var (
	cardNumber = regexp.MustCompile(`\d(?:[ -]?\d){12,18}`)
	iban       = regexp.MustCompile(`\b[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}\b`)
	// password is a word for a secret with what it is.
	password = regexp.MustCompile(`(?i)(?:pass(?:word|code|wort|wd)|contraseña|mot de passe|senha|пароль|密码|密碼|パスワード|` +
		`비밀번호|\bpin|api key|secret key)\b?(?: is| ist| es| est|:|=|是|は)+\s*\S{3,}`)
)

// hasSecret reports whether a text has the number of a card or an account, or a password. Nobody needs them in a
// prompt.
func hasSecret(text string) bool {
	return slices.ContainsFunc(cardNumber.FindAllString(text, -1), isCard) ||
		slices.ContainsFunc(iban.FindAllString(text, -1), isIBAN) || password.MatchString(text)
}

// separators are what may be within a number.
var separators = strings.NewReplacer(" ", "", "-", "")

// isCard checks a number by Luhn's formula.
func isCard(number string) bool {
	number, sum := separators.Replace(number), 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum > 0 && sum%10 == 0
}

// isIBAN checks an account number: its first four characters at the end, letters as numbers from 10, modulo 97.
func isIBAN(number string) bool {
	number = strings.ToUpper(separators.Replace(number))
	rest := 0
	for _, r := range number[4:] + number[:4] {
		if r >= 'A' {
			rest = (100*rest + int(r-'A') + 10) % 97
		} else {
			rest = (10*rest + int(r-'0')) % 97
		}
	}
	return rest == 1
}
