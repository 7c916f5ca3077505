// Package table is the one DynamoDB table: its keys, the names of its attributes, its indexes, the records of sessions
// and messages, and the calls that read and write it, with their retries. It knows no store. The stores of package
// dynamo and the adoption of an app's records in package adopt are built on it.
//
//	Table        the client and the table's name: queries, batch reads, conditional writes, transactions
//	Transaction  writes that happen all or not at all, with the places of their conditions
//	Update       a change of a record's attributes
//	Condition    what a write needs of the record that is there
//	Item, Key    a record as it is stored, and its primary key
//	Layout       how the record of a session is laid out, and by which conditions a writer knows it again
package table
