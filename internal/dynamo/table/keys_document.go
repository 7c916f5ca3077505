package table

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
)

// The sort key of a document is "doc#", each label of its namespace followed by '/', then ':' and its key. So the keys
// of a namespace and of those below it have one prefix, and no other namespace has it. Labels and keys are written in
// letters, digits and a few marks; the bytes of everything else as '%' and two hexadecimal digits. What is longer than
// its room is written as "%." and a hash; the record has the name itself. The key is also the id of the document's
// vector: it is ASCII and short enough for one, and has no '#' but the first.
const (
	DocumentPrefix = "doc#"
	labelEnd       = "/"
	keyStart       = ":"

	// Eight labels and a key of the greatest length make a key of 397 bytes. The id of a vector has at most 512, with the
	// number of a part, and the user's hash and generation where users share a namespace.
	maxEncodedLabel = 40
	maxEncodedKey   = 64
	hashMark        = "%."
	hashedBytes     = 16
	plainMarks      = "-_.~@+=,!"
)

// DocumentKey is the key of a document.
func DocumentKey(user conversation.UserID, n document.Namespace, name string) Key {
	return UserKey(user, DocumentsOf(n)+encodeName(name, maxEncodedKey))
}

// DocumentsUnder is the prefix of the sort keys of the documents in a namespace and in those below it.
func DocumentsUnder(n document.Namespace) string {
	var b strings.Builder
	b.WriteString(DocumentPrefix)
	for _, label := range n {
		b.WriteString(encodeName(label, maxEncodedLabel) + labelEnd)
	}
	return b.String()
}

// DocumentsOf is the prefix of the sort keys of the documents in a namespace itself.
func DocumentsOf(n document.Namespace) string { return DocumentsUnder(n) + keyStart }

// IsDocumentSK reports whether a sort key is that of a document.
func IsDocumentSK(sk string) bool {
	rest, ok := strings.CutPrefix(sk, DocumentPrefix)
	labels, name, found := strings.Cut(rest, labelEnd+keyStart)
	if !ok || !found || !isEncodedName(name, maxEncodedKey) {
		return false
	}
	for label := range strings.SplitSeq(labels, labelEnd) {
		if !isEncodedName(label, maxEncodedLabel) {
			return false
		}
	}
	return true
}

// AfterAll returns a sort key that sorts after every key with the prefix, and before all others that do.
func AfterAll(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(rune(prefix[last]+1))
}

// encodeName writes a label or a key in at most longest bytes.
func encodeName(name string, longest int) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; isPlain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() <= longest {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return hashMark + base64.RawURLEncoding.EncodeToString(sum[:hashedBytes])
}

// isEncodedName reports whether encodeName can have written a text.
func isEncodedName(text string, longest int) bool {
	if hash, ok := strings.CutPrefix(text, hashMark); ok {
		sum, err := base64.RawURLEncoding.Strict().DecodeString(hash)
		return err == nil && len(sum) == hashedBytes
	}
	name, ok := decodeName(text)
	return ok && name != "" && encodeName(name, longest) == text
}

// decodeName is the inverse of encodeName for names that are not hashed.
func decodeName(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			unit, err := strconv.ParseUint(text[i+1:min(i+3, len(text))], 16, 8)
			if err != nil {
				return "", false
			}
			c, i = byte(unit), i+2
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// isPlain reports whether a byte is written as itself in an encoded name.
func isPlain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte(plainMarks, c) >= 0
}
