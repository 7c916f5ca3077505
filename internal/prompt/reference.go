package prompt

import "regexp"

// backReference matches how people point at an earlier conversation
// (unified-conversation-context, Phase 3, "Explicit references").
var backReference = regexp.MustCompile(`(?i)\b(?:` +
	`(?:as|like|what|that|which) (?:we|you|i) (?:just |already |both )?(?:said|talked|discussed|agreed|mentioned|planned|decided|told|went over|spoke)` +
	`|(?:we|you|i)(?:'ve|’ve| have)? (?:just |already )?(?:talked|discussed|spoke|agreed|decided|said|mentioned)(?: about| on| that)?\b.{0,40}\b(?:earlier|before|yesterday|last|other day|previously)` +
	`|(?:like|as|from|since|what about) last (?:time|session|week|conversation)|last time (?:we|you|i)\b` +
	`|(?:where|what) (?:did )?we (?:left|leave) off|pick(?:ing)? up where(?: we| i)?(?: left| stopped)?(?: off)?|continue (?:from |with )?(?:where|what) we(?: left| stopped)?(?: off)?` +
	`|(?:do you|you) (?:still )?remember|remember (?:when|what|that|how|the)|(?:our|the) (?:last|previous|earlier) (?:chat|conversation|session|talk|discussion)` +
	`|(?:you|we) (?:told me|were saying|were discussing|were talking)|as (?:discussed|agreed|mentioned|planned)` +
	`)`)

// RefersBack reports whether a message points at an earlier conversation: "as we said", "like last time", "continue
// where we left off".
func RefersBack(message string) bool {
	return backReference.MatchString(cutBytes(message, queryBytes))
}

// besidesReference reports whether a message that points at an earlier conversation says what that was about.
func besidesReference(message string) bool {
	return len(keywords(backReference.ReplaceAllString(cutBytes(message, queryBytes), " "))) > 0
}
