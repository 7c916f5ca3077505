// Package e2e holds the end-to-end tests: they run the local stack as `make run` does, as a process of its own, and
// use it through its public API alone.
package e2e
