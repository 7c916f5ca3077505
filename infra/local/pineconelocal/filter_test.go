package pineconelocal_test

import (
	"slices"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// library returns an index with one record for each kind of metadata.
func library(t *testing.T) *pinecone.IndexConnection {
	t.Helper()
	conn := connect(t, pineconelocal.Options{})
	for id, md := range map[string]map[string]any{
		"comedy":  {"genre": "comedy", "year": 2019, "seen": true},
		"drama":   {"genre": "drama", "year": 2020, "seen": false},
		"both":    {"genre": []any{"comedy", "drama"}, "year": 2021.5},
		"strings": {"year": "2020", "seen": "true"},
	} {
		v := dense(id, 1)
		v.Metadata = object(t, md)
		upsert(t, conn, v)
	}
	upsert(t, conn, dense("bare", 1))
	return conn
}

func TestFilterRefused(t *testing.T) {
	t.Parallel()
	const (
		scalarWanted  = ` operator must be followed by a string, boolean or a number, got `
		listWanted    = ` operator must be followed by a list of strings or a list of numbers, got `
		filtersWanted = ` operator must be followed by a non-empty list of filters, got `
	)
	conn := library(t)
	type m = map[string]any
	for name, tc := range map[string]struct {
		filter m
		want   string
	}{
		"unknown operator": {m{"a": m{"$regex": "x"}}, `$regex is no operator`},
		"null":             {m{"a": nil}, `illegal condition for field a, got null`},
		"$eq list":         {m{"a": m{"$eq": []any{"x"}}}, `the $eq` + scalarWanted + `["x"] instead`},
		"$gt string":       {m{"a": m{"$gt": "1"}}, `the $gt operator must be followed by a number, got "1" instead`},
		"$in mixed":        {m{"a": m{"$in": []any{"x", 1}}}, `the $in` + listWanted + `["x",1] instead`},
		"$or nothing":      {m{"$or": []any{}}, `the $or` + filtersWanted + `[] instead`},
		"too many values": {
			m{"a": m{"$in": slices.Repeat([]any{"x"}, 10_001)}},
			"the $in operator has 10001 values, which exceeds the limit of 10000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conn.QueryByVectorValues(t.Context(), &pinecone.QueryByVectorValuesRequest{
				Vector: []float32{1}, TopK: 10, MetadataFilter: object(t, tc.filter),
			})
			wantInvalid(t, err, tc.want)
		})
	}
}
