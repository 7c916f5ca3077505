// Package e2e holds the end-to-end tests. They run the local stack as `make run` does, as a process of its own, and
// use it only through its public API.
package e2e
