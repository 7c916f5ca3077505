//go:build !unix

package stack

// lockData does nothing where the system has no advisory lock.
func lockData(string) (unlock func() error, err error) { return func() error { return nil }, nil }
