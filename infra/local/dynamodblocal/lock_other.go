//go:build !unix

package dynamodblocal

import "context"

// lock does nothing on a system without advisory locks. Two processes may then both download the engine, and the first
// to rename its folder wins.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
