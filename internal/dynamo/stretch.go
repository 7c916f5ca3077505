package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
)

// stretch is a run of a session's messages to read.
type stretch struct {
	session    conversation.Session
	from       place
	limit      int
	maxBytes   int // 0 is no bound
	descending bool
}

// wanted lists the seqs of the stretch in its order, deleted ones left out.
func (st stretch) wanted() []int {
	seq, step, end := st.from.seq+1, 1, st.session.LastSeq+1
	if st.descending {
		seq, step, end = st.session.LastSeq, -1, 0
		if st.from.seq > 0 {
			seq = min(seq, st.from.seq-1)
		}
	}
	var out []int
	for ; seq != end && (seq < end) == (step > 0) && len(out) < st.limit; seq += step {
		if !st.session.Deleted.Contains(seq) {
			out = append(out, seq)
		}
	}
	return out
}

// reading is a stretch while it is read.
type reading struct {
	stretch
	user   conversation.UserID
	source string
	wanted []int
	found  map[int]conversation.Message
	size   map[int]int  // of those found, in bytes
	gone   map[int]bool // neither in the index nor in the table: deleted after the session was read
}

// stretch returns the messages in order, where it ended, and whether there are more.
func (s *Store) stretch(ctx context.Context, user conversation.UserID, st stretch) (out []conversation.Message, last place, more bool, err error) {
	sk, _ := sessionSK(st.session.Context, st.session.ID)
	r := &reading{stretch: st, user: user, source: sourceID(user, sk), wanted: st.wanted()}
	if len(r.wanted) == 0 {
		return nil, st.from, false, nil
	}
	r.found, r.size, r.gone = make(map[int]conversation.Message, len(r.wanted)), make(map[int]int, len(r.wanted)), map[int]bool{}
	if err := s.fromIndex(ctx, r); err != nil {
		return nil, last, false, err
	}
	if err := s.fromTable(ctx, r); err != nil {
		return nil, last, false, err
	}
	out, last = r.ordered()
	st.from, st.limit = last, 1
	return out, last, len(st.wanted()) > 0, nil
}

func (r *reading) ordered() (out []conversation.Message, last place) {
	last = r.from
	for _, seq := range r.wanted {
		last.seq = seq
		if m, ok := r.found[seq]; ok {
			last.at = m.Timestamp
			out = append(out, m)
		}
	}
	return out, last
}

// take notes a record that is one of the stretch's messages, and says which.
func (r *reading) take(it item) (seq int, ok bool) {
	m, ok := r.wants(it)
	if ok {
		r.found[m.Seq], r.size[m.Seq] = m, it.bytesLong()
	}
	return m.Seq, ok
}

func (r *reading) wants(it item) (conversation.Message, bool) {
	if it.text(attrSourceID) != r.source || !belongs(it, r.session) {
		return conversation.Message{}, false
	}
	seq := int(it.whole(attrSeq))
	_, known := r.found[seq]
	first, last := r.wanted[0], r.wanted[len(r.wanted)-1]
	if known || seq < min(first, last) || seq > max(first, last) || r.session.Deleted.Contains(seq) {
		return conversation.Message{}, false
	}
	return decodeMessage(it)
}

// fromIndex finds wanted messages in the index until it has them, has enough bytes, or the index ends.
func (s *Store) fromIndex(ctx context.Context, r *reading) error {
	q := query{index: BySource, where: r.keyCondition(), descending: r.descending, page: len(r.wanted)}
	bytes, end := 0, r.wanted[len(r.wanted)-1]
	for it, err := range s.query(ctx, "read messages", q) {
		if err != nil {
			return err
		}
		if seq, ok := r.take(it); ok {
			bytes += r.size[seq]
		}
		if it.whole(attrSeq) == int64(end) || len(r.found) == len(r.wanted) || r.maxBytes > 0 && bytes >= r.maxBytes {
			return nil
		}
	}
	return nil
}

func (r *reading) keyCondition() expression.KeyConditionBuilder {
	cond := expression.Key(attrSourceID).Equal(value(text(r.source)))
	at := value(moment(r.from.at))
	switch {
	case r.from.at.IsZero():
		return cond
	case r.descending:
		return cond.And(expression.Key(attrTimestamp).LessThan(at))
	}
	return cond.And(expression.Key(attrTimestamp).GreaterThan(at))
}

// fromTable goes through the wanted messages in order, fills what the index did not show, and cuts the stretch where
// its bytes are enough.
func (s *Store) fromTable(ctx context.Context, r *reading) error {
	bytes, known := 0, r.from.at
	for i := 0; i < len(r.wanted); i++ {
		seq := r.wanted[i]
		if _, ok := r.found[seq]; !ok && !r.gone[seq] {
			if err := s.fill(ctx, r, r.gapAt(i, known), bytes); err != nil {
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
		known = m.Timestamp
	}
	return nil
}

// gap is a run of wanted messages that the index did not show: the rest of the wanted begins with it. Its neighbours'
// times, in the order of the stretch, are zero where there is none.
type gap struct {
	seqs          []int
	before, after time.Time
}

func (r *reading) gapAt(i int, before time.Time) gap {
	for j := i; j < len(r.wanted); j++ {
		if m, ok := r.found[r.wanted[j]]; ok {
			return gap{r.wanted[i:j], before, m.Timestamp}
		}
	}
	return gap{r.wanted[i:], before, time.Time{}}
}

// fill reads a gap consistently from the table. When the bytes before it and in it are enough for the stretch, it
// stops and cuts the stretch behind what it found.
func (s *Store) fill(ctx context.Context, r *reading, g gap, bytes int) error {
	low, high := r.bounds(g)
	missing := len(g.seqs)
	q := query{where: within(r.user, low, high), descending: r.descending}
	for it, err := range s.query(ctx, "read messages", q) {
		if err != nil {
			return err
		}
		seq, ok := r.take(it)
		if !ok {
			continue
		}
		bytes += r.size[seq]
		if missing--; missing == 0 {
			break
		}
		if r.maxBytes > 0 && bytes >= r.maxBytes {
			r.wanted = r.wanted[:slices.Index(r.wanted, seq)+1]
			break
		}
	}
	for _, seq := range g.seqs {
		if _, ok := r.found[seq]; !ok {
			r.gone[seq] = true
		}
	}
	return nil
}

// bounds are the sort keys between which a gap's messages lie, neighbours excluded, whatever the direction.
func (r *reading) bounds(g gap) (low, high string) {
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
	low, high = messageRange(earlier.Add(time.Millisecond), later)
	return low, max(low, high)
}
