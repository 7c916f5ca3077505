package capacity

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is the part of a table that charges depend on: its global secondary indexes.
type Table struct {
	Name string
	// Indexes holds the indexes by name.
	Indexes map[string]Index
}

// Index is a global secondary index.
type Index struct {
	// Key names the index's own hash attribute and, where there is one, its range attribute.
	Key []string
	// All is set when every attribute is projected.
	All bool
	// Projected are the attributes that every entry can have, keys included, unless All is set.
	Projected map[string]bool
}

// TableOf reads a table's indexes from the request that creates it.
func TableOf(in *dynamodb.CreateTableInput) Table {
	t := Table{Name: aws.ToString(in.TableName), Indexes: map[string]Index{}}
	for _, g := range in.GlobalSecondaryIndexes {
		i := Index{Key: keyOf(g.KeySchema), Projected: map[string]bool{}}
		for _, name := range slices.Concat(i.Key, keyOf(in.KeySchema)) {
			i.Projected[name] = true
		}
		if p := g.Projection; p != nil {
			i.All = p.ProjectionType == types.ProjectionTypeAll
			for _, name := range p.NonKeyAttributes {
				i.Projected[name] = true
			}
		}
		t.Indexes[aws.ToString(g.IndexName)] = i
	}
	return t
}

func keyOf(schema []types.KeySchemaElement) []string {
	var names []string
	for _, e := range schema {
		names = append(names, aws.ToString(e.AttributeName))
	}
	return names
}

// Entry returns the index's entry for an item: its projected attributes, or nil if the item lacks a key of the index.
func (i Index) Entry(it Item) Item {
	for _, name := range i.Key {
		if it[name] == nil {
			return nil
		}
	}
	if i.All {
		return it
	}
	entry := Item{}
	for name := range i.Projected {
		if v, ok := it[name]; ok {
			entry[name] = v
		}
	}
	return entry
}
