package architecture_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// maxTrackedBytes is more than any text of the repository has, and less than any program.
const maxTrackedBytes = 1 << 20

// TestNoProgramIsTracked finds what was built and committed by mistake: it would stay in every clone.
func TestNoProgramIsTracked(t *testing.T) {
	t.Parallel()
	const root = "../.."
	out := check.Got(exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output())(t)
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Stat(filepath.Join(root, name)); err == nil && info.Size() > maxTrackedBytes {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
}
