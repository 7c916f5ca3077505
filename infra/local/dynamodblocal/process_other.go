//go:build !linux

package dynamodblocal

import "os/exec"

// attach does nothing: only Linux can tie a child's life to its parent's.
func attach(*exec.Cmd) {}
