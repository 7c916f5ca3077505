package prompt

// What the tests read back with.
var (
	Clean   = clean
	OneLine = oneLine
	Unguard = unguardLines
)
