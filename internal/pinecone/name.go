package pinecone

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
)

// The service takes names of 1 to 512 ASCII characters. Ids that are not such names are replaced by a hash that
// begins with hashed; so are those that begin with it, and no two ids can meet in one name.
const (
	maxName          = 512
	hashed           = "~"
	defaultNamespace = "__default__"
)

// Namespace names the namespace of one user and generation (design 3): "<userId>" at generation 0, then
// "<userId>.<generation>". It is injective: a user id that itself ends in a dot and digits has ".0" at generation 0,
// and one that the service would refuse, or reads as its default namespace, is hashed. Generations are not negative.
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

// endsInGeneration reports whether a name ends as a namespace of a later generation does.
func endsInGeneration(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	return dot >= 0 && dot < len(name)-1 && strings.Trim(name[dot+1:], "0123456789") == ""
}

// vectorID is the id under which a vector is kept: its own where the service takes it, else a hash.
func vectorID(id string) string {
	if plain(id) {
		return id
	}
	return hash(id)
}

// isHashed reports whether a vector is kept under a hash, and its own id stands in its metadata.
func isHashed(id string) bool { return strings.HasPrefix(id, hashed) }

// plain reports whether a name goes to the service as it is. What it leaves out beyond the service's rules, spaces
// and control characters, is left out to be safe in every tool that shows names; a generation needs room behind it.
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
