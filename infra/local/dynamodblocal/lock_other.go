//go:build !unix

package dynamodblocal

import "context"

// lock does nothing where the system has no advisory lock: two processes may then both download the engine, and the
// rename still decides which one is used.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
