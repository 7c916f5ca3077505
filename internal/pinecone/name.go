package pinecone

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
)

// The service takes names of 1 to 512 ASCII characters. Other ids are replaced by a hash that begins with hashed. Ids
// that themselves begin with hashed are replaced too, so that no two ids share a name.
const (
	maxName          = 512
	ownerRoom        = 68 // for a hash with its mark, a generation, and their separators
	hashed           = "~"
	defaultNamespace = "__default__"
)

// Namespace returns the name of the namespace of one user and generation: "<userId>" at generation 0, then
// "<userId>.<generation>". No two share a name: a user id that itself ends in a dot and digits gets ".0" at generation
// 0. A user id that the service would refuse, or would take for its default namespace, is hashed. The generation must
// not be negative.
func Namespace(user conversation.UserID, generation int64) string {
	name := string(user)
	if !plain(name) || name == defaultNamespace {
		name = hash(name)
	}
	if generation == 0 && !endsInGeneration(name) {
		return name
	}
	return name + "." + strconv.FormatInt(generation, 10)
}

// sharedNamespace returns the name of the namespace that a user shares with others, one of n. It has n in it: with
// another n, nothing of before is searched, rather than a part. It begins as no user's own namespace does.
func sharedNamespace(user conversation.UserID, n int) string {
	sum := sha256.Sum256([]byte(user))
	return fmt.Sprintf("%sshared.%d.%d", hashed, n, binary.BigEndian.Uint64(sum[:8])%uint64(n))
}

// ownerOf names a user and generation in a shared namespace. The hash has the same length for every user, so that no
// user's ids begin as another's do.
func ownerOf(user conversation.UserID, generation int64) string {
	return hash(string(user)) + "." + strconv.FormatInt(generation, 10)
}

// endsInGeneration reports whether a name ends in a dot and digits, as the namespace of a later generation does.
func endsInGeneration(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	return dot >= 0 && dot < len(name)-1 && strings.Trim(name[dot+1:], "0123456789") == ""
}

// vectorID returns the id under which a vector is stored: its own if the service takes it, otherwise a hash.
func vectorID(id string) string {
	if plain(id) {
		return id
	}
	return hash(id)
}

// isHashed reports whether a vector is stored under a hash. Its own id is then in its metadata.
func isHashed(id string) bool { return strings.HasPrefix(id, hashed) }

// plain reports whether a name goes to the service unchanged. Beyond the service's rules it refuses spaces and control
// characters, which tools may not show, and names that leave no room for an owner or a generation.
func plain(name string) bool {
	if name == "" || len(name) > maxName-ownerRoom || isHashed(name) {
		return false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] > '~' {
			return false
		}
	}
	return true
}

func hash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hashed + base64.RawURLEncoding.EncodeToString(sum[:])
}
