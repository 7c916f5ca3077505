package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/dataset"
)

// dataSet is a file of conversations.
type dataSet struct {
	name          string
	conversations []dataset.Conversation
}

// has reports whether a conversation is one of the set's.
func (s dataSet) has(c *dataset.Conversation) bool {
	return slices.ContainsFunc(s.conversations, func(other dataset.Conversation) bool { return other.ID == c.ID })
}

// readSets reads files, whose names have spaces between them. The ids of the conversations differ.
func readSets(paths string) ([]dataSet, error) {
	var sets []dataSet
	known := map[string]string{}
	for path := range strings.FieldsSeq(paths) {
		list, err := dataset.Read(path)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if other := known[c.ID]; other != "" {
				return nil, fmt.Errorf("%s and %s have a conversation %s: give one another id", other, path, c.ID)
			}
			known[c.ID] = path
		}
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		sets = append(sets, dataSet{name, list})
	}
	return sets, nil
}

// conversations returns those of all sets.
func conversations(sets []dataSet) (out []dataset.Conversation) {
	for _, s := range sets {
		out = append(out, s.conversations...)
	}
	return out
}
