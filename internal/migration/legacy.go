package migration

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// The fields of an array's entry (unified-conversation-context, "Current Architecture"). An app's entries have the
// first three. Those that Throughline writes have a messageId, and the others where they are set.
const (
	fieldRole         = "role"
	fieldContent      = "content"
	fieldTime         = "ts"
	fieldMessageID    = "messageId"
	fieldAgentID      = "agentId"
	fieldMode         = "mode"
	fieldMetadata     = "metadata"
	fieldTokens       = "tokens"
	fieldAwaitsAnswer = "awaitsAnswer"
	fieldNoIndex      = "noIndex"
	fieldNoExtract    = "noExtract"
	fieldParts        = "parts" // as JSON
	fieldClientID     = "clientMessageId"
)

// The names in a message's metadata under which an app's own values are kept.
const (
	keptTime      = "legacyTs"
	keptRole      = "legacyRole"
	keptContent   = "legacyContent"
	keptMessageID = "legacyMessageId"
	keptFields    = "legacyFields"
)

// The names under which a store finds what it changes in an entry.
const (
	EntryContent   = fieldContent
	EntryMessageID = fieldMessageID
)

// IDs makes and reads the ids of a user's messages. The store implements it, because an id holds the key of a record.
type IDs interface {
	// New returns the id of a message from its time and 10 base36 digits.
	New(at time.Time, digits string) string
	// Time returns the time in an id. It reports false for what is no id of this user's messages.
	Time(id string) (at time.Time, ok bool)
}

// Problem is an entry of an array that cannot be a message.
type Problem struct {
	// Index is the place of the entry, from 0.
	Index int
	// Reason says why, for a person.
	Reason string
}

// Decode returns the messages of a session's array, in its order. The entries are documents as the store returns them:
// maps, lists, strings, numbers as float64, booleans and nil. Of the session it uses its ids, mode, generation,
// creation and deleted messages.
//
// An entry's seq is its place among the seqs that are not deleted. Times strictly increase. Ids are the same at every
// call, and an entry that Throughline appends does not change those before it. Each entry that is a map becomes one
// message; the others are problems. Tokens is 0 for an entry that Throughline did not write.
func Decode(s conversation.Session, entries []any, ids IDs) ([]conversation.Message, []Problem) {
	d := decoder{session: s, ids: ids, seen: map[[sha256.Size]byte]uint32{}}
	d.last = d.before(entries)
	messages := make([]conversation.Message, 0, len(entries))
	var problems []Problem
	for i, e := range entries {
		d.nextSeq()
		fields, ok := e.(map[string]any)
		if !ok {
			problems = append(problems, Problem{i, "the entry is no map"})
			continue
		}
		messages = append(messages, d.message(fields))
	}
	return messages, problems
}

// decoder decodes one array.
type decoder struct {
	session conversation.Session
	ids     IDs
	seq     int
	// last is the time of the last message, or the latest one that the first may not have.
	last time.Time
	// seen counts the entries of the same role and content, by their hash.
	seen map[[sha256.Size]byte]uint32
}

func (d *decoder) nextSeq() {
	for d.seq++; d.session.Deleted.Contains(d.seq); {
		d.seq++
	}
}

// before returns the millisecond before the first message where the entries at the start have no time: so that they
// lie one millisecond apart below the first known time. Entries of Throughline do not count for that, because they come
// later and may not change what was there. Without a known time the first message has the time of the session's
// creation, or is of 1970.
func (d *decoder) before(entries []any) time.Time {
	untimed := 0
	for _, e := range entries {
		fields, ok := e.(map[string]any)
		if !ok {
			continue
		}
		if _, own := d.ownTime(fields); own {
			break
		}
		if at, known := TimeOf(fields[fieldTime]); known {
			if untimed == 0 {
				return time.Time{}
			}
			return at.Add(-time.Duration(untimed+1) * time.Millisecond)
		}
		untimed++
	}
	created := d.session.CreatedAt
	if untimed == 0 {
		return time.Time{}
	}
	if !inRange(created) {
		created = time.Unix(0, 0)
	}
	return conversation.Milliseconds(created).Add(-time.Millisecond)
}

// ownTime returns the time of an entry that Throughline wrote.
func (d *decoder) ownTime(fields map[string]any) (time.Time, bool) {
	id, _ := fields[fieldMessageID].(string)
	if id == "" {
		return time.Time{}, false
	}
	at, ok := d.ids.Time(id)
	return at, ok && inRange(at)
}

// message decodes the next entry.
func (d *decoder) message(fields map[string]any) conversation.Message {
	m := conversation.Message{
		Seq: d.seq, SessionID: d.session.ID, Context: d.session.Context, CoachID: d.session.CoachID,
		Mode: d.session.Mode, Generation: d.session.Generation, SessionCreatedAt: d.session.CreatedAt,
	}
	rest := maps.Clone(fields)
	kept := map[string]any{}
	m.Role = roleOf(fields[fieldRole], kept)
	m.Content = contentOf(fields[fieldContent], kept)
	for _, name := range []string{fieldRole, fieldContent, fieldTime, fieldMessageID} {
		delete(rest, name)
	}
	take(rest, fieldAgentID, &m.AgentID)
	take(rest, fieldMode, &m.Mode)
	take(rest, fieldMetadata, &m.Metadata)
	digits := d.digits(m)
	at, own := d.ownTime(fields)
	if own = own && at.After(d.last); own {
		m.ID, m.Timestamp = fields[fieldMessageID].(string), at
		takeCount(rest, fieldTokens, &m.Tokens)
		take(rest, fieldAwaitsAnswer, &m.AwaitsAnswer)
		take(rest, fieldNoIndex, &m.NoIndex)
		take(rest, fieldNoExtract, &m.NoExtract)
		take(rest, fieldClientID, &m.ClientMessageID)
		takeParts(rest, &m.Parts)
		if fields[fieldRole] == string(conversation.RoleTool) { // that of an app may be anything
			m.Role = conversation.RoleTool
			delete(kept, keptRole)
		}
	} else {
		m.Timestamp = d.increasing(fields[fieldTime])
		m.ID = d.ids.New(m.Timestamp, digits)
		if v := fields[fieldMessageID]; v != nil {
			kept[keptMessageID] = v
		}
	}
	d.last = m.Timestamp
	if v := fields[fieldTime]; v != nil && !denotes(v, m.Timestamp) {
		kept[keptTime] = v
	}
	if len(rest) > 0 {
		kept[keptFields] = rest
	}
	m.Metadata = withKept(m.Metadata, kept)
	return m
}

// increasing returns the time of the next message from the value of its entry.
func (d *decoder) increasing(v any) time.Time {
	if at, known := TimeOf(v); known && at.After(d.last) {
		return at
	}
	return d.last.Add(time.Millisecond)
}

// digits replaces the random part of the id of an entry without one: 10 base36 digits of a hash of the session's
// key, role, content and the ordinal among the entries of the same role and content.
func (d *decoder) digits(m conversation.Message) string {
	h := sha256.New()
	for _, part := range []string{m.Context, m.SessionID, string(m.Role), m.Content} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	var equal [sha256.Size]byte
	h.Sum(equal[:0])
	ordinal := d.seen[equal]
	d.seen[equal]++
	var last [4]byte
	binary.BigEndian.PutUint32(last[:], ordinal)
	h.Write(last[:])
	return base36(h.Sum(nil))
}

// base36 returns 10 base36 digits of a hash.
func base36(sum []byte) string {
	text := strconv.FormatUint(binary.BigEndian.Uint64(sum)%base36To10, 36)
	return "0000000000"[len(text):] + text
}

const base36To10 = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36

// take moves a field of its type from the map into a variable. Another type, and an empty value, stay.
func take[T any](fields map[string]any, name string, into *T) {
	v, ok := fields[name].(T)
	if ok && any(v) != any("") {
		*into = v
		delete(fields, name)
	}
}

// takeParts moves the parts from the map into a variable. What Throughline has not written stays.
func takeParts(fields map[string]any, into *[]conversation.Part) {
	text, _ := fields[fieldParts].(string)
	if parts := conversation.DecodeParts(text); parts != nil {
		*into = parts
		delete(fields, fieldParts)
	}
}

func takeCount(fields map[string]any, name string, into *int) {
	if n, ok := fields[name].(float64); ok && n >= 0 && n <= 1e9 && n == math.Trunc(n) {
		*into = int(n)
		delete(fields, name)
	}
}

// withKept adds the values that an app's entry had to the metadata. It does not replace one that is there.
func withKept(metadata, kept map[string]any) map[string]any {
	if len(kept) == 0 {
		return metadata
	}
	maps.Copy(kept, metadata)
	return kept
}

// Encode returns the entry of an array for a message with its id. Decode returns the same message for it.
func Encode(m conversation.Message) map[string]any {
	fields := map[string]any{
		fieldRole: string(m.Role), fieldContent: m.Content, fieldTime: conversation.FormatTime(m.Timestamp),
		fieldMessageID: m.ID,
	}
	if m.AgentID != "" {
		fields[fieldAgentID] = m.AgentID
	}
	if m.Mode != "" {
		fields[fieldMode] = m.Mode
	}
	if m.Metadata != nil {
		fields[fieldMetadata] = m.Metadata
	}
	if m.Tokens > 0 {
		fields[fieldTokens] = float64(m.Tokens)
	}
	if m.NoIndex {
		fields[fieldNoIndex] = true
	}
	if m.NoExtract {
		fields[fieldNoExtract] = true
	}
	if m.AwaitsAnswer {
		fields[fieldAwaitsAnswer] = true
	}
	if m.ClientMessageID != "" {
		fields[fieldClientID] = m.ClientMessageID
	}
	if parts, err := conversation.EncodeParts(m.Parts); err == nil && parts != "" {
		fields[fieldParts] = parts
	}
	return fields
}
