// Package capacity computes what DynamoDB charges for a read or a write, by the rules that AWS documents ("DynamoDB
// item sizes and formats", "DynamoDB read and write operations", "Using Global Secondary Indexes", "Managing complex
// workflows with transactions"). It takes items as they were before and after and makes no calls. The benchmarks use
// it because the local engine reports wrong units for transactions, and none for their indexes.
package capacity

import "reflect"

// Units are capacity units, which on-demand tables call request units. A write unit is 1 KB written, a read unit is 4
// KB read consistently.
type Units struct {
	Read, Write float64
}

// Add returns the sum.
func (u Units) Add(v Units) Units { return Units{u.Read + v.Read, u.Write + v.Write} }

const (
	writeBlock = 1 << 10
	readBlock  = 4 << 10

	// inTransaction is the factor of the table's part of a transactional write: each item is prepared, then committed.
	// Indexes are updated outside of the transaction and are charged once.
	inTransaction = 2
)

// Consistency is the consistency of a read.
type Consistency bool

// Reads of an index are always Eventual.
const (
	Eventual Consistency = false
	Strong   Consistency = true
)

// Read returns the charge of a read of that many bytes: one item of a GetItem or BatchGetItem, or all that a Query
// read. An item that does not exist is charged as the smallest one.
func Read(bytes int, c Consistency) Units {
	units := float64(blocks(bytes, readBlock))
	if c == Eventual {
		units /= 2
	}
	return Units{Read: units}
}

// blocks returns the number of blocks, rounded up and at least one.
func blocks(bytes, block int) int { return max(1, (bytes+block-1)/block) }

// Write is what one write costs: the table's write units, and those of each index that it changes.
type Write struct {
	Table   int
	Indexes map[string]int
}

// Alone returns the charge of the write in a call of its own or in a batch.
func (w Write) Alone() Units { return Units{Write: float64(w.Table + w.indexes())} }

// InTransaction returns the charge of the write as part of a TransactWriteItems.
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

// Write returns the charge of a put, update or delete that changed an item from before to after. A nil Item does not
// exist. A write whose condition failed and a condition check are charged as a write that changed nothing: before and
// after are the existing item.
func (t Table) Write(before, after Item) Write {
	w := Write{Table: blocks(max(Size(before), Size(after)), writeBlock), Indexes: map[string]int{}}
	for name, i := range t.Indexes {
		if units := i.write(i.Entry(before), i.Entry(after)); units > 0 {
			w.Indexes[name] = units
		}
	}
	return w
}

// write returns the charge of an index whose entry changes. A changed key is two writes: the old entry is deleted and a
// new one is put.
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
