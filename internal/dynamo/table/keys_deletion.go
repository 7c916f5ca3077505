package table

import (
	"fmt"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
)

// The keys of deletions. All other keys are built and parsed in keys.go.

// SessionTombstoneSK is the sk of a deleted session's tombstone. It holds the time of creation, because there may have
// been several sessions of the same id.
func SessionTombstoneSK(sessionSK string, s conversation.Session) string {
	return SessionTombstonePrefix(sessionSK) + conversation.FormatTime(s.CreatedAt)
}

// SessionTombstonePrefix is the beginning of the sort keys of the tombstones of sessions at a key.
func SessionTombstonePrefix(sessionSK string) string { return tombstonePrefix + sessionSK + "#" }

// MessageTombstoneSK is the sk of a deleted message's tombstone.
func MessageTombstoneSK(messageSK string) string { return tombstonePrefix + messageSK }

// MessageOfTombstone returns the id of the message whose deletion has that tombstone, or "".
func MessageOfTombstone(user conversation.UserID, sk string) string {
	at, short, ok := ParseMessageSK(strings.TrimPrefix(sk, tombstonePrefix))
	if !ok {
		return ""
	}
	return MessageID(user, at, short)
}

// LedgerSK returns the sort key of an entry of the ledger of erasures, which has a table of its own: one for each user,
// deleted session and deleted message.
func LedgerSK(e erasure.Erased) string {
	switch {
	case e.MessageID != "":
		return erasedPrefix + "message#" + e.MessageID
	case e.SessionID != "":
		return fmt.Sprintf("%ssession#%d#%s", erasedPrefix, e.CreatedAt.UnixMilli(), e.SessionID)
	}
	return erasedPrefix + "user"
}

// VectorTombstoneSK is the sk of the tombstone of vectors that could not be deleted.
func VectorTombstoneSK(ids []string) string {
	return tombstonePrefix + "vectors#" + ShortHash(strings.Join(ids, "\n"))
}

// IsTombstone reports whether a key is of a tombstone. The generation of an erased user is one, too.
func IsTombstone(k Key) bool { return k.SK == GenerationSK || strings.HasPrefix(k.SK, tombstonePrefix) }
