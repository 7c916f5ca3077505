// Package architecture has no code. Its tests hold what the rest of the tree agrees on: which package may import which
// (the domain in the middle, one package for each technology around it, wiring at the edge), that every package says
// what it is for, and that template.yaml, the functions and the table in code describe the same system.
package architecture
