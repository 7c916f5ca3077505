package strictjson

import (
	"strconv"
	"strings"
)

// maxExponent is the largest power of ten, on either side, that a DynamoDB number holds.
const maxExponent = 125

// storable reports whether a JSON number comes back from the store as the same value: it is kept as a double, whose
// shortest text has to say what the number says, and lies within DynamoDB's range.
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

// significant returns a number's significant digits, none for zero, and the power of ten of the first.
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

// parseExponent reads an exponent; one that is no int is beyond every bound, on the side that its sign says.
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
