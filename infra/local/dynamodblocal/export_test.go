package dynamodblocal

// Install fills the cache, for tests of what a start does without an engine.
var Install = install
