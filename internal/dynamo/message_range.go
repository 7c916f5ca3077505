package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// messageRange is a run of a session's messages to read.
type messageRange struct {
	session    conversation.Session
	after      messageCursor
	limit      int
	maxBytes   int // 0 for no bound
	descending bool
}

// start is the cursor from which the index is read. It has no time where the message at the cursor is deleted and later
// ones are read: a message that was appended after the deletion may have an earlier time than the deleted one.
func (r messageRange) start() messageCursor {
	if !r.descending && r.session.Deleted.Contains(r.after.seq) {
		return messageCursor{seq: r.after.seq}
	}
	return r.after
}

// seqs lists the seqs of the range in its order, without those of deleted messages.
func (r messageRange) seqs() []int {
	seq, step, end := r.after.seq+1, 1, r.session.LastSeq+1
	if r.descending {
		seq, step, end = r.session.LastSeq, -1, 0
		if r.after.seq > 0 {
			seq = min(seq, r.after.seq-1)
		}
	}
	var out []int
	for ; seq != end && (seq < end) == (step > 0) && len(out) < r.limit; seq += step {
		if !r.session.Deleted.Contains(seq) {
			out = append(out, seq)
		}
	}
	return out
}

// readRange returns the messages of a range in order, the cursor after the last of them, and whether the session has
// more.
func (s *MessageStore) readRange(ctx context.Context, user conversation.UserID, in messageRange,
) (messages []conversation.Message, last messageCursor, more bool, err error) {
	var array []conversation.Message
	if in.session.Adopted != nil {
		if in.session, array, err = s.db.adoption.Messages(ctx, user, in.session); err != nil {
			return nil, last, false, err
		}
	}
	seqs := in.seqs()
	if len(seqs) == 0 {
		return nil, in.after, false, nil
	}
	in.after = in.start()
	sk, _ := table.SessionSK(in.session.Context, in.session.ID)
	r := &rangeReader{
		messageRange: in, db: s.db, user: user, source: table.SourceID(user, sk), wanted: seqs,
		found: make(map[int]conversation.Message, len(seqs)), size: map[int]int{}, missing: map[int]bool{},
	}
	r.addArray(array)
	if err := r.readIndex(ctx); err != nil {
		return nil, last, false, err
	}
	if err := r.readTable(ctx); err != nil {
		return nil, last, false, err
	}
	messages, last = r.inOrder()
	in.after, in.limit = last, 1
	return messages, last, len(in.seqs()) > 0, nil
}

// rangeReader reads a range: first from the index, then from the table what the index lacks.
type rangeReader struct {
	messageRange
	db      *DB
	user    conversation.UserID
	source  string
	wanted  []int
	found   map[int]conversation.Message
	size    map[int]int  // the bytes of those found, with a bound of bytes
	missing map[int]bool // neither in the index nor in the table, so deleted after the session was read
}

func (r *rangeReader) inOrder() (messages []conversation.Message, last messageCursor) {
	last = r.after
	for _, seq := range r.wanted {
		last.seq = seq
		if m, ok := r.found[seq]; ok {
			last.at = m.Timestamp
			messages = append(messages, m)
		}
	}
	return messages, last
}

// addArray keeps the wanted messages of an adopted session's array. Of one that is not migrated nothing else has any.
func (r *rangeReader) addArray(array []conversation.Message) {
	for _, m := range array {
		if slices.Contains(r.wanted, m.Seq) {
			r.found[m.Seq] = m
			r.size[m.Seq] = sizeOfContent(m)
		}
	}
	if r.session.IsMigrated() {
		return
	}
	for _, seq := range r.wanted {
		if _, ok := r.found[seq]; !ok {
			r.missing[seq] = true
		}
	}
}

// sizeOfContent is about the size of a message in an answer.
func sizeOfContent(m conversation.Message) int {
	size := len(m.Content) + (table.EscapedControl-1)*table.CountControls(m.Content)
	if parts, err := conversation.EncodeParts(m.Parts); err == nil {
		size += len(parts)
	}
	if doc := (table.Item{}); doc.SetDocument(table.AttrMetadata, m.Metadata) == nil {
		size += doc.Size()
	}
	return size
}

// add keeps a record that is one of the wanted messages, and returns its seq.
func (r *rangeReader) add(it table.Item) (seq int, ok bool) {
	m, ok := r.decodeWanted(it)
	if !ok {
		return m.Seq, false
	}
	r.found[m.Seq] = m
	if r.maxBytes > 0 {
		r.size[m.Seq] = it.Size()
	}
	return m.Seq, true
}

func (r *rangeReader) decodeWanted(it table.Item) (conversation.Message, bool) {
	if it.String(table.AttrSourceID) != r.source || !table.IsMessageOf(it, r.session) {
		return conversation.Message{}, false
	}
	seq := int(it.Int64(table.AttrSeq))
	_, known := r.found[seq]
	first, last := r.wanted[0], r.wanted[len(r.wanted)-1]
	if known || seq < min(first, last) || seq > max(first, last) || r.session.Deleted.Contains(seq) {
		return conversation.Message{}, false
	}
	m, ok := table.DecodeMessage(it)
	m.Forgotten = m.Forgotten || r.session.Forgotten.Contains(seq) // the index may lag
	return m, ok
}

// readIndex reads wanted messages from the index until it has all of them or enough bytes.
func (r *rangeReader) readIndex(ctx context.Context) error {
	if len(r.found)+len(r.missing) == len(r.wanted) {
		return nil
	}
	q := table.Query{Index: table.BySource, Where: r.keyCondition(), Descending: r.descending, Page: len(r.wanted)}
	if r.after.seq > 0 && r.after.at.IsZero() {
		q.Page = 0 // messages before the range are read too
	}
	bytes, end := 0, r.wanted[len(r.wanted)-1]
	for it, err := range r.db.Query(ctx, "read messages", q) {
		if err != nil {
			return err
		}
		if seq, ok := r.add(it); ok {
			bytes += r.size[seq]
		}
		if it.Int64(table.AttrSeq) == int64(end) || len(r.found) == len(r.wanted) || r.maxBytes > 0 && bytes >= r.maxBytes {
			return nil
		}
	}
	return nil
}

func (r *rangeReader) keyCondition() expression.KeyConditionBuilder {
	cond := expression.Key(table.AttrSourceID).Equal(table.Value(r.source))
	at := table.Value(r.after.at)
	switch {
	case r.after.at.IsZero():
		return cond
	case r.descending:
		return cond.And(expression.Key(table.AttrTimestamp).LessThan(at))
	}
	return cond.And(expression.Key(table.AttrTimestamp).GreaterThan(at))
}

// readTable goes through the wanted messages in order and reads those that the index lacks. It ends the range where it
// has enough bytes.
func (r *rangeReader) readTable(ctx context.Context) error {
	bytes, before := 0, r.after.at
	for i := 0; i < len(r.wanted); i++ {
		seq := r.wanted[i]
		if _, ok := r.found[seq]; !ok && !r.missing[seq] {
			if err := r.fill(ctx, r.gapAt(i, before), bytes); err != nil {
				return err
			}
		}
		m, ok := r.found[seq]
		if !ok {
			continue
		}
		if bytes += r.size[seq]; r.maxBytes > 0 && bytes > r.maxBytes && bytes > r.size[seq] {
			r.wanted = r.wanted[:i]
			return nil
		}
		before = m.Timestamp
	}
	return nil
}

// gap is a run of wanted messages that the index lacks. before and after are the times of its neighbours in the order
// of the range, zero where there is none.
type gap struct {
	seqs          []int
	before, after time.Time
}

func (r *rangeReader) gapAt(i int, before time.Time) gap {
	for j := i; j < len(r.wanted); j++ {
		if m, ok := r.found[r.wanted[j]]; ok {
			return gap{r.wanted[i:j], before, m.Timestamp}
		}
	}
	return gap{r.wanted[i:], before, time.Time{}}
}

// fill reads a gap from the table. bytes is the size of the messages before it. With enough bytes it stops, and ends
// the range after the last message that it found.
func (r *rangeReader) fill(ctx context.Context, g gap, bytes int) error {
	low, high := r.bounds(g)
	left := len(g.seqs)
	q := table.Query{Where: table.Between(r.user, low, high), Descending: r.descending}
	for it, err := range r.db.Query(ctx, "read messages", q) {
		if err != nil {
			return err
		}
		seq, ok := r.add(it)
		if !ok {
			continue
		}
		bytes += r.size[seq]
		if left--; left == 0 {
			break
		}
		if r.maxBytes > 0 && bytes >= r.maxBytes {
			r.wanted = r.wanted[:slices.Index(r.wanted, seq)+1]
			break
		}
	}
	for _, seq := range g.seqs {
		if _, ok := r.found[seq]; !ok {
			r.missing[seq] = true
		}
	}
	return nil
}

// bounds returns the sort keys between which the messages of a gap lie, without its neighbours.
func (r *rangeReader) bounds(g gap) (low, high string) {
	earlier, later := g.before, g.after
	if r.descending {
		earlier, later = later, earlier
	}
	if earlier.IsZero() {
		earlier = r.session.StartedAt.Add(-time.Millisecond)
	}
	if later.IsZero() {
		later = r.session.LastMessageAt.Add(time.Millisecond)
	}
	low, high = table.MessageBounds(earlier.Add(time.Millisecond), later)
	return low, max(low, high)
}
