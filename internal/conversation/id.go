package conversation

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// idAlphabet is base 32 in ascending byte order (RFC 4648, extended hex, lower case), so that ids sort as the times
// in them do.
const idAlphabet = "0123456789abcdefghijklmnopqrstuv"

const (
	idTimeDigits   = 10 // 50 bits of milliseconds
	idRandomDigits = 10 // 50 random bits
)

// NewID returns "<kind>_<time><random>": 10 base-32 digits of the millisecond and 10 random ones. Ids of a kind sort
// by their times; those before 1970 sort as 1970. It panics when random fails, as crypto/rand does.
func NewID(kind string, at time.Time, random io.Reader) string {
	return kind + "_" + base32Digits(at.UnixMilli(), idTimeDigits) + RandomDigits(random, idRandomDigits)
}

// TimeOfID returns the millisecond in an id that NewID made for that kind, and whether it is one.
func TimeOfID(kind, id string) (time.Time, bool) {
	digits, ok := strings.CutPrefix(id, kind+"_")
	if !ok || len(digits) != idTimeDigits+idRandomDigits {
		return time.Time{}, false
	}
	var ms int64
	for i := range len(digits) {
		d := strings.IndexByte(idAlphabet, digits[i])
		if d < 0 {
			return time.Time{}, false
		}
		if i < idTimeDigits {
			ms = ms<<5 | int64(d)
		}
	}
	return time.UnixMilli(ms).UTC(), true
}

// RandomDigits returns n random base-32 digits, lower case.
func RandomDigits(random io.Reader, n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(random, b); err != nil {
		panic(fmt.Sprintf("conversation: read random digits: %v", err))
	}
	for i := range b {
		b[i] = idAlphabet[b[i]&31]
	}
	return string(b)
}

func base32Digits(v int64, n int) string {
	v = min(max(v, 0), 1<<(5*n)-1)
	b := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		b[i] = idAlphabet[v&31]
		v >>= 5
	}
	return string(b)
}
