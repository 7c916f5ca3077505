package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// setOwn sets those of ownAttributes that have changed. With the first one of its own, an app's record becomes one that
// Throughline has changed, and gets them all.
func setOwn(u expression.UpdateBuilder, before, after conversation.Session, names ...string,
) expression.UpdateBuilder {
	own, path := ownAttributes(after), pathIn(before)
	if isAppsOwn(before) {
		return u.Set(field(attrOwn), value(own.attribute())).
			Set(field(attrPlacement), value(stringAttr(string(conversation.Embedded)))).
			Set(field(attrGeneration), value(intAttr(after.Generation)))
	}
	for _, name := range names {
		u = setOrRemove(u, path(name), own[name], own.has(name))
	}
	return u
}

// pathIn returns where the attributes of Throughline are in a session's record.
func pathIn(s conversation.Session) func(name string) string {
	if s.Placement == conversation.Embedded {
		return ownPath
	}
	return func(name string) string { return name }
}

// The builder of expressions takes brackets in a name for those of an index. A name that has some is written with other
// characters after a mark, and literalNames puts the brackets back.
const bracketMark = "\x00\x01"

var (
	hideBrackets = strings.NewReplacer("[", "\x02", "]", "\x03")
	showBrackets = strings.NewReplacer("\x02", "[", "\x03", "]")
)

// literal is the path of an attribute whose name the app chose.
func literal(name string) expression.NameBuilder {
	if strings.ContainsAny(name, "[]") {
		name = bracketMark + hideBrackets.Replace(name)
	}
	return expression.NameNoDotSplit(name)
}

func literalNames(names map[string]string) map[string]string {
	for placeholder, name := range names {
		if hidden, ok := strings.CutPrefix(name, bracketMark); ok {
			names[placeholder] = showBrackets.Replace(hidden)
		}
	}
	return names
}

// maxPaths is how many attributes of an app one update changes by their names. An expression has at most 4 KB.
const maxPaths = 100

// setAttributes changes the attributes of a session one by one, so that an array and what else the app has in them stay
// as they are.
func setAttributes(u expression.UpdateBuilder, before, after conversation.Session, changed map[string]any,
) (expression.UpdateBuilder, error) {
	if len(changed) == 0 {
		return u, nil
	}
	all := item{}
	if err := all.setDocument(attrAttributes, after.Attributes); err != nil {
		return u, err
	}
	switch {
	case before.Placement == conversation.Shared && (before.Attributes == nil || len(changed) > maxPaths),
		before.Entries == noAttributes:
		return u.Set(field(attrAttributes), value(all[attrAttributes])), nil
	case before.Entries == notAnArray:
		return u, errNotAnArray()
	case len(changed) > maxPaths:
		return u, fault.InvalidField("attributes",
			fmt.Sprintf("may change at most %d at once in a session that has not been migrated", maxPaths))
	}
	for name := range changed {
		path := field(attrAttributes).AppendName(literal(name))
		if v, ok := all.nested(attrAttributes)[name]; ok {
			u = u.Set(path, value(v))
		} else {
			u = u.Remove(path)
		}
	}
	return u, nil
}

// message returns a message of a user by its sort key, from the shared store or from the array of the session, and the
// session. The records of both have to be read.
func (r recordSet) message(user conversation.UserID, sessionSK, messageSK string) (
	m conversation.Message, s conversation.Session, ok bool,
) {
	sessionKey, k := key{partition(user), sessionSK}, key{partition(user), messageSK}
	s, isSession := r.session(user, sessionKey)
	if m, ok = decodeMessage(r[k]); ok || !isSession || s.Placement == conversation.Shared {
		return m, s, ok
	}
	for _, m := range decodeArray(s, r[sessionKey]) {
		if sk, _ := parseMessageID(user, m.ID); sk == messageSK {
			return m, s, true
		}
	}
	return m, s, false
}

// record reads a session and its record, consistently.
func (r *SessionReader) record(ctx context.Context, user conversation.UserID, k key,
) (conversation.Session, item, error) {
	records, err := r.db.readCurrent(ctx, "read session", user, k)
	if err != nil {
		return conversation.Session{}, nil, err
	}
	session, ok := records.session(user, k)
	if !ok {
		return session, nil, fault.Missing("session")
	}
	return session, records[k], nil
}

// messageOfArray reads a message that is not in the shared store.
func (s *DeletionStore) messageOfArray(ctx context.Context, user conversation.UserID, sessionID, messageSK string,
) (conversation.Message, error) {
	missing := fault.Missing("message")
	session, err := s.sessions.Session(ctx, user, sessionID)
	if fault.Is(err, fault.NotFound) || err == nil && session.Placement == conversation.Shared {
		return conversation.Message{}, missing
	}
	if err != nil {
		return conversation.Message{}, err
	}
	sk, _ := sessionSK(session.Context, session.ID)
	records, err := s.db.readCurrent(ctx, "read message", user,
		key{partition(user), sk}, key{partition(user), messageSK})
	if err != nil {
		return conversation.Message{}, err
	}
	m, _, ok := records.message(user, sk, messageSK)
	if !ok {
		return conversation.Message{}, missing
	}
	return m, nil
}

// removeEntry takes a message out of the array of a session. An entry behind it whose id would become another gets its
// id as an attribute. The condition is that the app has not replaced the entry. It returns a NotFound error where the
// array has no such message.
func removeEntry(u expression.UpdateBuilder, record item, before, after conversation.Session, m conversation.Message,
) (expression.UpdateBuilder, expression.ConditionBuilder, error) {
	list, messages, index := record.array(), decodeArray(before, record), indexOf(before, m.Seq)
	isMessage := func(other conversation.Message) bool { return other.ID == m.ID && other.Seq == m.Seq }
	if index >= len(list) || !slices.ContainsFunc(messages, isMessage) {
		return u, expression.ConditionBuilder{}, fault.Missing("message")
	}
	path := fmt.Sprintf("%s[%d]", arrayPath, index)
	isSame := field(path).Equal(value(list[index]))
	rest := slices.Delete(slices.Clone(list), index, index+1)
	ids := map[int]string{}
	for _, m := range messages {
		ids[m.Seq] = m.ID
	}
	changed := false
	left := record.with(item{attrAttributes: item{attrMessages: &types.AttributeValueMemberL{Value: rest}}.attribute()})
	for _, m := range decodeArray(after, left) {
		if at := indexOf(after, m.Seq); ids[m.Seq] != m.ID {
			entry, _ := rest[at].(*types.AttributeValueMemberM)
			rest[at], changed = item(entry.Value).with(item{attrMessageID: stringAttr(ids[m.Seq])}).attribute(), true
		}
	}
	if changed {
		return u.Set(field(arrayPath), value(&types.AttributeValueMemberL{Value: rest})), isSame, nil
	}
	return u.Remove(field(path)), isSame, nil
}

// indexOf returns the place of a message in its session's array.
func indexOf(s conversation.Session, seq int) (index int) {
	for other := 1; other < seq; other++ {
		if !s.Deleted.Contains(other) {
			index++
		}
	}
	return index
}
