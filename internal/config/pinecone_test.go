package config_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/config"
)

func TestIndexesAndNamespaces(t *testing.T) {
	t.Parallel()
	parse := func(more map[string]string) (config.Config, error) {
		environ := map[string]string{"TABLE_NAME": "t"}
		maps.Copy(environ, more)
		return config.Parse(environ)
	}
	cfg, err := parse(map[string]string{
		"PINECONE_MORE_INDEXES": "b=https://b.pinecone.io, c=c.pinecone.io:443", "VECTOR_NAMESPACES": "64",
		"PINECONE_NEW_USERS_INDEX": "c", "PINECONE_INDEX_EMBEDDINGS": "b=text-embedding-3-large@3072, c=a/b@v1:c@8",
	})
	want := config.Pinecone{
		MoreIndexes: config.Indexes{"b": "https://b.pinecone.io", "c": "c.pinecone.io:443"}, NewUsersIndex: "c",
		Namespaces: 64, Embeddings: config.Embeddings{
			"b": {Model: "text-embedding-3-large", Dimensions: 3072}, "c": {Model: "a/b@v1:c", Dimensions: 8},
		},
	}
	if diff := cmp.Diff(want, cfg.Pinecone); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for _, none := range []map[string]string{nil, {"PINECONE_MORE_INDEXES": "", "VECTOR_NAMESPACES": "user"}} {
		if cfg, err = parse(none); err != nil || len(cfg.Pinecone.MoreIndexes) > 0 || cfg.Pinecone.Namespaces != 0 ||
			cfg.Pinecone.NewUsersIndex != config.FirstIndex {
			t.Errorf("%v: %+v, %v", none, cfg.Pinecone, err)
		}
	}
	for variable, values := range map[string][]string{
		"PINECONE_MORE_INDEXES": {"b", "=host", "b=", "first=host", "b=host,b=other", "b=host,", ","},
		"PINECONE_INDEX_EMBEDDINGS": {
			"b", "b=", "b=m", "b=@8", "b=m@", "b=m@0", "b=m@-1", "b=m@x", "=m@8", "first=m@8", "b=m@8,b=n@8", "b=m@8,",
		},
		"VECTOR_NAMESPACES": {"0", "-1", "users", "100001", "1.5"},
	} {
		for _, value := range values {
			_, err := parse(map[string]string{variable: value})
			if err == nil || !strings.HasPrefix(err.Error(), variable+"="+value+": must be ") {
				t.Errorf("%s=%s: %v", variable, value, err)
			}
		}
	}
}
