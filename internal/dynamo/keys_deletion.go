package dynamo

import (
	"fmt"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
)

// The keys of deletions. All other keys are built and parsed in keys.go.

// sessionTombstoneSK is the sk of a deleted session's tombstone. It holds the time of creation, because there may have
// been several sessions of the same id.
func sessionTombstoneSK(sessionSK string, s conversation.Session) string {
	return sessionTombstonePrefix(sessionSK) + conversation.FormatTime(s.CreatedAt)
}

func sessionTombstonePrefix(sessionSK string) string { return tombstonePrefix + sessionSK + "#" }

// descriptionSK is the sk of the title and attributes that a session had until a version. Versions sort as numbers.
func descriptionSK(sessionSK string, s conversation.Session, version int64) string {
	return descriptionsOf(sessionSK, s) + fmt.Sprintf("%019d", version)
}

func descriptionsOf(sessionSK string, s conversation.Session) string {
	return descriptionPrefix + sessionSK + "#" + conversation.FormatTime(s.CreatedAt) + "#"
}

// messageTombstoneSK is the sk of a deleted message's tombstone.
func messageTombstoneSK(messageSK string) string { return tombstonePrefix + messageSK }

// messageOfTombstone returns the id of the message whose deletion has that tombstone, or "".
func messageOfTombstone(user conversation.UserID, sk string) string {
	at, short, ok := parseMessageSK(strings.TrimPrefix(sk, tombstonePrefix))
	if !ok {
		return ""
	}
	return messageID(user, at, short)
}

// ledgerSK returns the sort key of an entry of the ledger of erasures, which has a table of its own: one for each user,
// deleted session and deleted message.
func ledgerSK(e erasure.Erased) string {
	switch {
	case e.MessageID != "":
		return erasedPrefix + "message#" + e.MessageID
	case e.SessionID != "":
		return fmt.Sprintf("%ssession#%d#%s", erasedPrefix, e.CreatedAt.UnixMilli(), e.SessionID)
	}
	return erasedPrefix + "user"
}

// vectorTombstoneSK is the sk of the tombstone of vectors that could not be deleted.
func vectorTombstoneSK(ids []string) string {
	return tombstonePrefix + "vectors#" + shortHash(strings.Join(ids, "\n"))
}
