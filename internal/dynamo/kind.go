package dynamo

import "strings"

// kindOf names the kind of a record by its sk, for receipts. ok is false for records that are not Throughline's, and
// for the generation, which stays when a user is erased.
func kindOf(sk string) (kind string, ok bool) {
	if sk == generationSK {
		return "", false
	}
	if _, _, isSession := parseSessionSK(sk); isSession {
		return "session", true
	}
	if strings.HasPrefix(sk, forgottenPrefix) {
		return "forgotten", true
	}
	if rest, found := strings.CutPrefix(sk, livePrefix); found {
		return longtermKind(rest), true
	}
	if rest, found := strings.CutPrefix(sk, pastPrefix); found {
		return longtermKind(rest), true
	}
	for prefix, kind := range kindPrefixes {
		if strings.HasPrefix(sk, prefix) {
			return kind, true
		}
	}
	return "", false
}

// isCount reports whether a sort key is that of a record that bounds what a user asks for: slots, requests of a minute,
// tokens of a day. They hold counts and nothing that the user said. They outlive an erasure until they expire, because
// a user could pass every bound by one otherwise.
func isCount(sk string) bool {
	return sk == slotsSK || strings.HasPrefix(sk, requestsPrefix) || strings.HasPrefix(sk, usagePrefix)
}

func longtermKind(rest string) string {
	kind, _, _ := strings.Cut(rest, "#")
	return kind
}

var kindPrefixes = map[string]string{
	messagePrefix: "message", summaryPrefix: "summary", controlPrefix: "control", idemPrefix: "idempotency",
	promptPrefix: "prompt", parkedPrefix: "parked_array", freshPrefix: "fresh", descriptionPrefix: "description",
	clientPrefix: "client_message_id", documentPrefix: "document", answerPrefix: "answer", keptPrefix: "turn",
}
