package conversation

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// idAlphabet is that of base 32 in the order of its bytes (RFC 4648, section 7, in lower case), so that ids sort in the
// order of their times.
const idAlphabet = "0123456789abcdefghijklmnopqrstuv"

const (
	idTimeDigits   = 10 // 50 bits of milliseconds
	idRandomDigits = 10 // 50 random bits
)

// NewID returns "<kind>_<time><random>": 10 base-32 digits of the time in milliseconds and 10 random ones. Ids of a
// kind sort in the order of their times, where all times before 1970 count as 1970. NewID panics if random returns an
// error, as crypto/rand does.
func NewID(kind string, at time.Time, random io.Reader) string {
	return kind + "_" + base32Digits(at.UnixMilli(), idTimeDigits) + RandomDigits(random, idRandomDigits)
}

// TimeOfID returns the time in an id of that kind. It reports false if NewID did not make the id.
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

// ValidID reports whether a sessionId or coachId has 1 to 128 characters of [A-Za-z0-9_.:-]. The ids "." and ".." are
// not valid: clients and servers remove them from URL paths, so a record with such an id could not be reached.
func ValidID(id string) bool { return id != "." && id != ".." && ConsistsOf(id, 128, "_.:-") }

// ConsistsOf reports whether a text has 1 to longest bytes, each of which is an ASCII letter, a digit or one of others.
func ConsistsOf(text string, longest int, others string) bool {
	for _, c := range []byte(text) {
		isLetter := 'a' <= c|0x20 && c|0x20 <= 'z' // 0x20 is what a small letter has beside its capital one
		if !isLetter && (c < '0' || c > '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return text != "" && len(text) <= longest
}
