package streams

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
)

// checkpoint keeps, per shard, the last record before which everything is handled. It belongs to one stream: a new
// table under the same name has another stream, and begins at its beginning.
type checkpoint struct {
	path string
	kept checkpointFile
}

type checkpointFile struct {
	StreamARN string            `json:"streamArn"`
	Sequences map[string]string `json:"sequences"`
}

func newCheckpoint(opts Options) *checkpoint {
	return &checkpoint{path: opts.CheckpointFile, kept: checkpointFile{StreamARN: opts.StreamARN}}
}

func (c *checkpoint) load() error {
	if c.path == "" {
		return nil
	}
	raw, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	var found checkpointFile
	if err := json.Unmarshal(raw, &found); err != nil {
		return fmt.Errorf("read checkpoint %s: %w", c.path, err)
	}
	if found.StreamARN == c.kept.StreamARN {
		c.kept = found
	}
	return nil
}

func (c *checkpoint) sequence(shard string) string { return c.kept.Sequences[shard] }

func (c *checkpoint) clear() { c.kept.Sequences = nil }

// save writes the positions when they changed, through a rename: a crash leaves the old ones.
func (c *checkpoint) save(positions map[string]string) error {
	if c.path == "" || maps.Equal(positions, c.kept.Sequences) {
		return nil
	}
	next := checkpointFile{StreamARN: c.kept.StreamARN, Sequences: positions}
	raw, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode checkpoint: %w", err)
	}
	if err := os.WriteFile(c.path+".new", raw, 0o644); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	if err := os.Rename(c.path+".new", c.path); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	c.kept = next
	return nil
}
