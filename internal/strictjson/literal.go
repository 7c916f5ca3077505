package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// textProblem returns what is wrong with a string of JSON text, and "" if nothing is.
func textProblem(source []byte) string {
	if !utf8.Valid(source) {
		return "has bytes that are not UTF-8"
	}
	for rest := source; ; {
		_, after, found := bytes.Cut(rest, []byte{'\\'})
		if !found {
			return ""
		}
		if rest = after[1:]; after[0] != 'u' {
			continue
		}
		unit := hexUnit(after)
		rest = after[5:]
		if !utf16.IsSurrogate(unit) {
			continue
		}
		if !bytes.HasPrefix(rest, []byte(`\u`)) || utf16.DecodeRune(unit, hexUnit(rest[1:])) == utf8.RuneError {
			return "has an escape of half a surrogate pair"
		}
		rest = rest[6:]
	}
}

// hexUnit reads the UTF-16 unit of an escape, which begins with u and four hexadecimal digits.
func hexUnit(escape []byte) rune {
	unit, err := strconv.ParseUint(string(escape[1:5]), 16, 16)
	if err != nil {
		return 0 // not in a text that is JSON
	}
	return rune(unit)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// maxExponent is the largest power of ten, on either side, of a number that the API takes.
const maxExponent = 125

// storable reports whether a JSON number comes back exactly. It is kept as a double, so the shortest text of the double
// must have the same digits. The number must also be in the API's range.
func storable(number string) bool {
	digits, leading := significant(number)
	if digits == "" {
		return true
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || leading < -maxExponent || leading > maxExponent {
		return false
	}
	kept, power := significant(strconv.FormatFloat(f, 'e', -1, 64))
	return digits == kept && leading == power
}

// significant returns a number's significant digits and the power of ten of the first digit. Zero has no digits.
func significant(number string) (digits string, leading int) {
	number = strings.TrimPrefix(number, "-")
	mantissa, power := number, 0
	if at := strings.IndexAny(number, "eE"); at >= 0 {
		mantissa, power = number[:at], parseExponent(number[at+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	leading = len(digits) - len(fraction) - 1 + power
	return strings.TrimRight(digits, "0"), leading
}

// parseExponent reads an exponent. One that overflows an int becomes a very large or very small one.
func parseExponent(text string) int {
	const beyond = 1 << 30
	n, err := strconv.Atoi(text)
	switch {
	case err == nil:
		return max(-beyond, min(n, beyond))
	case strings.HasPrefix(text, "-"):
		return -beyond
	}
	return beyond
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// numberEnd returns the index after the number that begins at i.
func numberEnd(text []byte, i int) int {
	for i < len(text) && (isDigit(text[i]) || strings.IndexByte("+-.eE", text[i]) >= 0) {
		i++
	}
	return i
}

// plainInteger returns a whole number as plain digits. ok is false if the number is plain already, has a fraction, or
// is too long.
func plainInteger(number string) (plain string, ok bool) {
	if !strings.ContainsAny(number, ".eE") {
		return "", false
	}
	digits, leading := significant(number)
	switch {
	case digits == "":
		return "0", true
	case leading > 17 || len(digits) > leading+1:
		return "", false
	}
	sign := ""
	if number[0] == '-' {
		sign = "-"
	}
	return sign + digits + strings.Repeat("0", leading+1-len(digits)), true
}

// unquote returns the text of a quoted name.
func unquote(quoted []byte) string {
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return ""
	}
	return name
}

// nameSet is the set of names in one object: a list while there are few, then a map.
type nameSet struct {
	few  [][]byte
	many map[string]bool
}

// add adds a quoted name and reports whether it is new. Names that differ only in escapes are equal.
func (s *nameSet) add(quoted []byte) bool {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		quoted = []byte(`"` + unquote(quoted) + `"`)
	}
	if s.many == nil && len(s.few) < 16 {
		for _, name := range s.few {
			if string(name) == string(quoted) {
				return false
			}
		}
		s.few = append(s.few, quoted)
		return true
	}
	if s.many == nil {
		s.many = make(map[string]bool, 2*len(s.few))
		for _, name := range s.few {
			s.many[string(name)] = true
		}
	}
	if s.many[string(quoted)] {
		return false
	}
	s.many[string(quoted)] = true
	return true
}
