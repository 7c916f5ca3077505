package prompt

// workingContext is the recipe of working-context-builder: the agent's system prompt with what is known of the user,
// the session's messages scoped to the agent, and no tools (AC 4).
var workingContext = Recipe{
	Name:          WorkingContext,
	Specification: "working-context-builder",
	Budget:        cost{tokens: 4000},
	Format:        markdown,
	Scoping:       LastN,
	Reads:         Reads{Messages: 50},
	IncludeEmail:  true,
	Order: []string{
		blockRole, blockProfile, blockGoals, blockUserSummary, blockEngagement, blockLatest, blockExpertise, blockRecent,
		blockCurrent,
	},
	Slots: []Slot{
		{Block: blockRole, Required: true, Style: prose},
		{Block: blockCurrent, Required: true, Style: verbatimMessage},
		{Block: blockRecent, Style: roleMessage},
		{
			Block: blockGoals, Style: numberedTitle, Heading: "## User's Active Goals", Empty: "No active goals yet.",
			Cap: Cap{Items: MaxGoals}, When: hasLongTerm,
		},
		{Block: blockUserSummary, Style: boldFields, Heading: "## What You Know About This User"},
		{Block: blockProfile, Style: boldFields, Heading: "## User Context"},
		{Block: blockEngagement, Style: boldFields, Heading: "## Engagement", Select: selectSpecifiedEngagement},
		{Block: blockLatest, Style: prose, Heading: "## Earlier In This Conversation", Select: selectOlder},
		{Block: blockExpertise, Style: paragraphs, Heading: "## Expertise"},
	},
}

// MaxGoals is how many active goals a prompt has (working-context-builder, finding F10).
const MaxGoals = 10

// hasLongTerm keeps a block from claiming that there is nothing when nothing could be read.
func hasLongTerm(sel *selection) bool { return sel.hasLongTerm }

// selectOlder selects the text that the scoping strategy lets stand for older messages.
func selectOlder(sel *selection, slot *Slot) []*entry {
	_, older := sel.scope()
	if older == "" {
		return nil
	}
	e := summaryEntry(sel, sel.session, sel.session.LastMessageAt)
	e.text, e.tokens = older, 0
	return []*entry{capChars(e, slot.Cap)}
}

var (
	// numberedTitle is a goal: 1. "title" (type).
	numberedTitle = &Style{
		OneLine: true, Prefix: numbered,
		Wrap: func(text, note string) string { return withNote(`"`+text+`"`, note) },
	}
	boldFields = &Style{Field: func(label, value string) string { return "**" + label + ":** " + value }}
)
