package adopt

// The names of attributes that only adoption knows (docs/adr/0023).
const (
	// Of a session's record.
	attrMessages    = "messages"    // the array in the attributes, and the one that is parked
	attrOwn         = "throughline" // what an embedded session's record holds of ours
	attrAppValues   = "appValues"
	attrEmbeddedSeq = "embeddedSeq"

	// Of the state of the migration.
	attrStage      = "stage"
	attrPercent    = "percent"
	attrCleaned    = "cleaned"
	attrChangedAt  = "changedAt"
	attrBackfilled = "backfilled"
	attrVerifiedAt = "verifiedAt"
)
