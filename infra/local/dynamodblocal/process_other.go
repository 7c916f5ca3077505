//go:build !linux

package dynamodblocal

import "os/exec"

// attach does nothing: only Linux can end a child together with its parent.
func attach(*exec.Cmd) {}

// privately only starts the process. The folder of its files is private.
func privately(start func() error) error { return start() }
