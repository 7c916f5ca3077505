package pinecone

import (
	"context"
	"errors"
	"slices"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// The service's limits of one request ("Pinecone Database limits").
const (
	maxUpsertVectors = 1000
	maxUpsertBytes   = 2 << 20
	maxDeleteIDs     = 1000
	parallelRequests = 4
)

// upsertRoom is how many bytes of each upsert are left for the fields besides its vectors.
const upsertRoom = 4 << 10

// Query returns the user's nearest records, the best first. A namespace that does not exist has none.
func (x *Index) Query(
	ctx context.Context, user conversation.UserID, generation int64, q vector.Query,
) ([]vector.Match, error) {
	space, err := x.space(user, generation)
	if err != nil {
		return nil, err
	}
	conditions, err := space.filter(q.Filter)
	if err != nil {
		return nil, err
	}
	request := &pinecone.QueryByVectorValuesRequest{
		Vector: q.Dense, SparseValues: sparse(q.Sparse), TopK: uint32(max(q.TopK, 1)), MetadataFilter: conditions,
		// The ids of this user's messages are hashed, so their own ids have to be read from the metadata.
		IncludeMetadata: !plain(string(user)) || len(q.Fields) > 0,
	}
	matches, complete, err := space.query(ctx, request, q.Fields)
	if err == nil && !complete {
		request.IncludeMetadata = true
		matches, _, err = space.query(ctx, request, q.Fields)
	}
	if request.IncludeMetadata && request.TopK > sureMatches && tooLarge(err) {
		request.TopK = sureMatches
		matches, _, err = space.query(ctx, request, q.Fields)
	}
	return matches, err
}

// sureMatches is how many matches with their metadata, of at most 40 KB each, are sure to fit into the 4 MB of an
// answer.
const sureMatches = 100

// tooLarge reports whether the service may have refused because its answer would be too large. It has no code of its
// own for that.
func tooLarge(err error) bool {
	var c cause
	return errors.As(err, &c) && (c.status.Code() == codes.InvalidArgument || c.status.Code() == codes.OutOfRange)
}

// query makes one call, and reports whether the metadata had the own id of every hashed one.
func (s space) query(
	ctx context.Context, r *pinecone.QueryByVectorValuesRequest, fields []string,
) ([]vector.Match, bool, error) {
	answer, err := s.index.QueryByVectorValues(ctx, r)
	if err = failure("query index", err); missing(err) {
		return nil, true, nil
	} else if err != nil {
		return nil, false, err
	}
	matches, complete := make([]vector.Match, 0, len(answer.Matches)), true
	for _, m := range answer.Matches {
		id, known, ours := s.ownID(m.Vector)
		if !ours {
			continue
		}
		complete = complete && known
		matches = append(matches, vector.Match{ID: id, Score: float64(m.Score), Metadata: selected(m.Vector, fields)})
	}
	return matches, complete, nil
}

// Upsert stores records, in as few requests as the service's limits allow. It may be repeated; one that failed may have
// stored some.
func (x *Index) Upsert(
	ctx context.Context, user conversation.UserID, generation int64, records []vector.Record,
) error {
	space, err := x.space(user, generation)
	if err != nil {
		return err
	}
	vectors := make([]*pinecone.Vector, len(records))
	for i, r := range records {
		md, err := space.metadata(r)
		if err != nil {
			return err
		}
		vectors[i] = &pinecone.Vector{Id: space.id(r.ID), Values: &r.Dense, SparseValues: sparse(r.Sparse), Metadata: md}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRequests)
	for _, batch := range batches(vectors) {
		group.Go(func() error {
			_, err := space.index.UpsertVectors(ctx, batch)
			return failure("upsert vectors", err)
		})
	}
	err = group.Wait()
	x.refused.note(err)
	return err
}

// batches splits vectors into requests. A vector that alone is too large gets a request, which the service refuses.
func batches(vectors []*pinecone.Vector) [][]*pinecone.Vector {
	var out [][]*pinecone.Vector
	from, bytes := 0, 0
	for i, v := range vectors {
		n := size(v)
		if i > from && (i-from == maxUpsertVectors || bytes+n > maxUpsertBytes-upsertRoom) {
			out = append(out, vectors[from:i])
			from, bytes = i, 0
		}
		bytes += n
	}
	if from < len(vectors) {
		out = append(out, vectors[from:])
	}
	return out
}

// size returns at least the encoded length of a vector: 4 bytes for each value, at most 5 for each index, and 32 for
// the tags and lengths.
func size(v *pinecone.Vector) int {
	n := len(v.Id) + 4*len(*v.Values) + proto.Size(v.Metadata) + 32
	if v.SparseValues != nil {
		n += 9 * len(v.SparseValues.Indices)
	}
	return n
}

func sparse(s vector.Sparse) *pinecone.SparseValues {
	if len(s.Indices) == 0 {
		return nil // the service refuses an empty one
	}
	return &pinecone.SparseValues{Indices: s.Indices, Values: s.Values}
}

// Delete removes records. It ignores records that do not exist.
func (x *Index) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	space, err := x.space(user, generation)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(ids, maxDeleteIDs) {
		if err := space.delete(ctx, space.ids(batch)); err != nil {
			return err
		}
	}
	return nil
}

// delete removes the vectors that are stored under these ids.
func (s space) delete(ctx context.Context, names []string) error {
	return fault.IgnoreNotFound(failure("delete vectors", s.index.DeleteVectorsById(ctx, names)))
}
