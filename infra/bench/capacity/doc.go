// Package capacity computes what DynamoDB charges for a read or a write, by the rules that AWS documents ("DynamoDB
// item sizes and formats", "DynamoDB read and write operations", "Using Global Secondary Indexes", "Managing complex
// workflows with transactions"). It is pure: it is given items as they stood before and after, and makes no call. The
// benchmarks use it because the local engine reports wrong units for transactions and none for their indexes.
package capacity
