package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Machine describes what a benchmark ran on, as far as its numbers depend on it.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Go    string `json:"go"`
}

// ThisMachine describes the machine that the process runs on.
func ThisMachine() Machine {
	m := Machine{
		CPU: "unknown CPU", Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return m // not Linux
	}
	defer f.Close()
	if model := CPUModel(f); model != "" {
		m.CPU = model
	}
	return m
}

// CPUModel returns the model named in the text of /proc/cpuinfo. It is empty on kernels that name none, as most ARM
// kernels do.
func CPUModel(cpuinfo io.Reader) string {
	for lines := bufio.NewScanner(cpuinfo); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// String returns the description in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s", m.CPU, m.Cores, m.OS, m.Go)
}
