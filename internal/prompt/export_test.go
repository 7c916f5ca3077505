package prompt

// What the tests read back with.
var (
	Clean   = clean
	OneLine = oneLine
	Unguard = unguardLines

	BreakTokens = breakTokens

	Persona        = persona
	HasVisibleText = hasVisibleText

	IsBoundary = isBoundary
)

// The formats and styles that the tests read back.
var (
	Markdown       = markdown
	PlainText      = plainText
	Tagged         = tagged
	SystemMessages = systemMessages

	Bullet     = bullet
	Numbered   = numberedTitle
	Labelled   = labelled
	Attributed = attributed
	Transcript = transcriptLine
)

// ActivityHeading is the heading of recent_activity.
const ActivityHeading = activityHeading

// RefersBack reports whether a message refers to an earlier conversation.
func RefersBack(message string) bool {
	_, refers := findReference(message)
	return refers
}
