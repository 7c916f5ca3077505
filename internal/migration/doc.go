// Package migration moves an app's conversations from arrays inside its own records into the shared store, while the
// app is in use (docs/adr/0023). It knows no database. Package adopt, in this folder, is the table's part of it.
//
// Who does not migrate may delete this folder (docs/migrating.md). Outside of it only the operator's command and
// internal/function/adoption.go know the migration.
//
//	legacy.go       the messages that an array holds, and the entries that Throughline writes into one
//	legacy_value.go the roles, contents and times of an app's entries
//	stage.go        the stages of a migration, and when one may begin
//	service.go      the actions that go through the table, run.go, pace.go and forecast.go their parts
//	answer.go       what an operator asks and gets
//	adopt.go        the array of a dual session that the app has written to
package migration
