package summary

import "github.com/throughline/throughline/internal/conversation"

// AttributesDigestOf is the digest of a summary that was made from a session's attributes.
func AttributesDigestOf(s conversation.Session) string {
	return attributesDigest + digest(s.Attributes)
}

// Question returns what the model is asked for a record type, WrittenFields what is kept of its answer's own fields.
var (
	Question      = question
	WrittenFields = writtenFields
)
