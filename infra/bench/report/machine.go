package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Machine says what a benchmark ran on, as far as numbers depend on it; nothing in it names the machine.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Go    string `json:"go"`
}

// ThisMachine describes the one that it runs on.
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

// CPUModel finds the model in the text of /proc/cpuinfo; empty where it is not named, as on most ARM kernels.
func CPUModel(cpuinfo io.Reader) string {
	for lines := bufio.NewScanner(cpuinfo); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// String is the description in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s", m.CPU, m.Cores, m.OS, m.Go)
}
