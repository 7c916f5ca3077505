// Package legacy makes the table of an app that stores conversations in arrays inside its own records, in all the
// shapes that such tables have. The soak test and the benchmark of the migration use it. The same table comes from the
// same seed, and each session can be made alone, so a test need not keep the table to know what has to be in it.
package legacy

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table says how large the table is.
type Table struct {
	Users, Sessions, Messages int
	Seed                      uint64
	// Large is the number of sessions with an array close to DynamoDB's limit of an item. The others share the messages.
	Large int
}

// Session is one conversation of the app.
type Session struct {
	User, Context, ID string
	// Shape names how the array's entries are written.
	Shape string
	// Item is the app's record.
	Item map[string]types.AttributeValue
	// Messages are what the session has to hold, in order.
	Messages []Message
}

// Message is what a session's message has to be.
type Message struct {
	Role, Content string
}

// Key returns the sort key of the session's record.
func (s Session) Key() string { return prefixes[s.Context] + s.ID }

var prefixes = map[string]string{"coach_conversation": "conversation#", "program_designer": "program_session#"}

// shape writes the entries of one kind of array.
type shape struct {
	name string
	// entry returns an entry and the message that it encodes.
	entry func(g *generator, i int) (map[string]any, Message)
}

var shapes = []shape{
	{"ISO times", func(g *generator, i int) (map[string]any, Message) { return g.plain(i, iso(g.at(i))) }},
	{"epoch seconds", func(g *generator, i int) (map[string]any, Message) { return g.plain(i, g.at(i)/1000) }},
	{"epoch milliseconds", func(g *generator, i int) (map[string]any, Message) { return g.plain(i, g.at(i)) }},
	{"missing times", func(g *generator, i int) (map[string]any, Message) { return g.plain(i, nil) }},
	{"some missing times", func(g *generator, i int) (map[string]any, Message) {
		if g.random.IntN(3) == 0 {
			return g.plain(i, nil)
		}
		return g.plain(i, iso(g.at(i)))
	}},
	{"equal times", func(g *generator, i int) (map[string]any, Message) { return g.plain(i, iso(g.at(i-i%4))) }},
	{"unordered times", func(g *generator, i int) (map[string]any, Message) {
		return g.plain(i, iso(g.at(g.random.IntN(g.count))))
	}},
	{"numbers as texts", func(g *generator, i int) (map[string]any, Message) {
		return g.plain(i, strconv.FormatInt(g.at(i), 10))
	}},
	{"other roles", (*generator).otherRole},
	{"lists of parts", (*generator).parts},
	{"equal messages", func(g *generator, i int) (map[string]any, Message) {
		return map[string]any{"role": "user", "content": "Done.", "ts": iso(g.at(i))}, Message{"user", "Done."}
	}},
	{"other fields", func(g *generator, i int) (map[string]any, Message) {
		entry, message := g.plain(i, iso(g.at(i)))
		entry["metadata"] = map[string]any{"source": "ios", "nested": map[string]any{"depth": i}}
		entry["reactions"] = []any{"👍", true, nil}
		return entry, message
	}},
	{"empty", nil},
}

// largeEntries and largeBytes make an array of about 390 KB. A content has usualBytes elsewhere.
const (
	largeEntries = 39
	largeBytes   = 10_000
	usualBytes   = 40
)

// Session makes the session with a number from 0 to Sessions-1.
func (t Table) Session(n int) Session {
	g := generator{random: rand.New(rand.NewPCG(t.Seed, uint64(n)))} //nolint:gosec // data of a test
	kind := shapes[n%len(shapes)]
	s := Session{User: fmt.Sprintf("user-%d", n%t.Users), Context: "coach_conversation", ID: fmt.Sprintf("s%d", n)}
	if n%3 == 0 {
		s.Context = "program_designer"
	}
	g.count, g.bytes = t.size(n, kind, g.random), usualBytes
	if n < t.Large {
		kind, g.count, g.bytes = shapes[0], largeEntries, largeBytes
	}
	s.Shape = kind.name
	g.session, g.start = s.ID, 1_700_000_000_000+int64(n)*60_000
	entries := make([]any, 0, g.count)
	for i := range g.count {
		entry, message := kind.entry(&g, i)
		entries, s.Messages = append(entries, entry), append(s.Messages, message)
	}
	s.Item = g.record(s, entries)
	return s
}

// size returns the number of entries of a session: the share of all messages that falls to it, more or less.
func (t Table) size(n int, kind shape, random *rand.Rand) int {
	if kind.entry == nil {
		return 0
	}
	filled := t.Sessions - t.Sessions/len(shapes) - t.Large
	mean := max(1, (t.Messages-t.Large*largeEntries)/max(1, filled))
	if n%2 == 0 {
		return 1 + random.IntN(mean)
	}
	return mean + random.IntN(mean)
}

// generator makes the entries of one session.
type generator struct {
	random  *rand.Rand
	session string
	start   int64 // the first time, in milliseconds
	count   int
	bytes   int // of a content
}

func (g *generator) at(i int) int64 { return g.start + int64(i)*30_000 }

func (g *generator) content(i int) string {
	text := fmt.Sprintf("%s says %d: ", g.session, i)
	for len(text) < g.bytes+g.random.IntN(g.bytes/4) {
		text += words[g.random.IntN(len(words))] + " "
	}
	return text
}

var words = strings.Fields("the left knee hurts when squatting below parallel so we keep it high and slow " +
	"täglich früh 朝 workout 🙂 rest sleep protein \"quoted\" <tag> and\tmore")

func (g *generator) plain(i int, ts any) (map[string]any, Message) {
	m := Message{Role: []string{"user", "assistant"}[i%2], Content: g.content(i)}
	entry := map[string]any{"role": m.Role, "content": m.Content}
	if ts != nil {
		entry["ts"] = ts
	}
	return entry, m
}

func (g *generator) otherRole(i int) (map[string]any, Message) {
	entry, m := g.plain(i, iso(g.at(i)))
	names := []struct{ name, role string }{
		{"human", "user"},
		{"ai", "assistant"},
		{"bot", "assistant"},
		{"coach", "assistant"},
		{"model", "assistant"},
		{"tool", "system"},
		{"developer", "system"},
	}
	chosen := names[i%len(names)]
	entry["role"], m.Role = chosen.name, chosen.role
	return entry, m
}

func (g *generator) parts(i int) (map[string]any, Message) {
	entry, m := g.plain(i, iso(g.at(i)))
	image := map[string]any{"type": "image_url", "image_url": map[string]any{"url": "https://example.com/1.png"}}
	entry["content"] = []any{map[string]any{"type": "text", "text": m.Content}, image, "as a text"}
	m.Content += "\nas a text"
	return entry, m
}

// record returns the app's record of a session: the array, and attributes that the app has for its own use.
func (g *generator) record(s Session, entries []any) map[string]types.AttributeValue {
	fields := map[string]any{
		"pk": "user#" + s.User, "sk": s.Key(), "entityType": "conversation", "createdAt": iso(g.start),
		"attributes": map[string]any{"messages": entries, "coachId": "coach-1", "theme": "dark"},
		// Names that Throughline uses too.
		"version": "app-7", "status": "open", "title": "Chat " + s.ID,
		"billing": map[string]any{"plan": "pro", "seats": 3, "tags": []any{"a", nil, true}},
		"flags":   []byte{1, 2, 3},
	}
	item := marshal(fields)
	item["scores"] = &types.AttributeValueMemberNS{Value: []string{"1", "2.5"}}
	return item
}

// Others returns records of the app that are no sessions, of the user with a number.
func (t Table) Others(user int) []map[string]types.AttributeValue {
	pk := fmt.Sprintf("user#user-%d", user)
	var out []map[string]types.AttributeValue
	for _, fields := range []map[string]any{
		{"pk": pk, "sk": "profile", "name": "User " + strconv.Itoa(user), "messages": []any{"not a conversation"}},
		{"pk": pk, "sk": "workout#2024-01-01", "attributes": map[string]any{"messages": []any{}}, "reps": 12},
		{"pk": "team#" + strconv.Itoa(user), "sk": "conversation#1", "attributes": map[string]any{"messages": []any{}}},
	} {
		out = append(out, marshal(fields))
	}
	return out
}

func marshal(fields map[string]any) map[string]types.AttributeValue {
	item, err := attributevalue.MarshalMap(fields)
	if err != nil {
		panic(err) // texts, numbers and lists
	}
	return item
}

// iso returns the ISO time of milliseconds since 1970.
func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
