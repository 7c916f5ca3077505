// Package architecture has no code. Its tests enforce rules for the whole repository: which package may import which,
// how long lines, files and functions may be, what comments may cite and which words names may have. They also check
// that template.yaml, the functions and the table in code describe the same system.
package architecture
