package adopt

import (
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// defaultCoach is the coach of an app's own record that names none.
const defaultCoach = "default"

// arrayPath is the path of the array in a record.
const arrayPath = table.AttrAttributes + "." + attrMessages

// entriesIn returns the entries of the array in a record.
func entriesIn(it table.Item) []types.AttributeValue {
	if list, ok := it.Nested(table.AttrAttributes)[attrMessages].(*types.AttributeValueMemberL); ok {
		return list.Value
	}
	return nil
}

// recordWith returns a record that has nothing but an array.
func recordWith(array types.AttributeValue) table.Item {
	return table.Item{table.AttrAttributes: table.Item{attrMessages: array}.Attribute()}
}

// setArray gives a new record an empty array.
func setArray(it table.Item) {
	attributes := it.Nested(table.AttrAttributes).With(table.Item{attrMessages: &types.AttributeValueMemberL{}})
	it[table.AttrAttributes] = attributes.Attribute()
}

// attributesOnly returns the attributes of a record without the array. It is nil where nothing else is in them.
func attributesOnly(it table.Item) map[string]any {
	rest := maps.Clone(it.Nested(table.AttrAttributes))
	delete(rest, attrMessages)
	if len(rest) == 0 {
		return nil
	}
	return table.Item{table.AttrAttributes: rest.Attribute()}.Document(table.AttrAttributes)
}

// countEntries returns how many entries the array of a record has, or what is there in place of an array.
func countEntries(it table.Item) int {
	switch attributes := it.Nested(table.AttrAttributes); {
	case attributes == nil && it.Has(table.AttrAttributes):
		return notAnArray
	case attributes == nil:
		return noAttributes
	case !attributes.Has(attrMessages):
		return noMessages
	default:
		if _, ok := attributes[attrMessages].(*types.AttributeValueMemberL); !ok {
			return notAnArray
		}
	}
	return len(entriesIn(it))
}

// decodeEmbedded reads the record of a session whose messages are in its array: of, which has the session's ids.
func decodeEmbedded(it table.Item, of conversation.Session) conversation.Session {
	s := appSession(it, of.Context)
	if own := it.Nested(attrOwn); own != nil {
		s = table.DecodeOwn(own)
		s.Generation = it.Int64(table.AttrGeneration)
	}
	s.ID, s.Context, s.Attributes = of.ID, of.Context, attributesOnly(it)
	s.Adopted = Array{Placement: migration.InArray, Entries: countEntries(it)}
	return withArray(s, it)
}

// appSession returns what an app's own record says of its session, in the attributes or at the top. Where that is not
// valid it has the defaults.
func appSession(it table.Item, context string) conversation.Session {
	appContext, _ := conversation.AppContextOf(context)
	named := func(name string, valid func(string) bool, otherwise string) string {
		for _, in := range []table.Item{it.Nested(table.AttrAttributes), it} {
			if v := in.String(name); v != "" && valid(v) {
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
		CoachID:   named(table.AttrCoachID, conversation.ValidID, defaultCoach),
		Title:     named(table.AttrTitle, short(conversation.MaxTitleChars), ""),
		Mode:      named(table.AttrMode, short(conversation.MaxNameChars), appContext.DefaultMode),
		Status:    conversation.Status(named(table.AttrStatus, isStatus, string(conversation.Active))),
		CreatedAt: appCreatedAt(it),
	}
}

// appCreatedAt returns the time at which an app created its record, or that of the epoch where the record has none.
func appCreatedAt(it table.Item) time.Time {
	var created any
	if attributevalue.Unmarshal(it[table.AttrCreatedAt], &created) == nil {
		if at, ok := migration.TimeOf(created); ok {
			return at
		}
	}
	return time.UnixMilli(0).UTC()
}

// withArray returns an embedded session with the counters and times of its array.
func withArray(s conversation.Session, it table.Item) conversation.Session {
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

// lastSeqOf returns the last seq of an embedded session: that of the last entry, or of a deleted one after it.
func lastSeqOf(s conversation.Session) int {
	seq := 0
	for range arrayOf(s).Entries {
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
func decodeArray(s conversation.Session, it table.Item) []conversation.Message {
	user, ok := table.ParsePartition(it.String(table.AttrPK))
	var entries []any
	if !ok || attributevalue.UnmarshalList(entriesIn(it), &entries) != nil {
		return nil
	}
	messages, _ := migration.Decode(s, entries, messageIDs(user))
	return messages
}

// messageIDs makes and reads the ids of a user's messages.
type messageIDs conversation.UserID

// New returns the id of a message.
func (user messageIDs) New(at time.Time, digits string) string {
	return table.MessageID(conversation.UserID(user), at, table.NewShortID(at, digits))
}

// Time returns the time in an id.
func (user messageIDs) Time(id string) (time.Time, bool) {
	sk, ok := table.ParseMessageID(conversation.UserID(user), id)
	if !ok {
		return time.Time{}, false
	}
	at, _, ok := table.ParseMessageSK(sk)
	return at, ok
}

// entryOf returns the entry of an array for a message.
func entryOf(m conversation.Message) (types.AttributeValue, error) {
	fields, err := attributevalue.MarshalMap(migration.Encode(m))
	return table.Item(fields).Attribute(), err
}

// errNotAnArray refuses a write to an app's own record that has something else in the place of the array.
func errNotAnArray() error {
	return fault.New(fault.Conflict, "the app's record of this session has no list of messages")
}

// appendEntries adds messages to the array of a session.
func appendEntries(u table.Update, s conversation.Session, messages []conversation.Message) (table.Update, error) {
	entries := make([]types.AttributeValue, len(messages))
	for i, m := range messages {
		var err error
		if entries[i], err = entryOf(m); err != nil {
			return u, err
		}
	}
	list := &types.AttributeValueMemberL{Value: entries}
	switch arrayOf(s).Entries {
	case notAnArray:
		return u, errNotAnArray()
	case noAttributes:
		return u.Set(table.AttrAttributes, table.Item{attrMessages: list}.Attribute()), nil
	case noMessages:
		return u.Set(arrayPath, list), nil
	}
	return u.SetTo(arrayPath, expression.ListAppend(table.Field(arrayPath), table.Value(list))), nil
}
