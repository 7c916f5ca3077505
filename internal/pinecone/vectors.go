package pinecone

import (
	"context"
	"slices"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"golang.org/x/sync/errgroup"
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

// Query returns the nearest records of the user's namespace, the best first. A namespace that does not exist has none.
func (c *Client) Query(
	ctx context.Context, user conversation.UserID, generation int64, q vector.Query,
) ([]vector.Match, error) {
	if generation < 0 {
		return nil, fault.Wrap(fault.Internal, "query index", errGeneration)
	}
	conditions, err := filter(q.Filter)
	if err != nil {
		return nil, err
	}
	request := &pinecone.QueryByVectorValuesRequest{
		Vector: q.Dense, SparseValues: sparse(q.Sparse), TopK: uint32(max(q.TopK, 1)), MetadataFilter: conditions,
		// The ids of this user's messages are hashed, so their own ids have to be read from the metadata.
		IncludeMetadata: !plain(string(user)),
	}
	matches, complete, err := c.query(ctx, user, generation, request)
	if err == nil && !complete {
		request.IncludeMetadata = true
		matches, _, err = c.query(ctx, user, generation, request)
	}
	return matches, err
}

// query makes one call, and reports whether the metadata had the own id of every hashed one.
func (c *Client) query(
	ctx context.Context, user conversation.UserID, generation int64, r *pinecone.QueryByVectorValuesRequest,
) ([]vector.Match, bool, error) {
	answer, err := c.namespace(user, generation).QueryByVectorValues(ctx, r)
	if err = failure("query index", err); missing(err) {
		return nil, true, nil
	} else if err != nil {
		return nil, false, err
	}
	matches, complete := make([]vector.Match, 0, len(answer.Matches)), true
	for _, m := range answer.Matches {
		id, ok := ownID(m.Vector)
		complete = complete && ok
		matches = append(matches, vector.Match{ID: id, Score: float64(m.Score)})
	}
	return matches, complete, nil
}

func ownID(v *pinecone.Vector) (string, bool) {
	if !isHashed(v.Id) {
		return v.Id, true
	}
	own, ok := v.Metadata.GetFields()[idField]
	return own.GetStringValue(), ok
}

// Upsert stores records, in as few requests as the service's limits allow. It may be repeated; one that failed may
// have stored some.
func (c *Client) Upsert(
	ctx context.Context, user conversation.UserID, generation int64, records []vector.Record,
) error {
	if generation < 0 {
		return fault.Wrap(fault.Internal, "upsert vectors", errGeneration)
	}
	vectors := make([]*pinecone.Vector, len(records))
	for i, r := range records {
		md, err := metadata(r)
		if err != nil {
			return err
		}
		vectors[i] = &pinecone.Vector{Id: vectorID(r.ID), Values: &r.Dense, SparseValues: sparse(r.Sparse), Metadata: md}
	}
	namespace := c.namespace(user, generation)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRequests)
	for _, batch := range batches(vectors) {
		group.Go(func() error {
			_, err := namespace.UpsertVectors(ctx, batch)
			return failure("upsert vectors", err)
		})
	}
	return group.Wait()
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
func (c *Client) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	if generation < 0 {
		return fault.Wrap(fault.Internal, "delete vectors", errGeneration)
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = vectorID(id)
	}
	for batch := range slices.Chunk(names, maxDeleteIDs) {
		err := failure("delete vectors", c.namespace(user, generation).DeleteVectorsById(ctx, batch))
		if err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

// Drop deletes the namespace of one generation and returns how many vectors the service counted in it. A namespace that
// does not exist had none.
func (c *Client) Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error) {
	if generation < 0 {
		return 0, fault.Wrap(fault.Internal, "drop namespace", errGeneration)
	}
	name := Namespace(user, generation)
	about, err := c.index.DescribeNamespace(ctx, name)
	if err = failure("describe namespace", err); missing(err) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	err = failure("drop namespace", c.index.DeleteNamespace(ctx, name))
	if err != nil && !missing(err) {
		return 0, err
	}
	return int(about.RecordCount), nil
}
