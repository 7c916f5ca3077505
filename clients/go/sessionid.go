package throughline

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// The prefixes of encoded session ids: of those that hold the whole text, and of those that hold its hash.
const (
	textPrefix = "b64:"
	hashPrefix = "sha256:"
	maxID      = 128
)

// EncodeSessionID returns a sessionId of the API for any text, such as a framework's id of a thread. A text that is a
// sessionId stays as it is, unless it begins like an encoded one. Another one is encoded in base64url, and one of more
// than 93 bytes is hashed. The clients for TypeScript and Python return the same.
func EncodeSessionID(text string) string {
	isEncoded := strings.HasPrefix(text, textPrefix) || strings.HasPrefix(text, hashPrefix)
	if isSessionID(text) && !isEncoded {
		return text
	}
	if encoded := textPrefix + base64.RawURLEncoding.EncodeToString([]byte(text)); len(encoded) <= maxID {
		return encoded
	}
	sum := sha256.Sum256([]byte(text))
	return hashPrefix + base64.RawURLEncoding.EncodeToString(sum[:])
}

// DecodeSessionID is the inverse of EncodeSessionID. It reports false for a hash, whose text cannot be recovered, and
// for an id that EncodeSessionID does not return.
func DecodeSessionID(id string) (text string, ok bool) {
	encoded, isText := strings.CutPrefix(id, textPrefix)
	if !isText {
		return id, EncodeSessionID(id) == id
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || EncodeSessionID(string(decoded)) != id {
		return "", false
	}
	return string(decoded), true
}

// isSessionID reports whether the API takes a text as a sessionId.
func isSessionID(text string) bool {
	if text == "" || len(text) > maxID || text == "." || text == ".." {
		return false
	}
	for i := range len(text) {
		c := text[i]
		isLetter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !isLetter && (c < '0' || c > '9') && !strings.ContainsRune("_.:-", rune(c)) {
			return false
		}
	}
	return true
}
