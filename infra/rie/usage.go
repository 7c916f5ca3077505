package rie

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a function's process has used since it started.
type Usage struct {
	CPU time.Duration // of all its threads, in user and system mode
	// PeakMB is the most memory that it had at a time, in MiB. Lambda's "Max Memory Used" counts the runtime's own
	// processes, too.
	PeakMB float64
}

// clockTick is the unit of the CPU times in /proc, which Linux fixes for programs (man 5 proc, USER_HZ).
const clockTick = 10 * time.Millisecond

// Usage reads what the function's process has used. The process starts with the first invocation.
func (e *Emulator) Usage() (Usage, error) {
	// The emulator starts it from any of its threads.
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", e.command.Process.Pid))
	if err != nil {
		return Usage{}, fmt.Errorf("find the function's process: %w", err)
	}
	var children []byte
	for _, task := range tasks {
		of, err := os.ReadFile(task)
		if err == nil { // a thread may have ended
			children = append(append(children, of...), ' ')
		}
	}
	pids := strings.Fields(string(children))
	if len(pids) == 0 {
		return Usage{}, errors.New("the function has no process: it starts with the first invocation")
	}
	stat, statErr := os.ReadFile("/proc/" + pids[0] + "/stat")
	status, statusErr := os.ReadFile("/proc/" + pids[0] + "/status")
	if err := errors.Join(statErr, statusErr); err != nil {
		return Usage{}, fmt.Errorf("read the function's process: %w", err)
	}
	return parseUsage(string(stat), string(status))
}

// parseUsage reads /proc/PID/stat and /proc/PID/status (man 5 proc).
func parseUsage(stat, status string) (Usage, error) {
	// The second field is the program's name in brackets, which may hold spaces. utime and stime are fields 14 and 15.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return Usage{}, fmt.Errorf("read CPU time: %q has %d fields", stat, len(fields))
	}
	userTicks, userErr := strconv.Atoi(fields[user])
	systemTicks, systemErr := strconv.Atoi(fields[system])
	if err := errors.Join(userErr, systemErr); err != nil {
		return Usage{}, fmt.Errorf("read CPU time: %w", err)
	}
	_, peak, _ := strings.Cut(status, "VmHWM:")
	peak, _, found := strings.Cut(peak, "kB")
	kilobytes, err := strconv.Atoi(strings.TrimSpace(peak))
	if !found || err != nil {
		return Usage{}, errors.Join(errors.New("read memory: the process has no VmHWM in kB"), err)
	}
	return Usage{CPU: time.Duration(userTicks+systemTicks) * clockTick, PeakMB: float64(kilobytes) / 1024}, nil
}
