package table

import (
	"strings"

	"github.com/throughline/throughline/internal/sweep"
)

// queueOf returns the queue of the records with a sort key.
func queueOf(sk string) sweep.Queue {
	if _, _, isSession := ParseSessionSK(sk); isSession {
		return sweep.Sessions
	}
	if IsTombstone(Key{SK: sk}) || strings.HasPrefix(sk, ForgottenPrefix) {
		return sweep.Deletions
	}
	if strings.HasPrefix(sk, SpineMarkPrefix) {
		return sweep.Spines
	}
	if strings.HasPrefix(sk, SkippedPrefix) {
		return sweep.Skipped
	}
	if strings.HasPrefix(sk, EventPrefix) {
		return sweep.Events
	}
	return sweep.Records
}
