// Package adopt serves the sessions whose messages are in arrays of an app's own records, until they have moved to the
// shared store (docs/adr/0023). It is all that the store knows of such records: without this package, and the line that
// adds it where functions are built, every session is one of the shared store (docs/adr/0059).
//
//	Adopter         what the stores ask about an adopted session, and about the stage of the migration
//	Array           what a session carries of its array, and how its record is laid out
//	ArrivalMover    moves sessions that the app still writes into its records in the last stage
//	StageStore      the state of the migration
//	MigrationStore  the table as the job of the migration works on it
//
// An [Adopter] is added to a DB by one of the options [WithLegacy], [WithInitialStage] and [WithTokens].
package adopt
