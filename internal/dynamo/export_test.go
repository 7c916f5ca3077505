package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/migration"
)

// Names that the tests of keys and of the stream converter need.
var (
	SessionSK      = sessionSK
	ParseSessionSK = parseSessionSK
	SourceID       = sourceID
	ParseSourceID  = parseSourceID
	MessageSK      = messageSK
	ParseMessageSK = parseMessageSK
	MessageID      = messageID
	ParseMessageID = parseMessageID
	NewShortID     = newShortID
	PromptSK       = promptSK
	ParsePromptSK  = parsePromptSK
	SummarySK      = summarySK
	MessageBounds  = messageBounds
	KindOf         = kindOf
	ParseCursor    = parseMessageCursor
	FromStream     = fromStream
	DocumentsUnder = documentsUnder
	IsDocumentSK   = isDocumentSK
	DecodeName     = decodeName
	AfterAll       = afterAll
)

// DocumentSK returns the sort key of a document.
func DocumentSK(n document.Namespace, name string) string { return documentKey("", n, name).sk }

// MigrationState returns the state of the migration that requests use.
func (db *DB) MigrationState(ctx context.Context) (migration.State, error) {
	return db.migrationState(ctx)
}

// Move moves a session as the job does.
func (db *DB) Move(ctx context.Context, user conversation.UserID, id string, to conversation.Placement,
) (migration.Work, error) {
	m := &mover{db: db, user: user, id: id, byJob: true, backoff: db.backoff()}
	err := m.move(ctx, to)
	return m.work, err
}

// Position returns the cursor as the position of a page.
func (c messageCursor) Position() string { return string(c.position()) }
