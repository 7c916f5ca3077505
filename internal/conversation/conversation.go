// Package conversation holds the record of truth: users' sessions and the messages in them, the registry of the
// contexts they happen in, and the rules that every store of them keeps (design 3 and 4.1). It knows no database.
package conversation

import (
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// UserID names the person that records belong to: the token's sub, 1 to 128 printable characters. Every call of a
// store takes the caller as an argument, so that no read can be made without saying whose.
type UserID string

// Validate returns an Invalid error unless the id is 1 to 128 printable characters.
func (u UserID) Validate() error {
	n := utf8.RuneCountInString(string(u))
	if !utf8.ValidString(string(u)) || n < 1 || n > 128 {
		return fault.InvalidField("userId", "must be 1 to 128 printable characters")
	}
	for _, r := range string(u) {
		if !unicode.IsPrint(r) {
			return fault.InvalidField("userId", "must be 1 to 128 printable characters")
		}
	}
	return nil
}

// TimeFormat is how times are written, in keys as in the API: RFC 3339, UTC, milliseconds. Text in this form sorts
// as the times do.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime writes a time in TimeFormat.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeFormat) }

// Milliseconds cuts a time to the precision that is stored.
func Milliseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// ValidID reports whether a sessionId or coachId is 1 to 128 of [A-Za-z0-9_.:-] (api 1). The two names "." and ".." are
// no ids: clients and servers take them out of paths, so that nothing of that name could be reached.
func ValidID(id string) bool {
	if len(id) < 1 || len(id) > 128 || id == "." || id == ".." {
		return false
	}
	for i := range len(id) {
		if !idByte(id[i]) {
			return false
		}
	}
	return true
}

func idByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '_' || c == '.' || c == ':' || c == '-'
}
