// Package conversation defines sessions and their messages, the registry of the contexts they belong to, and the rules
// that every store of them keeps. It knows no database.
package conversation

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// UserID is the person that records belong to: the sub of the token, 1 to 128 printable characters, compared as bytes.
// Every method of a store takes it as an argument, so that no read can leave out whose records it wants.
type UserID string

// Validate returns an Invalid error unless the id is 1 to 128 printable characters without a blank at either end, which
// headers lose. U+FFFD is not allowed: a decoder writes it for what it cannot read, so that the ids of two users could
// become one.
func (u UserID) Validate() error {
	n := utf8.RuneCountInString(string(u))
	isPrintable := func(r rune) bool { return unicode.IsPrint(r) && r != unicode.ReplacementChar }
	if !utf8.ValidString(string(u)) || n < 1 || n > 128 || strings.TrimSpace(string(u)) != string(u) ||
		strings.ContainsFunc(string(u), func(r rune) bool { return !isPrintable(r) }) {
		return fault.InvalidField("userId", "must be 1 to 128 printable characters, without a blank at either end")
	}
	return nil
}

// AppPrefix begins the names that only the app writes: names of attributes, the outermost labels of namespaces, and the
// ids under which an app keeps what all its users share. No user has such an id.
const AppPrefix = "app:"

// TimeFormat is the form of times in keys and in the API: RFC 3339 in UTC with milliseconds. The strings sort in the
// order of the times.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime writes a time in TimeFormat.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeFormat) }

// Milliseconds truncates a time to the precision that is stored, in UTC.
func Milliseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
