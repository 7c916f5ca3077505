package adopt

import (
	"strconv"

	"github.com/throughline/throughline/internal/dynamo/table"
)

const (
	// migrationPK is the pk of the records about the migration of the table.
	migrationPK   = "migration"
	segmentPrefix = "segment#"
)

// stateKey is the key of the state of the migration.
func stateKey() table.Key { return table.NewKey(migrationPK, "state") }

// segmentKey is the key of what is known of a segment: one attribute for each action, with its run as JSON.
func segmentKey(n int) table.Key { return table.NewKey(migrationPK, segmentPrefix+strconv.Itoa(n)) }

// parkedKey is the key of the parked array of a session.
func parkedKey(session table.Key) table.Key { return session.Beside(table.ParkedPrefix + session.SK) }
