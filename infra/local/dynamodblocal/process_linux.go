package dynamodblocal

import (
	"os/exec"
	"sync"
	"syscall"
)

// attach makes the engine end with this process. It also keeps the terminal's Ctrl-C from the engine, because the stack
// stops the engine after the functions have ended.
func attach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// mask guards the file mode mask of this process: of two engines that start at once, one must not restore the mask
// while the other starts.
var mask sync.Mutex

// privately starts a process whose files nobody else may read. A process inherits the mask of its parent.
func privately(start func() error) error {
	mask.Lock()
	defer mask.Unlock()
	defer syscall.Umask(syscall.Umask(0o077))
	return start()
}
