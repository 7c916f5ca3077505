package table

import "strings"

// KindOf names the kind of a record by its sk, for receipts. ok is false for records that are not Throughline's, and
// for the generation, which stays when a user is erased.
func KindOf(sk string) (kind string, ok bool) {
	if sk == GenerationSK {
		return "", false
	}
	if _, _, isSession := ParseSessionSK(sk); isSession {
		return "session", true
	}
	if strings.HasPrefix(sk, ForgottenPrefix) {
		return "forgotten", true
	}
	if rest, found := strings.CutPrefix(sk, LivePrefix); found {
		return longtermKind(rest), true
	}
	if rest, found := strings.CutPrefix(sk, PastPrefix); found {
		return longtermKind(rest), true
	}
	for prefix, kind := range KindPrefixes {
		if strings.HasPrefix(sk, prefix) {
			return kind, true
		}
	}
	return "", false
}

// IsCount reports whether a sort key is that of a record that bounds what a user asks for: permits, requests of a
// minute, tokens of a day. They hold counts and nothing that the user said. They outlive an erasure until they expire,
// because a user could pass every bound by one otherwise.
func IsCount(sk string) bool {
	return sk == PermitsSK || strings.HasPrefix(sk, RequestsPrefix) || strings.HasPrefix(sk, UsagePrefix)
}

func longtermKind(rest string) string {
	kind, _, _ := strings.Cut(rest, "#")
	return kind
}

// KindPrefixes names the kinds of records by the beginnings of their sort keys.
var KindPrefixes = map[string]string{
	MessagePrefix: "message", SummaryPrefix: "summary", controlPrefix: "control", idemPrefix: "idempotency",
	PromptPrefix: "prompt", ParkedPrefix: "parked_array", FreshPrefix: "fresh",
	clientPrefix: "client_message_id", DocumentPrefix: "document", AnswerPrefix: "answer", KeptPrefix: "turn",
}

// The kinds of long-term records, as their keys have them.
const (
	GoalKind    = "goal"
	CheckInKind = "check_in"
	MemoryKind  = "memory"
	TodoKind    = "todo"
	CoachKind   = "coach"
	SpineKind   = "spine"
)
