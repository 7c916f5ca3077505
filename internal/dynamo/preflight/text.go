package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Text renders the report for a terminal.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table %s\n", r.Table)
	for _, f := range r.Findings {
		b.WriteString(f.Text())
	}
	whole := "of the table; what it does not show may still be there"
	if r.Sample.Complete {
		whole = "which are all"
	}
	fmt.Fprintf(&b, "\nlooked at %d records, %s (%.1f read units). Nothing was written.\n",
		r.Sample.Items, whole, r.Sample.ReadUnits)
	if !r.Ready {
		b.WriteString("NOT READY: mend the errors, then check again.\n")
		return b.String()
	}
	b.WriteString("READY. Deploy with:\n")
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		fmt.Fprintf(&b, "  %s=%s\n", name, r.Parameters[name])
	}
	return b.String()
}

// Text renders the finding for a terminal, with a line for each thing that it says.
func (f Finding) Text() string {
	var b strings.Builder
	found := f.Found
	if f.Count > 0 {
		found += fmt.Sprintf(" (%d of those looked at)", f.Count)
	}
	fmt.Fprintf(&b, "%-8s %s: %s\n", f.Level, f.Check, found)
	const indent = "         "
	for _, e := range f.Examples {
		fmt.Fprintf(&b, "%s  for example %s\n", indent, e)
	}
	if f.Breaks != "" {
		fmt.Fprintf(&b, "%sbreaks: %s\n", indent, f.Breaks)
	}
	if f.Mend != "" {
		fmt.Fprintf(&b, "%smend:   %s\n", indent, f.Mend)
	}
	for _, command := range f.Commands {
		fmt.Fprintf(&b, "%s  $ %s\n", indent, command)
	}
	return b.String()
}
