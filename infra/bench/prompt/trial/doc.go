// Package trial measures what a prompt costs: wall time over the slowest chain of remote calls, the process's own CPU
// time, and calls and capacity over the length of the history (design 6). The store, the search and the prompts are
// the production code; what stands behind them is DynamoDB Local, or its recorded answers where times are measured.
package trial
