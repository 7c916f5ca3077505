package openaiserver

import (
	"regexp/syntax"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// examples has a text for each known format.
var examples = map[string]string{
	"date-time": "2026-02-05T18:30:00Z", "date": "2026-02-05", "time": "18:30:00Z", "duration": "PT1H",
	"email": "someone@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "6f1c2ab4-9d3e-4c57-8a10-2b7d5e9f0c31", "uri": "https://example.com/", "url": "https://example.com/",
}

// texts are the wish, the wish cut or lengthened to the allowed length, and an example. Only the example of a format is
// known to have it.
func texts(s *jsonschema.Schema, wish string) []any {
	if s.Format != "" {
		if text, known := examples[s.Format]; known {
			return []any{text}
		}
		return nil
	}
	wish = strings.ToValidUTF8(wish, "")
	candidates := []any{wish, fit(s, wish), fit(s, "")}
	if parsed, err := syntax.Parse(s.Pattern, syntax.Perl); err == nil && s.Pattern != "" {
		candidates = append(candidates, example(parsed.Simplify()))
	}
	return candidates
}

// fit cuts or lengthens a text.
func fit(s *jsonschema.Schema, text string) string {
	runes := []rune(text)
	if s.MaxLength != nil && len(runes) > max(*s.MaxLength, 0) {
		runes = runes[:max(*s.MaxLength, 0)]
	}
	if s.MinLength != nil {
		return string(runes) + strings.Repeat(".", max(*s.MinLength-len(runes), 0))
	}
	return string(runes)
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
