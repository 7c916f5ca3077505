package adk

import "time"

// ForgetAtOnce makes lists forget users without a session however short ago they had one.
func ForgetAtOnce() (restore func()) {
	before := noteAge
	noteAge = -time.Hour
	return func() { noteAge = before }
}
