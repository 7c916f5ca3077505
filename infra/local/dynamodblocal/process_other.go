//go:build !linux

package dynamodblocal

import "os/exec"

// attach does nothing: only Linux can end a child together with its parent.
func attach(*exec.Cmd) {}
