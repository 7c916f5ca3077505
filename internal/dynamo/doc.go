// Package dynamo stores everything in one DynamoDB table. It implements the store interfaces of the domain packages.
//
// Package table has the keys, the records and the calls with their retries. A [DB] is that table with what all stores
// share: settings, a cache of sessions, and the [Adoption] of an app's own records, which package adopt implements.
// There is one small store for each responsibility:
//
//	SessionStore     create, read, list and change sessions; read a user's access rights
//	MessageStore     append and read messages, by session and by time
//	TurnStore        chat turns: a question, the lease on it, and its answer
//	CoachStore       coaches
//	SingletonStore   profile, seed, user summary and preferences, one of each for a user
//	CollectionStore  goals, check-ins, memories and todos, many of each for a user
//	LongTermStore    everything of long-term memory that a prompt needs, in one query
//	SummaryStore     session summaries
//	SpineStore       the spine of each coach
//	UserSummaryStore what the app has stored of a user, with the remarks of the spines
//	ExtractionStore  what is extracted from messages
//	DocumentStore    the app's documents
//	DueStore         the records that the sweep has to look at
//	HitStore         the records of vector ids
//	PromptStore      prompts that were built
//	DeletionStore    delete messages and sessions
//	TombstoneStore   what is left to do after a deletion
//	ErasureStore     erase users
//	LedgerStore      the ledger of erasures, in a table of its own
//	HeldStore        what is stored of a user and is in no other list
//	QuotaStore       the tokens that a user spends in a day
//	RequestCounter   the requests of a user in a minute
//	ExportLimit      the exports of a user that run at once
//	AppStore         the files of the app's registry
//
// Services that need several stores get a type that embeds them: [PromptSource], [RecallSource],
// [IndexingSource], [SummarySource].
package dynamo
