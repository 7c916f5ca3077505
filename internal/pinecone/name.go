package pinecone

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
)

// The service takes names of 1 to 512 ASCII characters. Other ids are replaced by a hash that begins with hashed. Ids
// that themselves begin with hashed are replaced too, so that no two ids share a name.
const (
	maxName          = 512
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
// characters, which tools may not show, and names that leave no room for a generation.
func plain(name string) bool {
	if name == "" || len(name) > maxName-20 || isHashed(name) {
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
