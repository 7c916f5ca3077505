package pinecone

import (
	"context"
	"strings"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// space is where the vectors of one user and generation are. In a namespace that users share, the owner is part of
// every id, every filter and every deletion, so that no call reaches another user's vectors.
type space struct {
	index     *pinecone.IndexConnection // of the namespace
	namespace string
	owner     string // empty in a namespace of the user's own
}

// ownerField is the metadata field with the owner of a vector in a shared namespace.
const ownerField = "~owner"

// space returns the space of a user and generation.
func (x *Index) space(user conversation.UserID, generation int64) (space, error) {
	if generation < 0 {
		return space{}, fault.Wrap(fault.Internal, "find namespace", errGeneration)
	}
	s := space{namespace: Namespace(user, generation)}
	if x.shared > 0 {
		s = space{namespace: sharedNamespace(user, x.shared), owner: ownerOf(user, generation)}
	}
	s.index = x.connection.WithNamespace(s.namespace)
	return s, nil
}

// list returns a page of the ids of the space.
func (s space) list(ctx context.Context, after *string, limit uint32) (*pinecone.ListVectorsResponse, error) {
	prefix := s.prefix()
	request := &pinecone.ListVectorsRequest{Limit: &limit, PaginationToken: after}
	if prefix != "" {
		request.Prefix = &prefix
	}
	page, err := s.index.ListVectors(ctx, request)
	if err = failure("list vectors", err); missing(err) {
		return &pinecone.ListVectorsResponse{}, nil
	}
	return page, err
}

// prefix is what the ids of the space begin with.
func (s space) prefix() string {
	if s.owner == "" {
		return ""
	}
	return s.owner + "#"
}

// id returns the id under which a vector is stored.
func (s space) id(own string) string { return s.prefix() + vectorID(own) }

func (s space) ids(own []string) []string {
	out := make([]string, len(own))
	for i, id := range own {
		out[i] = s.id(id)
	}
	return out
}

// ownID returns the id that a stored vector has outside this package. ours is false for a vector that is not of this
// space, and known is false where the own id is in metadata that the answer does not have.
func (s space) ownID(v *pinecone.Vector) (own string, known, ours bool) {
	id, ours := strings.CutPrefix(v.Id, s.prefix())
	if !ours || !isHashed(id) {
		return id, true, ours
	}
	field, known := v.Metadata.GetFields()[idField]
	return field.GetStringValue(), known, true
}

// filter returns the conditions of a query in this space.
func (s space) filter(f vector.Filter) (*structpb.Struct, error) {
	if s.owner != "" {
		f = vector.AllOf(vector.Where(ownerField, vector.Equal, s.owner), f)
	}
	if f.IsZero() {
		return nil, nil
	}
	return encoded(condition(f))
}
