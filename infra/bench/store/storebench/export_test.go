package storebench

// Bare is what the bare transaction repeats of a store's.
var Bare = bare
