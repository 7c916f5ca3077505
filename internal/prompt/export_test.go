package prompt

// What the tests read back with.
var (
	Clean   = clean
	OneLine = oneLine
	Unguard = unguardLines
)

// ActivityHeading is the heading of recent_activity.
const ActivityHeading = activityHeading
