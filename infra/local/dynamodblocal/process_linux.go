package dynamodblocal

import (
	"os/exec"
	"syscall"
)

// attach makes the engine die with this process, and keeps the terminal's Ctrl-C from reaching it first: the stack
// stops it when the functions are done with it.
func attach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
