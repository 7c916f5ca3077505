package dynamo

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/sweep"
)

// Every key is built and parsed in this file, those of deletions in keys_deletion.go, those of documents in
// keys_document.go. The separator is '#'. A user id may hold one, so it stands last, or the parser cuts it off as a
// whole. All other parts are checked to hold none before they are stored.

const (
	userPrefix        = "user#"
	messagePrefix     = "msg#"
	summaryPrefix     = "summary#"
	livePrefix        = "ltm#"
	pastPrefix        = "past#"
	controlPrefix     = "control#"
	idemPrefix        = "idem#"
	promptPrefix      = "prompt#"
	parkedPrefix      = "legacy#"
	freshPrefix       = "fresh#"
	answerPrefix      = "answer#"
	keptPrefix        = "turn#"
	descriptionPrefix = "description#"
	clientPrefix      = "client#"

	generationSK    = controlPrefix + "generation"
	preferencesSK   = controlPrefix + "preferences"
	tombstonePrefix = controlPrefix + "tombstone#"
	usagePrefix     = controlPrefix + "usage#"
	requestsPrefix  = controlPrefix + "requests#"
	slotsSK         = controlPrefix + "slots"
	extractionSK    = controlPrefix + "extraction"
	forgottenPrefix = controlPrefix + "forgotten#"
	spinePrefix     = livePrefix + spineKind + "#"
	// spineMarkPrefix is that of the records by which spines are due. They are small, so that making a spine due costs
	// little, and no prompt reads them.
	spineMarkPrefix = controlPrefix + "spine#"
	// skippedPrefix is that of the records by which messages that were skipped are due again.
	skippedPrefix = controlPrefix + "skipped#"
	// erasingSK marks an unfinished erasure. It stands among the live records, so that the query of them reads it too.
	erasingSK = livePrefix + "erasing"

	promptIDPrefix = "prompt_"

	// erasedPrefix is that of the entries of the ledger of erasures.
	erasedPrefix = "erased#"

	// migrationPK is the pk of the records about the migration of the table.
	migrationPK = "migration"
)

// cutParked returns the sort key of the session whose parked array has that sort key.
func cutParked(sk string) (string, bool) { return strings.CutPrefix(sk, parkedPrefix) }

var stateKey = key{migrationPK, "state"}

// key is a record's primary key.
type key struct{ pk, sk string }

func (k key) attributes() item {
	return item{attrPK: stringAttr(k.pk), attrSK: stringAttr(k.sk)}
}

func keyOf(it item) key { return key{it.string(attrPK), it.string(attrSK)} }

// partition is the pk of all of a user's records.
func partition(user conversation.UserID) string { return userPrefix + string(user) }

// parsePartition is the inverse of partition.
func parsePartition(pk string) (conversation.UserID, bool) {
	user, ok := strings.CutPrefix(pk, userPrefix)
	return conversation.UserID(user), ok && user != ""
}

// sessionSK is the sk of a session: its context's prefix and its id.
func sessionSK(context, id string) (string, bool) {
	s, err := conversation.SurfaceOf(context)
	if err != nil || !conversation.ValidID(id) {
		return "", false
	}
	return s.Prefix + id, true
}

// parseSessionSK is the inverse of sessionSK. ok is false for every other kind of record.
func parseSessionSK(sk string) (context, id string, ok bool) {
	for _, s := range conversation.Surfaces() {
		if id, found := strings.CutPrefix(sk, s.Prefix); found {
			return s.Name, id, conversation.ValidID(id)
		}
	}
	return "", "", false
}

// isSessionOrUnnamed reports whether a sort key begins as those of a context's sessions. In an app's own record, an id
// that the API cannot name may follow.
func isSessionOrUnnamed(sk string) bool {
	for _, s := range conversation.Surfaces() {
		if strings.HasPrefix(sk, s.Prefix) {
			return true
		}
	}
	return false
}

// sessionKeys are the keys that a session of that id can have, one for each context.
func sessionKeys(user conversation.UserID, id string) []key {
	keys := make([]key, 0, len(conversation.Surfaces()))
	for _, s := range conversation.Surfaces() {
		keys = append(keys, key{partition(user), s.Prefix + id})
	}
	return keys
}

// sourceID is the hash key that a session's messages share in the index.
func sourceID(user conversation.UserID, sessionSK string) string {
	return string(user) + "#" + sessionSK
}

// coachKey is the hash key that a user's sessions with one coach share in the index. A coach's id has no '#', so two
// users never share one.
func coachKey(user conversation.UserID, coach string) string { return string(user) + "#" + coach }

// parseSourceID is the inverse of sourceID. A session's sk has one '#', at the end of its prefix, so the parser cuts it
// off from the right. The user id may hold further ones.
func parseSourceID(source string) (user conversation.UserID, context, id string, ok bool) {
	end := strings.LastIndexByte(source, '#')
	if end < 0 {
		return "", "", "", false
	}
	start := strings.LastIndexByte(source[:end], '#')
	if start < 1 {
		return "", "", "", false
	}
	context, id, ok = parseSessionSK(source[start+1:])
	return conversation.UserID(source[:start]), context, id, ok
}

// A short id is 2 digits for the millisecond within the second and 10 random ones. The id of a message holds its time
// in seconds only, so both together give the time in its sk.
const (
	shortMillis = 2
	shortRandom = 10
	base36      = 36
)

func newShortID(at time.Time, random string) string {
	ms := strconv.FormatInt(int64(at.Nanosecond()/1e6), base36)
	return strings.Repeat("0", shortMillis-len(ms)) + ms + random
}

func shortIDMillis(short string) (int, bool) {
	if len(short) != shortMillis+shortRandom {
		return 0, false
	}
	for i := range len(short) {
		if c := short[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return 0, false
		}
	}
	ms, err := strconv.ParseInt(short[:shortMillis], base36, 0)
	return int(ms), err == nil && ms < 1000
}

func newRandomDigits(random io.Reader) string { return conversation.RandomDigits(random, shortRandom) }

// messageSK is the sk of a message.
func messageSK(at time.Time, short string) string {
	return messagePrefix + conversation.FormatTime(at) + "#" + short
}

// parseMessageSK is the inverse of messageSK.
func parseMessageSK(sk string) (at time.Time, short string, ok bool) {
	rest, ok := strings.CutPrefix(sk, messagePrefix)
	if !ok {
		return time.Time{}, "", false
	}
	stamp, short, _ := strings.Cut(rest, "#")
	at, ok = parseTime(stamp)
	ms, shortOK := shortIDMillis(short)
	return at, short, ok && shortOK && ms == at.Nanosecond()/1e6
}

// messageID is the id of a message.
func messageID(user conversation.UserID, at time.Time, short string) string {
	return "msg_" + string(user) + "_" + strconv.FormatInt(at.Unix(), 10) + "_" + short
}

// parseMessageID returns the sk of the user's message of that id. ok is false for the ids of other users.
func parseMessageID(user conversation.UserID, id string) (sk string, ok bool) {
	rest, ok := strings.CutPrefix(id, "msg_"+string(user)+"_")
	if !ok {
		return "", false
	}
	seconds, short, ok := strings.Cut(rest, "_")
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	ms, shortOK := shortIDMillis(short)
	if !ok || err != nil || !shortOK || strconv.FormatInt(epoch, 10) != seconds {
		return "", false
	}
	at := time.Unix(epoch, int64(ms)*1e6).UTC()
	if y := at.Year(); y < 1 || y > 9999 {
		return "", false
	}
	return messageSK(at, short), true
}

// parseTime reads a time in exactly conversation.TimeFormat. time.Parse alone also accepts other spellings.
func parseTime(stamp string) (time.Time, bool) {
	const point = len("2006-01-02T15:04:05")
	if len(stamp) != len(conversation.TimeFormat) || stamp[point] != '.' || stamp[len(stamp)-1] != 'Z' {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, stamp) // several times as fast as other layouts
	return at, err == nil && at.Year() > 0
}

// messageBounds returns the sort keys between which the messages from one time until before another lie. Both bounds
// are used inclusively: one without a short id sorts before every message of its millisecond. A zero time is no bound.
func messageBounds(from, to time.Time) (low, high string) {
	low, high = messagePrefix, afterPrefix(messagePrefix)
	if !from.IsZero() {
		low = messagePrefix + conversation.FormatTime(ceilMillisecond(from))
	}
	if !to.IsZero() {
		high = messagePrefix + conversation.FormatTime(ceilMillisecond(to))
	}
	return low, high
}

func ceilMillisecond(t time.Time) time.Time {
	return conversation.Milliseconds(t.Add(time.Millisecond - time.Nanosecond))
}

// afterPrefix returns a key that sorts after every key with the prefix, which has to end in '#'.
func afterPrefix(prefix string) string {
	return prefix[:len(prefix)-1] + string(rune('#'+1))
}

// summarySK is the sk of a session's summary. ok is false where the session's id is not valid.
func summarySK(t conversation.RecordType, session string) (string, bool) {
	if _, err := conversation.SurfaceWriting(t); err != nil || !conversation.ValidID(session) {
		return "", false
	}
	return summaryPrefix + string(t) + "#" + session, true
}

// idempotencySK hashes the scope and the key, which may hold any character.
func idempotencySK(i conversation.Idempotency) string {
	return idemPrefix + shortHash(i.Scope) + "#" + shortHash(i.Key)
}

// forgottenSK is the sk of the mark that the user has deleted a record of that kind and content.
func forgottenSK(kind, content string) string {
	return forgottenPrefix + kind + "#" + shortHash(content)
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// freshSK is the sk of the mark of a session that was just created.
func freshSK(at time.Time, sessionSK string) string {
	return freshPrefix + conversation.FormatTime(at) + "#" + sessionSK
}

// parseFreshSK returns the sk of the session that a mark is for.
func parseFreshSK(sk string) (string, bool) {
	rest, ok := strings.CutPrefix(sk, freshPrefix)
	_, session, found := strings.Cut(rest, "#")
	return session, ok && found
}

// clientSK is the sk of the record of a clientMessageId, which is hashed because it may hold any character. The
// session's creation is in it, because there may have been several sessions of the same id.
func clientSK(sessionSK string, s conversation.Session, clientMessageID string) string {
	return clientsOf(sessionSK, s) + shortHash(clientMessageID)
}

func clientsOf(sessionSK string, s conversation.Session) string {
	return clientPrefix + sessionSK + "#" + conversation.FormatTime(s.CreatedAt) + "#"
}

// promptSK is the sk of a stored prompt. The time in it comes from the id, "prompt_<epoch milliseconds>_<random>".
func promptSK(id string) (string, bool) {
	rest, ok := strings.CutPrefix(id, promptIDPrefix)
	stamp, random, found := strings.Cut(rest, "_")
	ms, err := strconv.ParseInt(stamp, 10, 64)
	at := time.UnixMilli(ms).UTC()
	if !ok || !found || err != nil || strconv.FormatInt(ms, 10) != stamp || !conversation.ValidID(random) {
		return "", false
	}
	if y := at.Year(); y < 1 || y > 9999 {
		return "", false
	}
	return promptPrefix + conversation.FormatTime(at) + "#" + id, true
}

// parsePromptSK is the inverse of promptSK.
func parsePromptSK(sk string) (string, bool) {
	id := sk[strings.LastIndexByte(sk, '#')+1:]
	again, ok := promptSK(id)
	return id, ok && again == sk
}

// recordSK is the sk of a goal, check-in, memory or todo, with livePrefix or pastPrefix.
func recordSK(prefix, kind, id string) string { return prefix + kind + "#" + id }

// parseRecordSK is the inverse of recordSK. ok is false for other kinds.
func parseRecordSK(sk, kind string) (id string, live, ok bool) {
	if id, ok = strings.CutPrefix(sk, livePrefix+kind+"#"); ok {
		return id, true, id != ""
	}
	id, ok = strings.CutPrefix(sk, pastPrefix+kind+"#")
	return id, false, ok && id != ""
}

// spineMarkKey is the key of the record by which the spine of a coach is due.
func spineMarkKey(user conversation.UserID, coach string) key {
	return key{partition(user), spineMarkPrefix + coach}
}

// spineKey is the key of a user's spine with a coach.
func spineKey(user conversation.UserID, coach string) key {
	return key{partition(user), spinePrefix + coach}
}

// dueShard is the shard of the due index in which a record stands: one of its queue's.
func dueShard(k key) sweep.Shard { return queueOf(k.sk).ShardOf(k.pk + "#" + k.sk) }
