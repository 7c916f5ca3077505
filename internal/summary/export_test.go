package summary

import "github.com/throughline/throughline/internal/conversation"

// AttributesDigestOf is the digest of a summary that was made from a session's attributes.
func AttributesDigestOf(s conversation.Session) string {
	return attributesDigest + digest(s.Attributes)
}
