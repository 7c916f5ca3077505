package prompt

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
)

// contextFormat is the recipe of maas-context-format v0.1.
var contextFormat = newContextFormat(ContextFormat, "maas-context-format v0.1", Slot{Select: selectPrevious})

// contextFormat05 adds the specification's backlog up to v0.5: tags on summaries, vector retrieval, a user profile
// section, and sections by the type of query.
var contextFormat05 = newContextFormat(ContextFormat05, "maas-context-format v0.5",
	Slot{Select: selectTagged, When: wantsPast},
	Slot{Block: blockProfile, Style: labelValue, Heading: "USER PROFILE:", Cap: Cap{Tokens: 100}, When: wantsProfile},
)

// newContextFormat returns a recipe of maas-context-format: one plain payload of 700 tokens, the current message not
// counted. previous says how it selects the earlier sessions, and more are its last slots.
func newContextFormat(name, specification string, previous Slot, more ...Slot) Recipe {
	previous.Block, previous.Style, previous.Heading = blockSessions, paragraphLine, previousHeading
	previous.Cap = Cap{Items: 3, Tokens: 300, Shorten: true}
	return Recipe{
		Name:            name,
		Specification:   specification,
		Budget:          cost{tokens: 700},
		MessageExcluded: true,
		Role:            contextFormatRole,
		Instruction:     contextFormatInstruction,
		Format:          plainText,
		Reads:           Reads{Messages: 30, Sessions: 20, Hits: 12, Records: summaryRecords},
		Order:           []string{blockRole, blockProfile, blockSessions, blockRecent, blockCurrent, blockInstruction},
		Slots: append([]Slot{
			{Block: blockRole, Required: true, Style: prose, Heading: "SYSTEM ROLE:", Cap: Cap{Tokens: 50}},
			{Block: blockCurrent, Required: true, Style: prose, Heading: "CURRENT QUERY:"},
			{Block: blockInstruction, Required: true, Style: prose, Cap: Cap{Tokens: 20}},
			previous,
			{
				Block: blockRecent, Style: exchangeLine, Heading: "RECENT CONVERSATION:",
				Cap: Cap{Tokens: recentTokens, Shorten: true}, Select: selectExchanges,
			},
		}, more...),
	}
}

const (
	contextFormatRole        = "You are a helpful AI assistant with long-term memory of past conversations with this user."
	contextFormatInstruction = "Please respond naturally, referencing past context when relevant."
	previousHeading          = "PREVIOUS CONTEXT (from long-term memory):"
)

// plainText is the format of labelled sections without markup. Lines of content that begin with one of its labels are
// guarded.
var plainText = &Format{
	Guard:     func(text string) string { return guardLines(text, contextFormatLabels) },
	Group:     func(*group) (open, end string) { return "", "\n" },
	Separator: "\n\n",
	Assemble: func(sections []section, _ []Message) rendering {
		return rendering{text: joinSections(sections, "")}
	},
}

var contextFormatLabels = startsWithLabel(
	"SYSTEM ROLE", "USER PROFILE", "PREVIOUS CONTEXT", "RECENT CONVERSATION", "CURRENT QUERY", "User:", "Assistant:",
	"Please respond naturally",
)

var (
	// paragraphLine is a summary, a paragraph of one line.
	paragraphLine = &Style{OneLine: true, Suffix: "\n\n"}
	// exchangeLine is one message of an exchange: User: text.
	exchangeLine = &Style{Prefix: func(e *entry, _ int, _ *time.Location) string { return speakerName(e.role) + ":" }}
)

const (
	// minSummaries is how many summaries are included if they have anything to do with the message
	// (maas-context-format, "PREVIOUS CONTEXT": two or three). More of them must reach relevantShare of the best
	// score.
	minSummaries  = 2
	relevantShare = 0.4
	// minSummaryScore is about the score of a message and a summary that have nothing in common.
	minSummaryScore = 0.02
)

// selectPrevious selects the summary of this session's earlier part, and the summaries most relevant to the message:
// those that the search found or, if it found none, those that share words with it (maas-context-format, "Retrieval":
// keyword search in v0.1).
func selectPrevious(sel *selection, slot *Slot) []*entry {
	entries := foundSummaries(sel, slot)
	if len(entries) == 0 {
		entries = keywordSummaries(sel, slot)
	}
	own := ownEarlierPart(sel, slot)
	entries = append(own, entries...)
	top := 0.0
	for i, e := range entries {
		e.position = i
		top = max(top, e.score)
		irrelevant := e.score < minSummaryScore || i >= minSummaries && e.score < top*relevantShare
		if i >= len(own) && e.decision == "" && irrelevant {
			e.drop(reasonIrrelevant)
		}
	}
	return capItems(entries, slot)
}

func foundSummaries(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	for _, h := range sel.hits {
		if h.Summary == nil || strings.TrimSpace(h.Summary.Text) == "" {
			continue
		}
		told := sessionOfHit(*h.Summary)
		e := summaryEntry(sel, told, told.LastMessageAt)
		e.label, e.score = "", h.Score
		if sel.isSuperseded(told) {
			entries = append(entries, e.drop(reasonSuperseded))
			continue
		}
		entries = append(entries, sel.claimEntry(e, summaryKey(told.ID), slot.Block))
	}
	return entries
}

// keywordSummaries ranks the known sessions' summaries by the share of the message's words that they contain. Of equal
// ones the latest is first, as in the list of sessions.
func keywordSummaries(sel *selection, slot *Slot) []*entry {
	asked := keywords(sel.Message)
	var entries []*entry
	for _, other := range sel.sessions {
		if !hasSummary(other) || sel.isSuperseded(other) {
			continue
		}
		share := sharedWords(asked, other.Summary.Text)
		if share == 0 {
			continue
		}
		e := summaryEntry(sel, other, other.LastMessageAt)
		e.score = share
		entries = append(entries, sel.claimEntry(e, summaryKey(other.ID), slot.Block))
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(b.score, a.score) })
	return entries
}

// minTaggedChars is the fewest characters of a summary after its tags.
const minTaggedChars = 24

// selectTagged is selectPrevious with the tags that are stored with each summary in front of it (maas-context-format,
// backlog v0.2). A summary without tags gets none.
func selectTagged(sel *selection, slot *Slot) []*entry {
	entries := selectPrevious(sel, slot)
	for _, e := range entries {
		if len(e.tags) == 0 {
			continue
		}
		front := "[" + strings.Join(e.tags, ", ") + "] "
		e.text, e.tokens, e.minChars = front+e.text, 0, utf8.RuneCountInString(front)+minTaggedChars
	}
	return entries
}

// selectExchanges selects the session's last exchanges, chronologically. An exchange is a message of the user and its
// answer. The newest exchange is the most valuable, and in it the user's message, so that no answer stands without its
// question. A message is cut only if the block's tokens are used up.
func selectExchanges(sel *selection, slot *Slot) []*entry {
	var entries []*entry
	for _, exchange := range slices.Backward(lastExchanges(sel)) {
		first := exchange[0]
		g := &group{
			kind: "exchange", id: first.ID, sessionID: first.SessionID, context: first.Context, began: first.Timestamp,
		}
		for _, m := range exchange {
			e := messageEntry(m)
			e.position, e.group = m.Seq, g
			entries = append(entries, capChars(e, slot.Cap))
		}
	}
	return capItems(entries, slot)
}

const (
	// maxExchanges is how many exchanges are included (maas-context-format, "Count": 2-3).
	maxExchanges = 3
	// recentTokens limits them together (maas-context-format, "Recent Conversation": max tokens).
	recentTokens = 200
)

// lastExchanges returns the session's last exchanges, oldest first. A request's scoping limits the messages of which
// they are the last.
func lastExchanges(sel *selection) [][]*conversation.Message {
	messages := sel.ownMessages
	if sel.Scoping != nil {
		messages, _ = sel.scope()
	}
	var exchanges [][]*conversation.Message
	for _, m := range messages {
		if len(exchanges) == 0 || m.Role == conversation.RoleUser {
			exchanges = append(exchanges, nil)
		}
		last := len(exchanges) - 1
		exchanges[last] = append(exchanges[last], m)
	}
	return exchanges[max(len(exchanges)-maxExchanges, 0):]
}

// ownEarlierPart returns the summary of this session if the recent conversation does not tell all of it.
func ownEarlierPart(sel *selection, slot *Slot) []*entry {
	exchanges := lastExchanges(sel)
	if !hasSummary(sel.session) || len(exchanges) == 0 {
		return nil
	}
	tokens := 0
	for _, m := range slices.Concat(exchanges...) {
		tokens += m.Tokens
	}
	if isFirstMessage(sel, exchanges[0][0]) && tokens <= recentTokens {
		return nil
	}
	e := summaryEntry(sel, sel.session, sel.session.Summary.UpdatedAt)
	e.includeReason = "it tells the earlier part of this conversation"
	return []*entry{sel.claimEntry(e, summaryKey(sel.session.ID), slot.Block)}
}
