package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"
)

// lockName is the lock's file in a data folder.
const lockName = "lock"

// lockData locks a data folder for this stack, because two stacks would overwrite each other's data. The system frees
// the lock when the process ends, however it ends. The error names the process that has the lock.
func lockData(folder string) (unlock func() error, err error) {
	lock, pid := flock.New(filepath.Join(folder, lockName), flock.SetPermissions(0o600)), filepath.Join(folder, "pid")
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if !locked {
		owner, _ := os.ReadFile(pid) // the message is useful without it too
		return nil, fmt.Errorf("DATA_DIR=%s is in use by another stack (process %s): stop it, or choose another folder",
			folder, owner)
	}
	if err := os.WriteFile(pid, strconv.AppendInt(nil, int64(os.Getpid()), 10), 0o600); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	return lock.Close, nil
}
