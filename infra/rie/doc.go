// Package rie has tests that run the functions' binaries as Lambda does, without Docker, under the Runtime Interface
// Emulator that comes with the SAM CLI. Unlike a call of a handler, this tests that the binary starts, speaks the
// runtime interface and reads its environment.
package rie
