// Package dynamo is the one implementation of every store: sessions, messages, summaries, long-term memory, prompts
// and erasure, on one DynamoDB table (design 3 and 4.1). It implements the interfaces that the domain packages state
// and knows no other technology.
package dynamo
