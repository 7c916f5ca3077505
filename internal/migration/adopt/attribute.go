package adopt

// The names of attributes that only adoption knows (docs/adr/0023).
const (
	// Of a session's record.
	attrMessages    = "messages"    // the array in the attributes, and the one that is parked
	attrOwn         = "throughline" // what an embedded session's record holds of ours
	attrAppValues   = "appValues"
	attrEmbeddedSeq = "embeddedSeq"
)
