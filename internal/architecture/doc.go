// Package architecture has no code. Its tests enforce rules for the whole repository: which package may import which,
// how long lines, files and functions may be, and what comments may cite. They also check that template.yaml, the
// functions and the table in code describe the same system.
package architecture
