package httpapi

import (
	"strconv"
	"strings"
)

// What a DynamoDB number holds exactly: 38 significant digits, and a magnitude of 1e-130 to 9.9e125, of which the
// symmetrical part is allowed here.
const (
	maxDigits   = 38
	maxExponent = 125
)

// storable reports whether a JSON number can be stored and given back as the same value.
func storable(number string) bool {
	number = strings.TrimPrefix(number, "-")
	mantissa, power := number, 0
	if at := strings.IndexAny(number, "eE"); at >= 0 {
		mantissa = number[:at]
		// An exponent that is no int is beyond every bound, on the side that its sign says.
		power = parseExponent(number[at+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return true
	}
	// The first significant digit's power of ten.
	leading := len(digits) - len(fraction) - 1 + power
	return len(strings.TrimRight(digits, "0")) <= maxDigits && -maxExponent <= leading && leading <= maxExponent
}

func parseExponent(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n > 1<<30 || n < -1<<30 {
		if strings.HasPrefix(text, "-") {
			return -1 << 30
		}
		return 1 << 30
	}
	return n
}
