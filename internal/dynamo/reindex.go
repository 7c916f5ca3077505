package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/reindex"
	"github.com/throughline/throughline/internal/vector"
)

// ReindexStore lists users and what of theirs has vectors, and records their moves between vector indexes. It is safe
// for concurrent use.
type ReindexStore struct {
	*IndexDirectory
	*HitStore
	*DeletionStore
	db      *DB
	scanner dynamodb.ScanAPIClient
}

var _ reindex.Store = (*ReindexStore)(nil)

// NewReindexStore returns the store of the moves of a DB. The scanner reads the whole table, which nothing else does.
func NewReindexStore(db *DB, scanner dynamodb.ScanAPIClient) *ReindexStore {
	return &ReindexStore{NewIndexDirectory(db), NewHitStore(db), NewDeletionStore(db), db, scanner}
}

// Users reads one page of a segment of the table and returns the users that it has records of.
func (s *ReindexStore) Users(ctx context.Context, segment, segments int, after string,
) (users []conversation.UserID, next string, err error) {
	const op = "scan users"
	in := &dynamodb.ScanInput{
		TableName: aws.String(s.db.table), Segment: aws.Int32(int32(segment)), TotalSegments: aws.Int32(int32(segments)),
		ProjectionExpression: aws.String(attrPK), Limit: aws.Int32(ScanItems),
	}
	if in.ExclusiveStartKey, err = decodeScanPlace(after); err != nil {
		return nil, "", err
	}
	out, err := s.scanner.Scan(ctx, in)
	if err != nil {
		return nil, "", failed(op, err)
	}
	for _, it := range out.Items {
		if user, ok := parsePartition(item(it).string(attrPK)); ok {
			users = append(users, user)
		}
	}
	return slices.Compact(users), encodeScanPlace(out.LastEvaluatedKey), nil
}

// encodeScanPlace writes the key at which a page of a scan ended. The end of the segment is empty.
func encodeScanPlace(last item) string {
	if len(last) == 0 {
		return ""
	}
	text, _ := json.Marshal([]string{last.string(attrPK), last.string(attrSK)}) // two texts
	return string(text)
}

func decodeScanPlace(after string) (item, error) {
	if after == "" {
		return nil, nil //nolint:nilnil // a segment begins after no key
	}
	var k [2]string
	if err := json.Unmarshal([]byte(after), &k); err != nil {
		return nil, fault.Wrap(fault.Internal, "read checkpoint", err)
	}
	return key{k[0], k[1]}.attributes(), nil
}

// reindexPage is how many records one page has at most.
const reindexPage = 100

// reindexPrefixes are those of the records that have vectors, besides messages.
func reindexPrefixes() []string {
	prefixes := make([]string, 0, len(conversation.Surfaces())+6)
	for _, surface := range conversation.Surfaces() {
		prefixes = append(prefixes, surface.Prefix)
	}
	prefixes = append(prefixes, summaryPrefix)
	for _, kind := range []string{memoryKind, checkInKind} {
		prefixes = append(prefixes, recordSK(livePrefix, kind, ""), recordSK(pastPrefix, kind, ""))
	}
	return append(prefixes, documentPrefix)
}

// Records reads one page of a user's sessions and of the ids of the summaries, memories, check-ins and documents, of
// the user's current generation, consistently.
func (s *ReindexStore) Records(ctx context.Context, user conversation.UserID, after string) (reindex.Page, error) {
	const op = "list records"
	current, err := s.db.readCurrent(ctx, op, user)
	if err != nil {
		return reindex.Page{}, err
	}
	page := reindex.Page{Generation: current.generation(user)}
	prefixes := reindexPrefixes()
	start := slices.IndexFunc(prefixes, func(p string) bool { return strings.HasPrefix(after, p) })
	for i, prefix := range prefixes[max(start, 0):] {
		q := query{where: withPrefix(user, prefix), page: reindexPage}
		if i == 0 && start >= 0 {
			q.after = key{partition(user), after}.attributes()
		}
		for it, err := range s.db.query(ctx, op, q) {
			if err != nil {
				return page, err
			}
			if it.int64(attrGeneration) != page.Generation {
				continue
			}
			sk := it.string(attrSK)
			if session, ok := decodeSession(it); ok {
				page.Sessions = append(page.Sessions, session)
			} else if id, ok := vectorID(sk); ok {
				page.IDs = append(page.IDs, id)
			}
			if len(page.Sessions)+len(page.IDs) == reindexPage {
				page.Next = sk
				return page, nil
			}
		}
	}
	return page, nil
}

// vectorID returns the id of the vector of a summary, memory, check-in or document.
func vectorID(sk string) (string, bool) {
	if id, ok := strings.CutPrefix(sk, summaryPrefix); ok {
		return id, true
	}
	for _, kind := range []string{memoryKind, checkInKind} {
		if id, _, ok := parseRecordSK(sk, kind); ok {
			return id, true
		}
	}
	return sk, isDocumentSK(sk)
}

// isIndex is the condition that an attribute of a user's generation names an index, or none where name is empty.
func isIndex(attribute, name string) expression.ConditionBuilder {
	if name == "" {
		return expression.AttributeNotExists(field(attribute))
	}
	return field(attribute).Equal(value(stringAttr(name)))
}

// Place changes where a user is, on condition that the user is placed like from, is not being erased, and has no sweep
// under way that deletes vectors. Where to has a retired index, the sweep deletes the vectors in it from due on.
func (s *ReindexStore) Place(ctx context.Context, user conversation.UserID, from, to vector.Location, due time.Time,
) error {
	k := generationKey(user)
	isFree := expression.AttributeNotExists(field(attrErasing)).Or(field(attrErasing).Equal(value(boolAttr(false)))).
		And(expression.AttributeNotExists(field(attrClaimedVersion)).
			Or(field(attrDueAt).LessThanEqual(value(timeAttr(s.db.now())))))
	asRead := isFree.And(isIndex(attrVectorIndex, from.Serving), isIndex(attrTargetIndex, from.Target),
		isIndex(attrRetiredIndex, from.Retired))
	u := expression.Set(field(attrVectorIndex), value(stringAttr(to.Serving))).Remove(field(attrMovedThrough))
	u = setIndex(setIndex(u, attrTargetIndex, to.Target), attrRetiredIndex, to.Retired)
	if to.Retired != "" {
		u = endFailures(endClaim(setDue(u, k, due).Set(field(attrSweeps), value(intAttr(0)))))
	}
	_, err := s.db.updateItem(ctx, k, u, asRead)
	existing, refused := conditionFailed(err)
	if !refused {
		return failed("place user", err)
	}
	now := decodeLocation(existing)
	if isAmbiguous(err) && now.Serving == to.Serving && now.Target == to.Target && now.Retired == to.Retired {
		return nil // an earlier attempt did it, and its answer was lost
	}
	return fault.New(fault.Conflict, "the user is being erased, or somebody else moves the user")
}

func setIndex(u expression.UpdateBuilder, attribute, name string) expression.UpdateBuilder {
	if name == "" {
		return u.Remove(field(attribute))
	}
	return u.Set(field(attribute), value(stringAttr(name)))
}

// SaveProgress stores how far the move of a user has come, unless that has ended.
func (s *ReindexStore) SaveProgress(ctx context.Context, user conversation.UserID, to, through string) error {
	u := expression.Set(field(attrMovedThrough), value(stringAttr(through)))
	_, err := s.db.updateItem(ctx, generationKey(user), u, isIndex(attrTargetIndex, to))
	return failed("save progress", ignoreConditionFailed(err))
}

// checkpointKey is the key of the progress of a segment, which belongs to no user.
func checkpointKey(to string, segment int) key {
	return key{"reindex", fmt.Sprintf("%s#segment#%04d", to, segment)}
}

// Checkpoint reads the progress of a segment. It is the beginning where there is none with as many segments.
func (s *ReindexStore) Checkpoint(ctx context.Context, to string, segment, segments int) (reindex.Checkpoint, error) {
	k := checkpointKey(to, segment)
	records, err := s.db.read(ctx, "read checkpoint", k)
	c := reindex.Checkpoint{Segment: segment, Segments: segments}
	it := records[k]
	if err != nil || int(it.int64(attrSegments)) != segments {
		return c, err
	}
	c.After, c.Done = it.string(attrAfter), it.bool(attrDone)
	if counts, ok := it[attrCounts].(*types.AttributeValueMemberM); ok {
		c.Counts = decodeReindexCounts(counts.Value)
	}
	return c, nil
}

// SaveCheckpoint stores the progress of a segment.
func (s *ReindexStore) SaveCheckpoint(ctx context.Context, to string, c reindex.Checkpoint) error {
	counts := item{}
	for name, n := range reindexCounts(&c.Counts) {
		counts[name] = intAttr(*n)
	}
	it := checkpointKey(to, c.Segment).attributes()
	it[attrSegments], it[attrDone] = intAttr(c.Segments), boolAttr(c.Done)
	it[attrAfter], it[attrCounts] = stringAttr(c.After), &types.AttributeValueMemberM{Value: counts}
	tx := s.db.transaction()
	tx.replace(it)
	_, err := s.db.commit(ctx, "save checkpoint", tx, s.db.backoff())
	return err
}

func reindexCounts(c *reindex.Counts) map[string]*int64 {
	return map[string]*int64{
		"moved": &c.Reindexed, "already": &c.Already, "left": &c.Left, "vectors": &c.Vectors, "tokens": &c.Tokens,
		"writeUnits": &c.WriteUnits,
	}
}

func decodeReindexCounts(it item) (c reindex.Counts) {
	for name, n := range reindexCounts(&c) {
		*n = it.int64(name)
	}
	return c
}
