package capacity

import "reflect"

// Units are capacity units, of on-demand tables request units: a write unit is 1 KB written, a read unit is 4 KB read
// consistently.
type Units struct {
	Read, Write float64
}

// Add returns the sum.
func (u Units) Add(v Units) Units { return Units{u.Read + v.Read, u.Write + v.Write} }

const (
	writeBlock = 1 << 10
	readBlock  = 4 << 10

	// inTransaction is what the table's part of a transactional write is multiplied by: each item is prepared, then
	// committed. Indexes follow outside of the transaction and are charged once.
	inTransaction = 2
)

// Consistency is how a read was asked for.
type Consistency bool

// Reads of an index are always Eventual.
const (
	Eventual Consistency = false
	Strong   Consistency = true
)

// Read is the charge of a read of that many bytes: one item of a GetItem or BatchGetItem, or everything that a Query
// went through together. An item that does not exist is charged as the smallest.
func Read(bytes int, c Consistency) Units {
	units := float64(blocks(bytes, readBlock))
	if c == Eventual {
		units /= 2
	}
	return Units{Read: units}
}

// blocks rounds up; nothing is charged as less than one.
func blocks(bytes, block int) int { return max(1, (bytes+block-1)/block) }

// Write is what one write costs: the table's write units, and those of each index that it changes.
type Write struct {
	Table   int
	Indexes map[string]int
}

// Alone is the charge of the write in a call of its own or in a batch.
func (w Write) Alone() Units { return Units{Write: float64(w.Table + w.indexes())} }

// InTransaction is the charge of the write as part of a TransactWriteItems.
func (w Write) InTransaction() Units {
	return Units{Write: float64(inTransaction*w.Table + w.indexes())}
}

func (w Write) indexes() int {
	n := 0
	for _, units := range w.Indexes {
		n += units
	}
	return n
}

// Write is the charge of a put, update or delete that made after of before; nil stands for an item that does not
// exist. A write whose condition failed, and a condition check, are charged as one that changed nothing: both are the
// item that was met.
func (t Table) Write(before, after Item) Write {
	w := Write{Table: blocks(max(Size(before), Size(after)), writeBlock), Indexes: map[string]int{}}
	for name, i := range t.Indexes {
		if units := i.write(i.Entry(before), i.Entry(after)); units > 0 {
			w.Indexes[name] = units
		}
	}
	return w
}

// write charges what changes of the index's entry. A changed key is two writes: the old entry is deleted, a new one
// put.
func (i Index) write(before, after Item) int {
	switch {
	case before == nil && after == nil, reflect.DeepEqual(before, after):
		return 0
	case before == nil:
		return blocks(Size(after), writeBlock)
	case after == nil:
		return blocks(Size(before), writeBlock)
	case i.moved(before, after):
		return blocks(Size(before), writeBlock) + blocks(Size(after), writeBlock)
	}
	return blocks(max(Size(before), Size(after)), writeBlock)
}

func (i Index) moved(before, after Item) bool {
	for _, name := range i.Key {
		if !reflect.DeepEqual(before[name], after[name]) {
			return true
		}
	}
	return false
}
