package dynamo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Every key is built and parsed in this file. '#' separates; a user id may hold it and stands last or is cut off
// whole, all other parts are checked to be free of it before they are stored.

const (
	userPrefix      = "user#"
	messagePrefix   = "msg#"
	summaryPrefix   = "summary#"
	livePrefix      = "ltm#"
	pastPrefix      = "past#"
	controlPrefix   = "control#"
	idemPrefix      = "idem#"
	promptPrefix    = "prompt#"
	parkedPrefix    = "legacy#"
	freshPrefix     = "fresh#"
	describedPrefix = "described#"

	generationSK  = controlPrefix + "generation"
	preferencesSK = controlPrefix + "preferences"
	gravePrefix   = controlPrefix + "grave#"
	// erasingSK marks an unfinished erasure where one query reads what is live.
	erasingSK = livePrefix + "erasing"

	promptIDPrefix = "prompt_"
	dueShards      = 16
)

// key is a record's primary key.
type key struct{ pk, sk string }

func (k key) attributes() item {
	return item{attrPK: text(k.pk), attrSK: text(k.sk)}
}

func keyIn(it item) key { return key{it.text(attrPK), it.text(attrSK)} }

// partition is the pk of everything about one user.
func partition(user conversation.UserID) string { return userPrefix + string(user) }

// userIn is partition's inverse.
func userIn(pk string) (conversation.UserID, bool) {
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

// parseSessionSK is sessionSK's inverse; ok is false for every other kind of record.
func parseSessionSK(sk string) (context, id string, ok bool) {
	for _, s := range conversation.Surfaces {
		if id, found := strings.CutPrefix(sk, s.Prefix); found {
			return s.Context, id, conversation.ValidID(id)
		}
	}
	return "", "", false
}

// sessionKeys are the keys that a session of that id can have, one for each context.
func sessionKeys(user conversation.UserID, id string) []key {
	keys := make([]key, 0, len(conversation.Surfaces))
	for _, s := range conversation.Surfaces {
		keys = append(keys, key{partition(user), s.Prefix + id})
	}
	return keys
}

// sourceID is the hash key that a session's messages share in the index.
func sourceID(user conversation.UserID, sessionSK string) string {
	return string(user) + "#" + sessionSK
}

// parseSourceID is sourceID's inverse. A session's sk has one '#', at the end of its prefix, so it is cut off from
// the right whatever the user id holds.
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

// A shortID is 2 digits for the millisecond within the second and 10 random ones: a message's sk follows from its
// id, whose own time has only seconds.
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

func randomDigits(random io.Reader) string { return conversation.RandomDigits(random, shortRandom) }

// messageSK is the sk of a message.
func messageSK(at time.Time, short string) string {
	return messagePrefix + conversation.FormatTime(at) + "#" + short
}

// parseMessageSK is messageSK's inverse.
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

// parseMessageID returns the sk of the user's message of that id; ok is false for other users' ids too.
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

// parseTime reads conversation.TimeFormat and nothing else that a lenient parser would take for it.
func parseTime(stamp string) (time.Time, bool) {
	at, err := time.Parse(conversation.TimeFormat, stamp)
	return at, err == nil && at.Year() > 0 && conversation.FormatTime(at) == stamp
}

// messageRange are the bounds of a half-open span of time among messages' sort keys, both to be used inclusively: a
// bound without short id sorts before every message of its millisecond. Zero times are unbounded.
func messageRange(from, to time.Time) (low, high string) {
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

// afterPrefix sorts after every key that begins with prefix, which ends in '#'.
func afterPrefix(prefix string) string {
	return prefix[:len(prefix)-1] + string(rune('#'+1))
}

// summarySK is the sk of a summary; a subject that is no valid id has none.
func summarySK(t conversation.RecordType, subject string) (string, bool) {
	if _, err := conversation.SurfaceWriting(t); err != nil || !conversation.ValidID(subject) {
		return "", false
	}
	return summaryPrefix + string(t) + "#" + subject, true
}

// idempotencySK hashes what the client sent: it may hold anything.
func idempotencySK(i conversation.Idempotency) string {
	return idemPrefix + shortHash(i.Scope) + "#" + shortHash(i.Key)
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// freshSK marks a session as just created, for lists whose index has not caught up.
func freshSK(at time.Time, sessionSK string) string {
	return freshPrefix + conversation.FormatTime(at) + "#" + sessionSK
}

// sessionSKOfFresh returns the session sk that a fresh marker is for.
func sessionSKOfFresh(sk string) (string, bool) {
	rest, ok := strings.CutPrefix(sk, freshPrefix)
	_, session, found := strings.Cut(rest, "#")
	return session, ok && found
}

// sessionGraveSK is the sk of a deleted session's grave; another session of the same id was made at another time.
func sessionGraveSK(sessionSK string, s conversation.Session) string {
	return sessionGravePrefix(sessionSK) + conversation.FormatTime(s.CreatedAt)
}

func sessionGravePrefix(sessionSK string) string { return gravePrefix + sessionSK + "#" }

// descriptionSK is the sk of how a session was described until one of its versions; versions sort as numbers do.
func descriptionSK(sessionSK string, s conversation.Session, version int64) string {
	return descriptionPrefixOf(sessionSK, s) + fmt.Sprintf("%019d", version)
}

func descriptionPrefixOf(sessionSK string, s conversation.Session) string {
	return describedPrefix + sessionSK + "#" + conversation.FormatTime(s.CreatedAt) + "#"
}

// messageGraveSK is the sk of a deleted message's grave.
func messageGraveSK(messageSK string) string { return gravePrefix + messageSK }

// vectorGraveSK is the sk of the grave of vectors that outlive what they were of.
func vectorGraveSK(ids []string) string {
	return gravePrefix + "vectors#" + shortHash(strings.Join(ids, "\n"))
}

// promptSK is the sk of a kept prompt; the time in it is the id's own, "prompt_<epoch milliseconds>_<random>".
func promptSK(id string) (string, bool) {
	rest, ok := strings.CutPrefix(id, promptIDPrefix)
	stamp, random, found := strings.Cut(rest, "_")
	ms, err := strconv.ParseInt(stamp, 10, 64)
	at := time.UnixMilli(ms).UTC()
	if !ok || !found || err != nil || strconv.FormatInt(ms, 10) != stamp || at.Year() < 1 || at.Year() > 9999 || !conversation.ValidID(random) {
		return "", false
	}
	return promptPrefix + conversation.FormatTime(at) + "#" + id, true
}

// promptIDIn is promptSK's inverse.
func promptIDIn(sk string) (string, bool) {
	id := sk[strings.LastIndexByte(sk, '#')+1:]
	again, ok := promptSK(id)
	return id, ok && again == sk
}

// recordSK is the sk of a goal, check-in, memory or todo, among what is live or past.
func recordSK(prefix, kind, id string) string { return prefix + kind + "#" + id }

// recordIDIn is recordSK's inverse; ok is false for other kinds.
func recordIDIn(sk, kind string) (id string, live, ok bool) {
	if id, ok = strings.CutPrefix(sk, livePrefix+kind+"#"); ok {
		return id, true, id != ""
	}
	id, ok = strings.CutPrefix(sk, pastPrefix+kind+"#")
	return id, false, ok && id != ""
}

// dueShard spreads sessions over the due index.
func dueShard(k key) int {
	h := fnv.New32a()
	_, _ = io.WriteString(h, k.pk+"#"+k.sk)
	return int(h.Sum32() % dueShards)
}

// kindOf names what a record is by its sk, for receipts and exports; ok is false for records that are not
// Throughline's and for the generation, which outlives its user's records.
func kindOf(sk string) (kind string, ok bool) {
	if sk == generationSK {
		return "", false
	}
	if _, _, isSession := parseSessionSK(sk); isSession {
		return "session", true
	}
	if rest, found := strings.CutPrefix(sk, livePrefix); found {
		return longtermKind(rest), true
	}
	if rest, found := strings.CutPrefix(sk, pastPrefix); found {
		return longtermKind(rest), true
	}
	for prefix, kind := range ownPrefixes {
		if strings.HasPrefix(sk, prefix) {
			return kind, true
		}
	}
	return "", false
}

func longtermKind(rest string) string {
	kind, _, _ := strings.Cut(rest, "#")
	return kind
}

var ownPrefixes = map[string]string{
	messagePrefix: "message", summaryPrefix: "summary", controlPrefix: "control", idemPrefix: "idempotency",
	promptPrefix: "prompt", parkedPrefix: "parked_array", freshPrefix: "fresh", describedPrefix: "description",
}
