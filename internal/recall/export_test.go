package recall

// Rerank is for benchmarks.
var Rerank = rerank
