package rank

import (
	"cmp"
	"slices"
	"strings"
)

// record is a record of the pool: a message with those of its parts that the index returned, or a check-in.
type record struct {
	first *Candidate
	parts []part
	// text is what its parts show together.
	text
	// previous is the message before it in its session, or nil.
	previous *record
	// group is the number of its session.
	group int
	row   []float64
}

// part is a candidate with what its text shows.
type part struct {
	*Candidate
	text
}

// arrange makes records of a pool, in an order that does not depend on the pool's: the messages of each session one
// after the other.
func arrange(pool []Candidate, s *scanner) (records []record, groups int) {
	sorted := make([]*Candidate, len(pool)) // pointers are moved in less time than parts
	for i := range pool {
		sorted[i] = &pool[i]
	}
	slices.SortFunc(sorted, comparePart)
	parts, counts := make([]part, len(pool)), make([]int, len(pool)*len(s.query.terms))
	for i, c := range sorted {
		n := len(s.query.terms)
		parts[i] = part{c, s.scan(c.Text, counts[i*n:(i+1)*n:(i+1)*n])}
	}
	records = make([]record, 0, len(parts))
	for from := 0; from < len(parts); {
		to := from + 1
		for to < len(parts) && parts[to].ID == parts[from].ID {
			to++
		}
		records, from = append(records, newRecord(parts[from:to:to])), to
	}
	return records, join(records)
}

// newRecord makes a record of its parts.
func newRecord(parts []part) record {
	r := record{first: parts[0].Candidate, parts: parts, text: parts[0].text}
	if len(parts) > 1 {
		r.counts = slices.Clone(r.counts)
	}
	for _, p := range parts[1:] {
		for term, n := range p.counts {
			r.counts[term] += n
		}
		r.words += p.words
		r.hasTime, r.hasNumber, r.hasName = r.hasTime || p.hasTime, r.hasNumber || p.hasNumber, r.hasName || p.hasName
		r.asks, r.head = r.asks || p.asks, cmp.Or(r.head, p.head)
	}
	return r
}

// join numbers the sessions of records and joins messages to the ones before them. It returns how many sessions there
// are. A check-in is a session of its own.
func join(records []record) (groups int) {
	for i := range records {
		r := &records[i]
		var before *record
		if i > 0 {
			before = &records[i-1]
		}
		if before == nil || r.first.Session == "" || r.first.Session != before.first.Session ||
			r.first.Context != before.first.Context {
			r.group = groups
			groups++
			continue
		}
		r.group = before.group
		if r.first.Seq-before.first.Seq == 1 {
			r.previous = before
		}
	}
	return groups
}

// comparePart orders candidates by their sessions, their records, and the parts of one record.
func comparePart(a, b *Candidate) int {
	bySession := cmp.Or(strings.Compare(a.Session, b.Session), strings.Compare(a.Context, b.Context),
		cmp.Compare(a.Seq, b.Seq))
	if bySession != 0 {
		return bySession // texts are compared for few
	}
	return cmp.Or(strings.Compare(a.ID, b.ID), a.Time.Compare(b.Time), strings.Compare(a.Role, b.Role),
		strings.Compare(a.Text, b.Text), cmp.Compare(a.Score, b.Score))
}
