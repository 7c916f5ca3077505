// Package promptbench measures what a prompt costs (design 6): wall time over the slowest chain of its remote calls, the
// process's own CPU time, calls and capacity over the length of the history, the remote calls of whole turns of a chat,
// and what the functions and the tokenizer take to start. Store, search and prompts are the production code; at the
// other end are DynamoDB Local, the local Pinecone and the offline model, each with the latency of the service that it
// stands for.
package promptbench
