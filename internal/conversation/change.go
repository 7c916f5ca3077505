package conversation

// Change is one record of the table's stream, decoded: a session or a message that was written, or a memory or check-in
// that was written or deleted. Exactly one of the session pair, Message and RecordID is set.
type Change struct {
	User UserID
	// Sequence is the record's sequence number, which a failed batch reports.
	Sequence string
	// Before and After are a session's images; Before is nil where the session is new, After where it is gone.
	Before, After *Session
	// Message is a message that was stored.
	Message *Message
	// RecordID names a memory or check-in of that generation. What became of it, the table says.
	RecordID   string
	Generation int64
}
