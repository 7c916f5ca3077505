package migration

// Placement is where the messages of a session are (docs/adr/0023). A stage says where they should be.
type Placement string

// The placements of a session.
const (
	// InArray is in an array inside the app's record.
	InArray Placement = "embedded"
	// InBoth is in the array and in the shared store.
	InBoth Placement = "dual"
	// InStore is in the shared store.
	InStore Placement = "shared"
)
