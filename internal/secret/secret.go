// Package secret finds what nobody but its owner needs to read: the numbers of payment cards, bank accounts and
// documents, keys of services, passwords, and codes that open something. It goes by the form of a text and by phrases
// that give a secret, not by a word alone: an IMEI is no card, and "the PIN is in the blue folder" gives none.
package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Has reports whether a text has a secret.
func Has(text string) bool { return len(find(text, true)) > 0 }

// Without returns the records of a list whose text has no secret. It is for readers outside the conversation in which
// the secret was given.
func Without[T any](list []T, text func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(list), func(r T) bool { return Has(text(r)) })
}

// mark stands in the place of a secret.
const mark = "[secret]"

// Redact returns a text with a mark in the place of each secret.
func Redact(text string) string {
	spans := find(text, false)
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	end := 0
	for _, s := range spans {
		if s.from >= end {
			b.WriteString(text[end:s.from] + mark)
		}
		end = max(end, s.to)
	}
	return b.String() + text[end:]
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// rule finds secrets of one form: what the expression's last group has, or all of it, where check says so.
type rule struct {
	form func() *regexp.Regexp
	// hints are texts in lower case of which every match has one, so that most texts are not searched by an expression.
	// digits is how long a number is that a match has at least. A rule has hints, or leastDigits.
	hints  []string
	digits int
	// asBefore is set if the hints are those of the rule before.
	asBefore bool
	check    func(value string) bool
}

// applies reports whether a text may have a match of a rule.
func (r rule) applies(t *scan) bool {
	return t.longest >= r.digits && (len(r.hints) == 0 || slices.ContainsFunc(r.hints, t.has))
}

// find returns where a text has secrets, the first one only where that is enough.
func find(text string, isFirst bool) (found []span) {
	var t scan
	if t.read(text); t.isPlain() {
		return nil
	}
	applies := false
	for _, r := range rules {
		if !r.asBefore {
			applies = r.applies(&t)
		}
		if !applies {
			continue
		}
		if found = append(found, r.find(text, isFirst)...); isFirst && len(found) > 0 {
			return found
		}
	}
	return found
}

// find returns where a text has secrets of the rule's form, the first one only where that is enough.
func (r rule) find(text string, isFirst bool) (found []span) {
	for _, at := range r.form().FindAllStringSubmatchIndex(text, -1) {
		s := span{at[len(at)-2], at[len(at)-1]}
		for s.to > s.from && strings.IndexByte(".,;:", text[s.to-1]) >= 0 {
			s.to--
		}
		if s.from < 0 || r.check != nil && !r.check(text[s.from:s.to]) {
			continue
		}
		if found = append(found, s); isFirst {
			return found
		}
	}
	return found
}

// passwords are the words for a password, and pins those for a number that opens something. The Spanish "clave" is a
// key of any kind, too: keys are the words for a password alone.
const (
	word = `pass(?:word|code|phrase|wort|wörter|wd)?|pwd|pw|kennwort|contraseña|contrasena|mot de passe|senha|` +
		`wachtwoord|пароль|kata sandi(?: saya)?`
	passwords = `(?:` + word + `|clave)`
	keys      = `(?:` + word + `|(?:mi|nuestra) clave|` +
		`clave (?:de acceso|del? (?:la |el |mi )?(?:wi-?fi|router|red|cuenta|correo|banco|alarma|portal|móvil)))`
	pins = `(?:pin|pin[- ]?code|cvv|cvc|(?:door|gate|alarm|access|entry|security|unlock) code|geheim(?:zahl|nummer)|` +
		`(?:(?:haus)?tür|tor|alarm|safe|tresor|handy|spind|schloss|garagen|koffer|zugangs|sicherheits)-?code|` +
		`código (?:de (?:acceso|seguridad|desbloqueo)|del? (?:la )?(?:puerta|alarma|portal|garaje|caja fuerte))|` +
		`code (?:d'accès|de (?:la porte|l'alarme|sécurité)|pin)|codice (?:pin|di (?:accesso|sicurezza)|dell'allarme))`
	// links stand between such a word and what it is. A few words may stand before them: "for the wifi".
	links = `(?:\s*(?:[:=]|is|are|was|ist|lautet|heißt|war|es|era|est|é|è|—|-)\s+|\s*[:=]\s*)`
	some  = `(?:\s+wi-?fi)?(?:\s+(?:for|of|to|on|at|in|für|fürs|vom|von|zum|zur|des|der|` +
		`bei|beim|im|am|auf|para|de|del|en|du|pour|à|` +
		`au|sur|per|di|della|su|da|do|voor|van|op)(?:\s+[\p{L}\d'’-]+(?:\.\p{L}+)?){1,5}?)?`
	begin  = `(?i)(?:^|[^\p{L}])`
	quotes = `["'“”„«»‘’]*`
	// mixed is a value with a digit or a mark among its letters.
	mixed = `([^\s"“”„«»]*[\p{Nd}!@#$%^&*+=_~][^\s"“”„«»]*)`
)

// form compiles an expression when a text is first searched for it: a function that finds no hint starts without.
func form(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// of splits the hints of a rule.
func of(hints string) []string { return strings.Fields(hints) }

var (
	passwordHints = append(of("passw passcode passphrase passwort pwd pw kennwort contrase clave passe senha "+
		"wachtwoord пароль"), "mot de passe", "kata sandi")
	pinHints = of("pin cvv cvc code código codice geheimzahl geheimnummer")
)

// rules are the forms of secrets. The prefixes are those that the services give their keys.
var rules = append([]rule{
	{form: form(`\d(?:[ -]?\d){11,18}(?:[ -]\d{3,4})?`), digits: 12, check: hasCard},
	{form: form(`\b[A-Z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}\b`), digits: 8, check: hasIBAN},
	{
		form:  form(`\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{6,}|\bwhsec_[A-Za-z0-9]{16,}`),
		hints: of("k_live_ k_test_ whsec_"),
	},
	{form: form(`\bsk-(?:proj-|ant-|or-|svcacct-)?[A-Za-z0-9_-]{16,}`), hints: of("sk-"), check: isRandom},
	{form: form(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), hints: of("akia asia")},
	{
		form:  form(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})`),
		hints: of("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat-"),
	},
	{form: form(`\bx(?:ox[abeprs]|app)-[A-Za-z0-9-]{10,}`), hints: of("xox xapp-")},
	{
		form:  form(`\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bSG\.[\w-]{16,}\.[\w-]{16,}`),
		hints: of("aiza ya29. sg."),
	},
	{
		form:  form(`\b(?:hf|npm|pcsk|dop_v1|shpat|shpss|lin_api|gsk|xai)_\w{20,}|\bpypi-\w{30,}`),
		hints: of("hf_ npm_ pcsk_ dop_v1_ shpat_ shpss_ lin_api_ gsk_ xai_ pypi-"),
	},
	{
		form:   form(`\b(?:SK|key-)[0-9a-f]{32}\b|\bAGE-SECRET-KEY-1[0-9A-Z]{30,}`),
		hints:  of("sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 ska skb skc skd ske skf key-"),
		digits: 1,
	},
	{
		form:  form(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]+-----END [A-Z ]*PRIVATE KEY-----)?`),
		hints: of("key-----"),
	},
	{form: form(`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}`), hints: of("eyj")},
	{form: form(`(?i)\bbearer\s+([\w.~+/-]{20,}=*)`), hints: of("bearer"), check: isRandom},
	{form: form(`\b[a-z][a-z0-9+.-]*://[^\s:/@]+:([^\s:/@]{3,})@`), hints: of("://"), check: isGiven},
	// A setting: DB_PASSWORD=…, aws_secret_access_key = "…".
	{
		form: form(`(?i)\b(?:\w*[_.-])?(?:secret|passw(?:or)?d|pwd|token|api[_-]?key|(?:access|private|auth|` +
			`stripe|account|master|encryption)[_-]?key)(?:[_-]\w+)?["']?\s*[:=]\s*["']?([^\s"',;]{6,})`),
		hints: of("secret passw pwd token key"), check: isGiven,
	},
	{
		form: form(`(?i)\b(?:api|secret|licen[cs]e|access) (?:key|token)s?(?:\s+is|\s*[:=])?\s+` +
			`([\w.~+/-]{12,}=*)`),
		hints: of("key token"), check: isRandom,
	},
	// A phrase that gives a password: the only word after it, or one that is none, or one in quotation marks.
	{form: form(begin + keys + some + links + quotes +
		`([^\s"“”„«»]{3,})(?:["“”„«»]|[.!,;]?\s*(?:$|[.!\n]))`), hints: passwordHints, check: isPassword},
	{
		form:     form(begin + passwords + `(?:` + some + links + `|\s+)` + quotes + mixed),
		asBefore: true, check: isMixed,
	},
	{
		form:     form(begin + keys + some + `(?:` + links + `|\s+)["“„«]([^"“”„«»]{3,64})["”“»]`),
		asBefore: true, check: func(value string) bool { return !isPlaceholder(value) },
	},
	{
		form: form(`(?i)(?:^|\s)` + quotes + `([^\s"“”„«»]{5,})` + quotes +
			`\s+(?:is|ist|es|est)\s+(?:my|the|our|mein|das|mi|la|mon|le)\s+(?:\S+\s+)?` + passwords),
		asBefore: true, check: isMixed,
	},
	{
		form:   form(begin + pins + some + `(?:` + links + `|\s+)` + quotes + `(\d{3,8}[A-Z]?)\b`),
		hints:  pinHints,
		digits: 3,
	},
}, phrases...)

// separators are what may be within a number.
var separators = strings.NewReplacer(" ", "", "-", "")

// hasCard reports whether digits are the number of a card, perhaps with its security code after it.
func hasCard(number string) bool {
	if isCard(separators.Replace(number)) {
		return true
	}
	last := strings.LastIndexAny(number, " -")
	return last > 0 && isCard(separators.Replace(number[:last]))
}

// issuers are the first digits of the numbers of payment cards, from one to another, with their lengths (ISO/IEC 7812,
// as the networks publish them).
var issuers = []struct {
	from, to string
	lengths  []int
}{
	{"4", "4", []int{13, 16, 19}},                      // Visa
	{"51", "55", []int{16}},                            // Mastercard
	{"2221", "2720", []int{16}},                        //
	{"34", "34", []int{15}},                            // American Express
	{"37", "37", []int{15}},                            //
	{"6011", "6011", []int{16, 19}},                    // Discover
	{"644", "659", []int{16, 19}},                      //
	{"300", "305", []int{14}},                          // Diners Club
	{"36", "36", []int{14}},                            //
	{"38", "39", []int{14}},                            //
	{"3528", "3589", []int{16}},                        // JCB
	{"62", "62", []int{16, 17, 18, 19}},                // UnionPay
	{"2200", "2204", []int{16}},                        // Mir
	{"5018", "5038", []int{16, 18, 19}},                // Maestro
	{"6304", "6304", []int{16, 18, 19}},                //
	{"6759", "6763", []int{16, 18, 19}},                //
	{"508", "508", []int{16}}, {"60", "60", []int{16}}, // RuPay
	{"81", "82", []int{16}}, {"5067", "5067", []int{16, 19}}, // RuPay, Elo
}

// isCard reports whether digits are the number of a card: of an issuer, of its length, and right by Luhn's formula.
func isCard(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	if sum == 0 || sum%10 != 0 {
		return false
	}
	for _, r := range issuers {
		first := number[:min(len(r.from), len(number))]
		if first >= r.from && first <= r.to && slices.Contains(r.lengths, len(number)) {
			return true
		}
	}
	return false
}

// leastIBAN is the length of the shortest number of a bank account, Norway's.
const leastIBAN = 15

// hasIBAN reports whether a text begins with the number of a bank account. Words may follow it.
func hasIBAN(text string) bool {
	for last := len(text); last > 0; last = strings.LastIndexAny(text, " -") {
		if text = text[:last]; len(text) >= leastIBAN && isIBAN(text) {
			return true
		}
	}
	return false
}

// isIBAN checks the number of a bank account (ISO 13616): its first four characters at the end, letters as numbers from
// 10, modulo 97.
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

// kinds counts what a value is made of: small letters, capitals, digits and other marks.
func kinds(value string) (small, capital, digit, other int) {
	for _, r := range value {
		switch {
		case unicode.IsDigit(r):
			digit++
		case unicode.IsUpper(r):
			capital++
		case unicode.IsLetter(r):
			small++
		default:
			other++
		}
	}
	return small, capital, digit, other
}

// isRandom reports whether a long value is one that no person has written: it mixes letters and digits.
func isRandom(value string) bool {
	small, capital, digit, _ := kinds(value)
	return digit >= 2 && small+capital >= 2 && !isPlaceholder(value)
}

// isMixed reports whether a value is no word: it has letters and digits, or marks among its letters.
func isMixed(value string) bool {
	value = strings.TrimRight(value, ".,;:!?)”\"'")
	small, capital, digit, _ := kinds(value)
	hasMark := strings.ContainsAny(value, "!@#$%^&*+=_~")
	isWord := len(value) < 4 || small+capital == 0 || digit == 0 && !hasMark
	return !isWord && !isPlaceholder(value) && !ordinal().MatchString(value)
}

// ordinal is a number with letters that is no secret: 2nd, 10km, v2.
var ordinal = form(
	`(?i)^(?:v?\d+(?:st|nd|rd|th|er|e|x|km|m|min|h|s)?|\d+[-/.:x]\d+\S*|[a-z]+-\d{1,2}|https?:.*)$`)

// isGiven reports whether the value of a setting is a value, and no mark in the place of one or a plain word.
func isGiven(value string) bool {
	small, capital, digit, other := kinds(value)
	return !isPlaceholder(value) && small+capital+digit >= 4 && (digit > 0 || capital > 0 && small > 0 || other > 0)
}

// isPlaceholder reports whether a value stands for another: <key>, ${KEY}, xxxx, ****, your-key.
func isPlaceholder(value string) bool {
	folded := strings.ToLower(value)
	isMark := strings.Trim(folded, "x*.•…?-_") == ""
	word := func(w string) bool { return strings.Contains(folded, w) }
	return isMark || value == mark || strings.ContainsAny(value, "<>{}()") || strings.HasPrefix(value, "$") ||
		slices.ContainsFunc([]string{"your", "example", "placeholder", "..."}, word)
}

// isASCIISecret reports whether what follows a word of another script is a secret: more than a word's mark.
func isASCIISecret(value string) bool {
	small, capital, digit, _ := kinds(value)
	return small+capital+digit >= 3 && !isPlaceholder(value)
}

// isPassword reports whether the only word after "the password is" is one: no word that is said of passwords, and no
// time, as after a "pw" that is a personal best.
func isPassword(value string) bool {
	value = strings.ToLower(strings.Trim(value, ".,;:!?)”\"'"))
	return len(value) >= 3 && !saidOfPasswords[value] && !isPlaceholder(value) && !clock().MatchString(value)
}

// clock is a time, or how long something took.
var clock = form(`^\d{1,2}(?::\d\d){1,2}$`)

// saidOfPasswords are words that follow "the password is" and are none.
var saidOfPasswords = wordSet(`
	wrong right correct incorrect invalid valid weak strong safe secure secret missing expired required needed optional
	long short new old gone empty lost known unknown changed reset unique compromised fine ok okay good bad same different
	this that here there it below above attached case-sensitive forgotten private mine yours yes no not hard easy simple
	stored saved hidden protected locked blocked noted shared annoying complicated gespeichert notiert hinterlegt gesperrt
	geschützt kompliziert nervig guardada bloqueada anotada compartida enregistré bloqué noté partagé sbagliata errata
	scaduta giusta corretta debole sicura segreta lunga corta nuova vecchia persa uguale diversa difficile salvata
	falsch richtig korrekt ungültig gültig schwach stark sicher unsicher geheim abgelaufen nötig lang kurz neu alt weg leer
	bekannt unbekannt geändert zurückgesetzt vergessen egal gleich anders hier dort das dies schwer leicht einfach privat
	incorrecta correcta inválida válida débil fuerte segura insegura secreta caducada necesaria larga corta nueva vieja
	vacía perdida conocida distinta igual esta esa esto eso aquí difícil fácil incorrecto correcto mala buena otra
	faux incorrect incorrecte correct correcte invalide valide faible fort forte sûr sûre secret expiré expirée requis long
	nouveau ancien vide perdu oublié connu inconnu changé différent pareil ici celui-ci ça cela difficile facile bon
	errado errada certa correta fraca nova antiga perdida`)

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		out[word] = true
	}
	return out
}
