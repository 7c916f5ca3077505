package prompt

import (
	"regexp"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/truncate"
)

// backReference matches how people point at an earlier conversation
// (unified-conversation-context, Phase 3, "Explicit references").
var backReference = regexp.MustCompile(`(?i)\b(?:` +
	`(?:as|like|what|that|which) (?:we|you|i) (?:just |already |both )?(?:said|talked|discussed|agreed|mentioned|planned|decided|told|went over|spoke)` +
	`|(?:yesterday|last (?:time|week|month|night)|(?:the )?other day|earlier today|this morning),? (?:we|you|i) (?:said|talked|discussed|agreed|mentioned|planned|decided|told|went over|spoke)` +
	`|(?:we|you|i)(?:'ve|’ve| have)? (?:just |already )?(?:talked|discussed|spoke|agreed|decided|said|mentioned)(?: about| on| that)?\b.{0,40}\b(?:earlier|before|yesterday|last|other day|previously)` +
	`|(?:like|as|from|since|what about) last (?:time|session|week|conversation)|last time (?:we|you|i)\b` +
	`|(?:where|what) (?:did )?we (?:left|leave) off|where were we|we left off|same as (?:before|last time|yesterday)|pick(?:ing)? up where(?: we| i)?(?: left| stopped)?(?: off)?|continue (?:from |with )?(?:where|what) we(?: left| stopped)?(?: off)?` +
	`|(?:do you|you) (?:still )?remember|remember (?:when|what|that|how|the)|(?:our|the) (?:last|previous|earlier) (?:chat|conversation|session|talk|discussion)` +
	`|(?:you|we) (?:told me|were saying|were discussing|were talking)|as (?:discussed|agreed|mentioned|planned)` +
	`)`)

// RefersBack reports whether a message points at an earlier conversation: "as we said", "like last time", "continue
// where we left off".
func RefersBack(message string) bool {
	return backReference.MatchString(truncate.Bytes(message, queryBytes))
}

// besidesReference reports whether a message that points at an earlier conversation says what that was about.
func besidesReference(message string) bool {
	rest := backReference.ReplaceAllString(truncate.Bytes(message, queryBytes), " ")
	return len(keywords(namedDay.ReplaceAllString(rest, " "))) > 0
}

// namedDay matches the days that people point at.
var namedDay = regexp.MustCompile(`(?i)\b(?:yesterday|last night|this morning|earlier today|last week)\b`)

// daysNamed are the least and the most days ago that a message means, where it names any.
func daysNamed(message string, today time.Weekday) (least, most int, named bool) {
	switch strings.ToLower(namedDay.FindString(truncate.Bytes(message, queryBytes))) {
	case "yesterday", "last night":
		return 1, 1, true
	case "this morning", "earlier today":
		return 0, 0, true
	case "last week":
		sunday := (int(today)+6)%7 + 1 // weeks begin on Monday
		return sunday, sunday + 6, true
	}
	return 0, 0, false
}
