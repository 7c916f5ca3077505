package dynamo

// The attribute names that keys, indexes and conditions use. Records decode the rest by the names in record.go.
const (
	attrPK        = "pk"
	attrSK        = "sk"
	attrSourceID  = "sourceId"
	attrTimestamp = "timestamp"
	attrActiveAt  = "activeAt"
	attrDueShard  = "dueShard"
	attrDueAt     = "dueAt"
)
