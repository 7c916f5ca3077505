package pinecone

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// space is where the vectors of one user and generation are. In a namespace that users share, the owner stands in every
// id, every filter and every deletion, so that no call reaches another user's vectors.
type space struct {
	name      string                    // of the index
	index     *pinecone.IndexConnection // of the namespace
	namespace string
	owner     string // empty in a namespace of the user's own
}

// ownerField is the metadata field with the owner of a vector in a shared namespace.
const ownerField = "~owner"

// space returns the space of a user and generation in an index.
func (c *Client) space(index string, user conversation.UserID, generation int64) (space, error) {
	const op = "find vector index"
	if generation < 0 {
		return space{}, fault.Wrap(fault.Internal, op, errGeneration)
	}
	connection := c.indexes[index]
	if connection == nil {
		err := fmt.Errorf("the user's record names the index %q, which is not in PINECONE_MORE_INDEXES", index)
		return space{}, fault.Wrap(fault.Internal, op, err)
	}
	s := space{namespace: Namespace(user, generation)}
	if c.shared > 0 {
		s = space{namespace: sharedNamespace(user, c.shared), owner: ownerOf(user, generation)}
	}
	s.name, s.index = index, connection.WithNamespace(s.namespace)
	return s, nil
}

// located returns the spaces of a user and generation in every index that may have vectors of the user. A user whose
// record names none is in the first.
func (c *Client) located(ctx context.Context, user conversation.UserID, generation int64) ([]space, error) {
	var p recall.Placement
	if c.directory != nil {
		var err error
		if p, err = c.directory.Placement(ctx, user); err != nil {
			return nil, err
		}
	}
	return c.spaces(user, generation, cmp.Or(p.Serving, config.FirstIndex), p.Target, p.Retired)
}

// spaces returns the spaces of a user and generation in the named indexes. It leaves out empty names.
func (c *Client) spaces(user conversation.UserID, generation int64, names ...string) ([]space, error) {
	var out []space
	for _, name := range names {
		if name == "" {
			continue
		}
		s, err := c.space(name, user, generation)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// written returns the spaces to which a user's vectors have to be written. A user whose record names no index gets one.
func (c *Client) written(ctx context.Context, user conversation.UserID, generation int64) ([]space, error) {
	if c.directory == nil {
		return c.spaces(user, generation, config.FirstIndex)
	}
	p, err := c.directory.Placement(ctx, user)
	if err == nil && p.Serving == "" {
		p, err = c.assign(ctx, user, max(p.Generation, generation))
	}
	if err != nil {
		return nil, err
	}
	return c.spaces(user, generation, p.Serving, p.Target)
}

// assign gives a user an index. Users from before there were several, whose vectors are in the first, stay there: also
// those of whom an erasure has still to find the vectors of an earlier generation.
func (c *Client) assign(ctx context.Context, user conversation.UserID, current int64) (recall.Placement, error) {
	name := c.newUsers
	for generation := int64(0); generation <= current && name != config.FirstIndex; generation++ {
		first, err := c.space(config.FirstIndex, user, generation)
		if err != nil {
			return recall.Placement{}, err
		}
		page, err := first.list(ctx, nil, 1)
		if err != nil {
			return recall.Placement{}, err
		}
		if len(page.VectorIds) > 0 {
			name = config.FirstIndex
		}
	}
	return c.directory.AssignIndex(ctx, user, name)
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
	owner := vector.Filter{ownerField: vector.Filter{"$eq": s.owner}}
	switch {
	case s.owner == "":
		return filter(f)
	case len(f) == 0:
		return filter(owner)
	}
	return filter(vector.Filter{"$and": []vector.Filter{owner, f}})
}
