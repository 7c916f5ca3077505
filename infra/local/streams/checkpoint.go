package streams

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
)

// checkpoint stores the sequence number up to which each shard is handled. A file of another stream is ignored: a new
// table of the same name has a new stream.
type checkpoint struct {
	path      string
	StreamARN string            `json:"streamArn"`
	Sequences map[string]string `json:"sequences"`
}

func (c *checkpoint) load() error {
	if c.path == "" {
		return nil
	}
	raw, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var found checkpoint
	if err == nil {
		err = json.Unmarshal(raw, &found)
	}
	if err != nil {
		return fmt.Errorf("read checkpoint %s: %w", c.path, err)
	}
	if found.StreamARN == c.StreamARN {
		c.Sequences = found.Sequences
	}
	return nil
}

// save writes the sequence numbers by shard, when they changed. It renames a new file into place, so that a crash
// leaves the old one.
func (c *checkpoint) save(sequences map[string]string) error {
	if c.path == "" || maps.Equal(sequences, c.Sequences) {
		return nil
	}
	next := checkpoint{c.path, c.StreamARN, sequences}
	raw, err := json.Marshal(next)
	if err == nil {
		err = os.WriteFile(c.path+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(c.path+".new", c.path)
	}
	if err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	*c = next
	return nil
}
