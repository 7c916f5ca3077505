package table

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/sweep"
)

// Every key is built and parsed in this file, those of deletions in keys_deletion.go, those of documents in
// keys_document.go. The separator is '#'. A user id may hold one, so it comes last, or the parser cuts it off as a
// whole. All other parts are checked to hold none before they are stored.

const (
	UserPrefix    = "user#"
	MessagePrefix = "msg#"
	SummaryPrefix = "summary#"
	LivePrefix    = "ltm#"
	PastPrefix    = "past#"
	controlPrefix = "control#"
	idemPrefix    = "idem#"
	PromptPrefix  = "prompt#"
	ParkedPrefix  = "legacy#"
	FreshPrefix   = "fresh#"
	AnswerPrefix  = "answer#"
	KeptPrefix    = "turn#"
	clientPrefix  = "client#"

	GenerationSK    = controlPrefix + "generation"
	PreferencesSK   = controlPrefix + "preferences"
	tombstonePrefix = controlPrefix + "tombstone#"
	UsagePrefix     = controlPrefix + "usage#"
	RequestsPrefix  = controlPrefix + "requests#"
	PermitsSK       = controlPrefix + "slots"
	ExtractionSK    = controlPrefix + "extraction"
	ForgottenPrefix = controlPrefix + "forgotten#"
	SpinePrefix     = LivePrefix + SpineKind + "#"
	// SpineMarkPrefix is that of the records by which spines are due. They are small, so that making a spine due costs
	// little, and no prompt reads them.
	SpineMarkPrefix = controlPrefix + "spine#"
	// SkippedPrefix is that of the records by which messages that were skipped are due again.
	SkippedPrefix = controlPrefix + "skipped#"
	// EventPrefix is that of the events that wait for the bus.
	EventPrefix = controlPrefix + "event#"
	// ErasingSK marks an unfinished erasure. It is among the live records, so that the query of them reads it too.
	ErasingSK = LivePrefix + "erasing"

	promptIDPrefix = "prompt_"

	// erasedPrefix is that of the entries of the ledger of erasures.
	erasedPrefix = "erased#"
)

// Key is a record's primary key.
type Key struct{ PK, SK string }

// Attributes returns the key as attributes.
func (k Key) Attributes() Item {
	return Item{AttrPK: StringAttr(k.PK), AttrSK: StringAttr(k.SK)}
}

// KeyOf returns the key of a record.
func KeyOf(it Item) Key { return NewKey(it.String(AttrPK), it.String(AttrSK)) }

// NewKey returns the key of a record in any partition.
func NewKey(pk, sk string) Key { return Key{pk, sk} }

// Position writes a key as a scan returns it to its caller: as JSON.
func (k Key) Position() string {
	text, _ := json.Marshal([]string{k.PK, k.SK}) // texts can always be encoded
	return string(text)
}

// ParsePosition is the inverse of Position.
func ParsePosition(text string) (k Key, ok bool) {
	var parts []string
	if json.Unmarshal([]byte(text), &parts) != nil || len(parts) != 2 || slices.Contains(parts, "") {
		return Key{}, false
	}
	return NewKey(parts[0], parts[1]), true
}

// UserKey is the key of a record in a user's partition.
func UserKey(user conversation.UserID, sk string) Key { return Key{Partition(user), sk} }

// Beside is the key of another record in the same partition.
func (k Key) Beside(sk string) Key { return Key{k.PK, sk} }

// Partition is the pk of all of a user's records.
func Partition(user conversation.UserID) string { return UserPrefix + string(user) }

// ParsePartition is the inverse of partition.
func ParsePartition(pk string) (conversation.UserID, bool) {
	user, ok := strings.CutPrefix(pk, UserPrefix)
	return conversation.UserID(user), ok && user != ""
}

// SessionSK is the sk of a session: its context's prefix and its id.
func SessionSK(context, id string) (string, bool) {
	s, err := conversation.AppContextOf(context)
	if err != nil || !conversation.ValidID(id) {
		return "", false
	}
	return s.Prefix + id, true
}

// KeyOfSession is the key of a session that was read or created, so that its context and its id are valid.
func KeyOfSession(user conversation.UserID, s conversation.Session) Key {
	sk, _ := SessionSK(s.Context, s.ID)
	return UserKey(user, sk)
}

// ParseSessionSK is the inverse of SessionSK. ok is false for every other kind of record.
func ParseSessionSK(sk string) (context, id string, ok bool) {
	for _, s := range conversation.AppContexts() {
		if id, found := strings.CutPrefix(sk, s.Prefix); found {
			return s.Name, id, conversation.ValidID(id)
		}
	}
	return "", "", false
}

// IsSessionOrUnnamed reports whether a sort key begins as those of a context's sessions. In an app's own record, an id
// that the API cannot name may follow.
func IsSessionOrUnnamed(sk string) bool {
	for _, s := range conversation.AppContexts() {
		if strings.HasPrefix(sk, s.Prefix) {
			return true
		}
	}
	return false
}

// SessionKeys are the keys that a session of that id can have, one for each context.
func SessionKeys(user conversation.UserID, id string) []Key {
	keys := make([]Key, 0, len(conversation.AppContexts()))
	for _, s := range conversation.AppContexts() {
		keys = append(keys, UserKey(user, s.Prefix+id))
	}
	return keys
}

// SourceID is the hash key that a session's messages share in the index.
func SourceID(user conversation.UserID, sessionSK string) string {
	return string(user) + "#" + sessionSK
}

// CoachKey is the hash key that a user's sessions with one coach share in the index. A coach's id has no '#', so two
// users never share one.
func CoachKey(user conversation.UserID, coach string) string { return string(user) + "#" + coach }

// parseSourceID is the inverse of SourceID. A session's sk has one '#', at the end of its prefix, so the parser cuts it
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
	context, id, ok = ParseSessionSK(source[start+1:])
	return conversation.UserID(source[:start]), context, id, ok
}

// A short id is 2 digits for the millisecond within the second and 10 random ones. The id of a message holds its time
// in seconds only, so both together give the time in its sk.
const (
	ShortMillis = 2
	ShortRandom = 10
	base36      = 36
)

// NewShortID returns the part of a message id after its time.
func NewShortID(at time.Time, random string) string {
	ms := strconv.FormatInt(int64(at.Nanosecond()/1e6), base36)
	return strings.Repeat("0", ShortMillis-len(ms)) + ms + random
}

func shortIDMillis(short string) (int, bool) {
	if len(short) != ShortMillis+ShortRandom {
		return 0, false
	}
	for i := range len(short) {
		if c := short[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return 0, false
		}
	}
	ms, err := strconv.ParseInt(short[:ShortMillis], base36, 0)
	return int(ms), err == nil && ms < 1000
}

// NewRandomDigits returns the random part of an id.
func NewRandomDigits(random io.Reader) string { return conversation.RandomDigits(random, ShortRandom) }

// MessageSK is the sk of a message.
func MessageSK(at time.Time, short string) string {
	return MessagePrefix + conversation.FormatTime(at) + "#" + short
}

// ParseMessageSK is the inverse of MessageSK.
func ParseMessageSK(sk string) (at time.Time, short string, ok bool) {
	rest, ok := strings.CutPrefix(sk, MessagePrefix)
	if !ok {
		return time.Time{}, "", false
	}
	stamp, short, _ := strings.Cut(rest, "#")
	at, ok = ParseTime(stamp)
	ms, shortOK := shortIDMillis(short)
	return at, short, ok && shortOK && ms == at.Nanosecond()/1e6
}

// MessageID is the id of a message.
func MessageID(user conversation.UserID, at time.Time, short string) string {
	return "msg_" + string(user) + "_" + strconv.FormatInt(at.Unix(), 10) + "_" + short
}

// ParseMessageID returns the sk of the user's message of that id. ok is false for the ids of other users.
func ParseMessageID(user conversation.UserID, id string) (sk string, ok bool) {
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
	return MessageSK(at, short), true
}

// ParseTime reads a time in exactly conversation.TimeFormat. time.Parse alone also accepts other spellings.
func ParseTime(stamp string) (time.Time, bool) {
	const point = len("2006-01-02T15:04:05")
	if len(stamp) != len(conversation.TimeFormat) || stamp[point] != '.' || stamp[len(stamp)-1] != 'Z' {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, stamp) // several times as fast as other layouts
	return at, err == nil && at.Year() > 0
}

// MessageBounds returns the sort keys between which the messages from one time until before another lie. Both bounds
// are used inclusively: one without a short id sorts before every message of its millisecond. A zero time is no bound.
func MessageBounds(from, to time.Time) (low, high string) {
	low, high = MessagePrefix, AfterPrefix(MessagePrefix)
	if !from.IsZero() {
		low = MessagePrefix + conversation.FormatTime(ceilMillisecond(from))
	}
	if !to.IsZero() {
		high = MessagePrefix + conversation.FormatTime(ceilMillisecond(to))
	}
	return low, high
}

func ceilMillisecond(t time.Time) time.Time {
	return conversation.Milliseconds(t.Add(time.Millisecond - time.Nanosecond))
}

// AfterPrefix returns a key that sorts after every key with the prefix, which has to end in '#'.
func AfterPrefix(prefix string) string {
	return prefix[:len(prefix)-1] + string(rune('#'+1))
}

// SummarySK is the sk of a session's summary. ok is false where the session's id is not valid.
func SummarySK(t conversation.RecordType, session string) (string, bool) {
	if _, err := conversation.AppContextWriting(t); err != nil || !conversation.ValidID(session) {
		return "", false
	}
	return SummaryPrefix + string(t) + "#" + session, true
}

// IdempotencySK hashes the scope and the key, which may hold any character.
func IdempotencySK(i conversation.Idempotency) string {
	return idemPrefix + ShortHash(i.Scope) + "#" + ShortHash(i.Key)
}

// ForgottenSK is the sk of the mark that the user has deleted a record of that kind and content.
func ForgottenSK(kind, content string) string {
	return ForgottenPrefix + kind + "#" + ShortHash(content)
}

// ShortHash returns a hash for a key.
func ShortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// FreshSK is the sk of the mark of a session that was just created.
func FreshSK(at time.Time, sessionSK string) string {
	return FreshPrefix + conversation.FormatTime(at) + "#" + sessionSK
}

// ParseFreshSK returns the sk of the session that a mark is for.
func ParseFreshSK(sk string) (string, bool) {
	rest, ok := strings.CutPrefix(sk, FreshPrefix)
	_, session, found := strings.Cut(rest, "#")
	return session, ok && found
}

// ClientSK is the sk of the record of a clientMessageId, which is hashed because it may hold any character. The
// session's creation is in it, because there may have been several sessions of the same id.
func ClientSK(sessionSK string, s conversation.Session, clientMessageID string) string {
	return ClientsOf(sessionSK, s) + ShortHash(clientMessageID)
}

// ClientsOf is the beginning of the sort keys of a session's clientMessageIds.
func ClientsOf(sessionSK string, s conversation.Session) string {
	return clientPrefix + sessionSK + "#" + conversation.FormatTime(s.CreatedAt) + "#"
}

// PromptSK is the sk of a stored prompt. The time in it comes from the id, "prompt_<epoch milliseconds>_<random>".
func PromptSK(id string) (string, bool) {
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
	return PromptPrefix + conversation.FormatTime(at) + "#" + id, true
}

// ParsePromptSK is the inverse of PromptSK.
func ParsePromptSK(sk string) (string, bool) {
	id := sk[strings.LastIndexByte(sk, '#')+1:]
	again, ok := PromptSK(id)
	return id, ok && again == sk
}

// RecordSK is the sk of a goal, check-in, memory or todo, with LivePrefix or PastPrefix.
func RecordSK(prefix, kind, id string) string { return prefix + kind + "#" + id }

// ParseRecordSK is the inverse of RecordSK. ok is false for other kinds.
func ParseRecordSK(sk, kind string) (id string, live, ok bool) {
	if id, ok = strings.CutPrefix(sk, LivePrefix+kind+"#"); ok {
		return id, true, id != ""
	}
	id, ok = strings.CutPrefix(sk, PastPrefix+kind+"#")
	return id, false, ok && id != ""
}

// SpineMarkKey is the key of the record by which the spine of a coach is due.
func SpineMarkKey(user conversation.UserID, coach string) Key {
	return UserKey(user, SpineMarkPrefix+coach)
}

// SpineKey is the key of a user's spine with a coach.
func SpineKey(user conversation.UserID, coach string) Key {
	return UserKey(user, SpinePrefix+coach)
}

// DueShard is the shard of the due index that has a record: one of its queue's.
func DueShard(k Key) sweep.Shard { return queueOf(k.SK).ShardOf(k.PK + "#" + k.SK) }

// IsMessageSK reports whether a sort key is of a message.
func IsMessageSK(sk string) bool {
	_, _, ok := ParseMessageSK(sk)
	return ok
}
