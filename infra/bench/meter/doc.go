// Package meter counts what operations ask of DynamoDB: calls, capacity units by the rules of package capacity, and
// time. It stands between a store and the client, and knows what every record held before each write, because every
// write to its tables goes through it.
package meter
