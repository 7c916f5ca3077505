package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// CursorKey signs the cursors of lists. Another version is another key: cursors of the old one end with it.
type CursorKey struct {
	version string
	secret  []byte
}

// cursorKeySize is the length of a key's secret in bytes, that of the hash.
const cursorKeySize = sha256.Size

// ParseCursorKey reads "<version>:<base64 of 32 bytes>", the version of 1 to 16 letters and digits. Its error does not
// hold the key.
func ParseCursorKey(text string) (CursorKey, error) {
	version, encoded, _ := strings.Cut(text, ":")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(secret) != cursorKeySize || !validVersion(version) {
		return CursorKey{}, fmt.Errorf("parse cursor key: it is not <version>:<base64 of %d bytes>", cursorKeySize)
	}
	return CursorKey{version: version, secret: secret}, nil
}

func validVersion(v string) bool {
	if len(v) < 1 || len(v) > 16 {
		return false
	}
	for _, c := range []byte(v) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// listing is what a cursor is bound to: whose list, of which path, narrowed how.
type listing struct {
	user conversation.UserID
	// path is the method and the path with its values; query the parameters that narrow the list, not limit or cursor.
	path, query string
}

// macSize is how much of the HMAC a cursor carries: 128 bits.
const macSize = 16

// seal makes the cursor of a position in a list; the end of the list has none.
func (k CursorKey) seal(l listing, at conversation.Position) string {
	if at == "" {
		return ""
	}
	return k.version + "." + base64.RawURLEncoding.EncodeToString(append(k.mac(l, at), at...))
}

// open returns the position that a cursor stands for. A cursor that was altered, or made for another user, path or
// query, is an Invalid error; none is the beginning.
func (k CursorKey) open(l listing, cursor string) (conversation.Position, error) {
	if cursor == "" {
		return "", nil
	}
	wrong := fault.InvalidField("cursor", "is not a cursor of this list")
	version, encoded, _ := strings.Cut(cursor, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	breaks := strings.ContainsAny(encoded, "\r\n") // which decoding passes over
	if err != nil || breaks || version != k.version || len(raw) <= macSize {
		return "", wrong
	}
	at := conversation.Position(raw[macSize:])
	if !hmac.Equal(raw[:macSize], k.mac(l, at)) {
		return "", wrong
	}
	return at, nil
}

// mac signs a position in a list. Every part goes in behind its length, so that no two lists share a text.
func (k CursorKey) mac(l listing, at conversation.Position) []byte {
	h := hmac.New(sha256.New, k.secret)
	for _, part := range []string{k.version, string(l.user), l.path, l.query, string(at)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)[:macSize]
}
