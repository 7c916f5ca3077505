package strictjson

import (
	"strconv"
	"strings"
)

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

// isDouble reports whether a JSON number is within the range of a double.
func isDouble(number string) bool {
	_, err := strconv.ParseFloat(number, 64)
	return err == nil
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
