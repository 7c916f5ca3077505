package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// AppStore keeps the files of the app's registry, each under its version (registry.App). A file never changes, so that
// functions of an earlier deployment read theirs as long as they run.
type AppStore struct{ db *DB }

// NewAppStore returns the store of a DB.
func NewAppStore(db *DB) *AppStore { return &AppStore{db} }

const (
	appPK       = "app"
	attrAppFile = "file"
)

func appKey(version string) table.Key { return table.NewKey(appPK, "registry#"+version) }

// Put stores a file under its version. To store it again changes nothing.
func (s *AppStore) Put(ctx context.Context, version, file string) error {
	const op = "store the app's registry"
	return s.db.UpdateWhere(ctx, op, appKey(version), table.Set(attrAppFile, file), table.Lacks(attrAppFile))
}

// File returns the file of a version. Without one it returns a NotFound error.
func (s *AppStore) File(ctx context.Context, version string) (string, error) {
	records, err := s.db.Read(ctx, "read the app's registry", appKey(version))
	if err != nil {
		return "", err
	}
	file := records[appKey(version)].String(attrAppFile)
	if file == "" {
		return "", fault.New(fault.NotFound, "the table has no registry of the version "+version)
	}
	return file, nil
}
