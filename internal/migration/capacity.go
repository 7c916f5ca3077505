package migration

import (
	"math"
	"time"
)

// Kind is what capacity units are taken for: reads or writes of the table, or of an index where it has a name.
type Kind struct {
	Index string
	Write bool
}

// Units are capacity units by their kind.
type Units map[Kind]float64

// Add adds other units.
func (u Units) Add(v Units) {
	for kind, n := range v {
		u[kind] += n
	}
}

// total returns the units of all reads or of all writes.
func (u Units) total(write bool) (n float64) {
	for kind, units := range u {
		if kind.Write == write {
			n += units
		}
	}
	return n
}

// Limit is how many units of a kind the database takes in a second.
type Limit struct {
	Units float64
	// Grows says that it takes twice as many once as many as this were used for doubling.
	Grows bool
}

// An on-demand table may throttle where the traffic is more than twice its previous peak within 30 minutes (Developer
// Guide, "DynamoDB on-demand capacity mode").
const doubling = 30 * time.Minute

// seconds returns how long the units take a run that has worked for a time.
func (l Limit) seconds(units float64, worked time.Duration) float64 {
	perSecond := l.Units
	if l.Grows {
		perSecond *= math.Exp2(worked.Seconds() / doubling.Seconds())
	}
	return units / perSecond
}

// total returns how long all the units of a run take, in seconds.
func (l Limit) total(units float64) float64 {
	if !l.Grows {
		return units / l.Units
	}
	return doubling.Seconds() * math.Log2(1+units*math.Ln2/(l.Units*doubling.Seconds()))
}

// Capacity is what a table and its indexes take. A kind that is not in it has no known limit.
type Capacity map[Kind]Limit

// capacityShare is the part of the capacity that the segments of an action take together. The app's own calls need the
// rest.
const capacityShare = 0.5

// ofSegment returns the part of the capacity that one segment may take.
func (c Capacity) ofSegment(segments int) Capacity {
	part := Capacity{}
	for kind, l := range c {
		l.Units *= capacityShare / float64(segments)
		part[kind] = l
	}
	return part
}

// seconds returns how long units take, by the kind that takes longest.
func (c Capacity) seconds(used Units, worked time.Duration) (longest float64) {
	for kind, units := range used {
		if l, known := c[kind]; known {
			longest = max(longest, l.seconds(units, worked))
		}
	}
	return longest
}
