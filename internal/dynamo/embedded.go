package dynamo

import (
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// The entries of a record that has no array: attributes without messages, no attributes, and something else in the
// place of either.
const (
	noMessages   = -1
	noAttributes = -2
	notAnArray   = -3
)

// defaultCoach is the coach of an app's own record that names none.
const defaultCoach = "default"

// isAppsOwn reports whether the record of a session is an app's own, which Throughline has not changed.
func isAppsOwn(s conversation.Session) bool {
	return s.Placement == conversation.Embedded && s.Version == 0
}

// ownPath is the path of an attribute of Throughline's in the record of an embedded session.
func ownPath(name string) string { return attrOwn + "." + name }

// arrayPath is the path of the array in a record.
const arrayPath = attrAttributes + "." + attrMessages

// nested returns the map at a name, nil if there is none.
func (it item) nested(name string) item {
	if m, ok := it[name].(*types.AttributeValueMemberM); ok {
		return m.Value
	}
	return nil
}

func (it item) attribute() types.AttributeValue { return &types.AttributeValueMemberM{Value: it} }

// array returns the entries of the array in a record.
func (it item) array() []types.AttributeValue {
	if list, ok := it.nested(attrAttributes)[attrMessages].(*types.AttributeValueMemberL); ok {
		return list.Value
	}
	return nil
}

// setArray gives a new record an empty array.
func (it item) setArray() {
	attributes := it.nested(attrAttributes).with(item{attrMessages: &types.AttributeValueMemberL{}})
	it[attrAttributes] = attributes.attribute()
}

// attributesOnly returns the attributes of a record without the array. It is nil where nothing else is in them.
func (it item) attributesOnly() map[string]any {
	rest := maps.Clone(it.nested(attrAttributes))
	delete(rest, attrMessages)
	if len(rest) == 0 {
		return nil
	}
	return item{attrAttributes: rest.attribute()}.document(attrAttributes)
}

// entries returns how many entries the array of a record has, or what is there in place of an array.
func (it item) entries() int {
	switch attributes := it.nested(attrAttributes); {
	case attributes == nil && it.has(attrAttributes):
		return notAnArray
	case attributes == nil:
		return noAttributes
	case !attributes.has(attrMessages):
		return noMessages
	default:
		if _, ok := attributes[attrMessages].(*types.AttributeValueMemberL); !ok {
			return notAnArray
		}
	}
	return len(it.array())
}

// hasEntries is the condition that the array of a session is as long as it was.
func hasEntries(s conversation.Session) expression.ConditionBuilder {
	switch s.Entries {
	case noAttributes:
		return expression.AttributeNotExists(field(attrAttributes))
	case noMessages:
		return expression.AttributeNotExists(field(arrayPath)).And(expression.AttributeExists(field(attrAttributes)))
	case notAnArray:
		return exists()
	}
	return field(arrayPath).Size().Equal(value(intAttr(s.Entries)))
}

// decodeEmbedded reads the record of a session whose messages are in its array: of, which has the session's ids.
func decodeEmbedded(it item, of conversation.Session) conversation.Session {
	s := appSession(it, of.Context)
	if own := it.nested(attrOwn); own != nil {
		s = decodeOwn(own)
		s.Generation = it.int64(attrGeneration)
	}
	s.ID, s.Context, s.Placement = of.ID, of.Context, conversation.Embedded
	s.Attributes, s.Entries = it.attributesOnly(), it.entries()
	return withArray(s, it)
}

// appSession returns what an app's own record says of its session, in the attributes or at the top. Where that is not
// valid it has the defaults.
func appSession(it item, context string) conversation.Session {
	surface, _ := conversation.SurfaceOf(context)
	named := func(name string, valid func(string) bool, otherwise string) string {
		for _, in := range []item{it.nested(attrAttributes), it} {
			if v := in.string(name); v != "" && valid(v) {
				return v
			}
		}
		return otherwise
	}
	short := func(limit int) func(string) bool {
		return func(v string) bool { return utf8.ValidString(v) && utf8.RuneCountInString(v) <= limit }
	}
	known := []conversation.Status{conversation.Active, conversation.Completed, conversation.Archived}
	isStatus := func(v string) bool { return slices.Contains(known, conversation.Status(v)) }
	return conversation.Session{
		CoachID:   named(attrCoachID, conversation.ValidID, defaultCoach),
		Title:     named(attrTitle, short(conversation.MaxTitleChars), ""),
		Mode:      named(attrMode, short(conversation.MaxNameChars), surface.DefaultMode),
		Status:    conversation.Status(named(attrStatus, isStatus, string(conversation.Active))),
		CreatedAt: appCreatedAt(it),
	}
}

// appCreatedAt returns the time at which an app created its record, or that of the epoch where the record has none.
func appCreatedAt(it item) time.Time {
	var created any
	if attributevalue.Unmarshal(it[attrCreatedAt], &created) == nil {
		if at, ok := migration.TimeOf(created); ok {
			return at
		}
	}
	return time.UnixMilli(0).UTC()
}

// withArray returns an embedded session with the counters and times of its array.
func withArray(s conversation.Session, it item) conversation.Session {
	messages := decodeArray(s, it)
	s.MessageCount, s.UserSeq, s.UrgentSeq = len(messages), 0, 0
	s.LastSeq = lastSeqOf(s)
	s.StartedAt, s.LastMessageAt = time.Time{}, time.Time{}
	if len(messages) > 0 {
		s.StartedAt, s.LastMessageAt = messages[0].Timestamp, messages[len(messages)-1].Timestamp
	}
	for _, m := range messages {
		if m.Role != conversation.RoleUser {
			continue
		}
		s.UserSeq = m.Seq
		if !m.NoExtract && conversation.IsUrgent(m.Content) {
			s.UrgentSeq = m.Seq
		}
	}
	return s
}

// lastSeqOf returns the last seq of an embedded session: that of the last entry, or of a deleted one behind it.
func lastSeqOf(s conversation.Session) int {
	seq := 0
	for range s.Entries {
		for seq++; s.Deleted.Contains(seq); {
			seq++
		}
	}
	if n := len(s.Deleted); n > 0 {
		seq = max(seq, s.Deleted[n-1].Last)
	}
	return seq
}

// decodeArray returns the messages of the array in a session's record. An entry that cannot be a message is left out.
func decodeArray(s conversation.Session, it item) []conversation.Message {
	user, ok := parsePartition(it.string(attrPK))
	var entries []any
	if !ok || attributevalue.UnmarshalList(it.array(), &entries) != nil {
		return nil
	}
	messages, _ := migration.Decode(s, entries, messageIDs(user))
	return messages
}

// messageIDs makes and reads the ids of a user's messages.
type messageIDs conversation.UserID

// New returns the id of a message.
func (user messageIDs) New(at time.Time, digits string) string {
	return messageID(conversation.UserID(user), at, newShortID(at, digits))
}

// Time returns the time in an id.
func (user messageIDs) Time(id string) (time.Time, bool) {
	sk, ok := parseMessageID(conversation.UserID(user), id)
	if !ok {
		return time.Time{}, false
	}
	at, _, ok := parseMessageSK(sk)
	return at, ok
}

// errNotAnArray refuses a write to an app's own record that has something else in the place of the array.
func errNotAnArray() error {
	return fault.New(fault.Conflict, "the app's record of this session has no list of messages")
}

// appendEntries adds messages to the array of a session.
func appendEntries(u expression.UpdateBuilder, s conversation.Session, messages []conversation.Message,
) (expression.UpdateBuilder, error) {
	entries := make([]types.AttributeValue, len(messages))
	for i, m := range messages {
		fields, err := attributevalue.MarshalMap(migration.Encode(m))
		if err != nil {
			return u, err
		}
		entries[i] = item(fields).attribute()
	}
	list := &types.AttributeValueMemberL{Value: entries}
	switch s.Entries {
	case notAnArray:
		return u, errNotAnArray()
	case noAttributes:
		return u.Set(field(attrAttributes), value(item{attrMessages: list}.attribute())), nil
	case noMessages:
		return u.Set(field(arrayPath), value(list)), nil
	}
	return u.Set(field(arrayPath), expression.ListAppend(field(arrayPath), value(list))), nil
}
