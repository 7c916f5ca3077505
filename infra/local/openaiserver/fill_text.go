package openaiserver

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// texts are the keywords of strings. Lengths are in characters.
type texts struct {
	MinLength int    `json:"minLength"`
	MaxLength *int   `json:"maxLength"`
	Pattern   string `json:"pattern"`
	Format    string `json:"format"`
}

// examples has a text for each known format.
var examples = map[string]string{
	"date-time": "2026-02-05T18:30:00Z", "date": "2026-02-05", "time": "18:30:00Z", "duration": "PT1H",
	"email": "someone@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "6f1c2ab4-9d3e-4c57-8a10-2b7d5e9f0c31", "uri": "https://example.com/", "url": "https://example.com/",
}

// text returns the first allowed of the wish, the wish cut or lengthened to the allowed length, and an example. It
// reports whether one of them is.
func (t texts) text(wish string) (string, bool) {
	wish = strings.ToValidUTF8(wish, "")
	if t.MinLength > maxValue {
		return "", false
	}
	candidates := []string{wish, t.fit(wish), examples[t.Format], t.fit("")}
	if parsed, err := syntax.Parse(t.Pattern, syntax.Perl); err == nil && t.Pattern != "" {
		candidates = append(candidates, example(parsed.Simplify()))
	}
	if i := slices.IndexFunc(candidates, t.allows); i >= 0 {
		return candidates[i], true
	}
	return "", false
}

// fit cuts or lengthens a text.
func (t texts) fit(text string) string {
	runes := []rune(text)
	if t.MaxLength != nil && len(runes) > max(*t.MaxLength, 0) {
		runes = runes[:max(*t.MaxLength, 0)]
	}
	return string(runes) + strings.Repeat(".", max(t.MinLength-len(runes), 0))
}

// allows reports whether a text keeps all that is said about it. Only the example of a format is known to have it. A
// pattern that Go cannot read is taken for the format's own, as zod writes one beside each format.
func (t texts) allows(text string) bool {
	length := utf8.RuneCountInString(text)
	if length < t.MinLength || t.MaxLength != nil && length > *t.MaxLength ||
		t.Format != "" && (examples[t.Format] == "" || text != examples[t.Format]) {
		return false
	}
	pattern, err := regexp.Compile(t.Pattern)
	if err != nil {
		return t.Format != ""
	}
	return pattern.MatchString(text)
}

// example returns a short text that a pattern matches.
func example(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(exampleRune(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return example(re.Sub[0])
	case syntax.OpConcat:
		var all strings.Builder
		for _, part := range re.Sub {
			all.WriteString(example(part))
		}
		return all.String()
	default: // what may be left out, and what has no width
		return ""
	}
}

// exampleRune returns a rune of a class, which lists the first and the last of each range: a letter where there is one.
func exampleRune(class []rune) rune {
	for _, wanted := range []rune{'a', 'A', '1'} {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= wanted && wanted <= class[i+1] {
				return wanted
			}
		}
	}
	if len(class) == 0 {
		return 'a'
	}
	return class[0]
}
