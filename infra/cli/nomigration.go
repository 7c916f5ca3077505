//go:build nomigration

package main

func migration() []command { return nil }
