// Package docscheck holds the tests that run the documents' commands. Each page is read for its fenced blocks, whose
// first line says what a block is:
//
//	```sh           is run by bash on a fresh local stack, with the other such blocks of the page, in their order
//	```sh start     starts the stack; its output is what the stack of the tests printed
//	```sh fails     is run, too; its last command has to fail
//	```sh install   is run by make packages TRY=1, in an empty folder
//	```sh unrun     is not run, because it needs an account or takes long; its commands, options and variables exist
//	```go program   is a whole program, which is run with the libraries of tools/sdk and the clients of clients/;
//	                so is one in js or python
//	```text output  is what the block before it prints, line by line
//	```json output  is what the block before it prints, as one JSON value
//
// A "…" in an output matches anything: a part of a text, a line of its own for any lines, a member "…" for the other
// members of an object, an element "…" for the other elements of an array. Ids, times, tokens of access and durations
// match any others; numbers of tokens, scores and their features match others that are near.
//
// TestTypes checks the types of all blocks in ts, js, python and go, as strictly as tsc, mypy and go vet can. Such a
// block that is no program is only checked, and goes on from the page's program before it.
//
// TestHour plays the first hour of a newcomer: it starts the stack as README says, runs the pages that a newcomer
// follows, and kills and restarts the stack under an open console. TestCommands runs the blocks of all other pages.
//
// The tests also check that links and make targets of all pages exist, and that docs/README.md names every page.
package docscheck
