// Package memstore is a store in memory, for tests of what needs a store and not an engine. It keeps all that the suite
// of internal/storetest asks for: what a test finds with it holds for every store that passes the suite. It is
// deterministic: its ids are counted, and its lists are sorted.
//
// A DB has the data. The other types are the stores that the domain's interfaces ask for, each with the methods of one
// noun. They all work on the DB under its one lock, so each call is one transaction. Whatever goes in or comes out is a
// copy, with times in UTC and whole milliseconds, as a store on disk would return it.
//
// It has no placements of an app that migrates and no bound of a table: those are tested with the engine that has them.
package memstore
