package config_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestIndexesAndNamespaces(t *testing.T) {
	t.Parallel()
	parse := func(more map[string]string) (config.Config, error) {
		environ := map[string]string{"TABLE_NAME": "t"}
		maps.Copy(environ, more)
		return config.Parse(environ)
	}
	cfg, err := parse(map[string]string{
		"PINECONE_NEXT_INDEX": "b.pinecone.io:443,a/b@v1:c@3072,8", "VECTOR_NAMESPACES": "64", "PINECONE_SERVE_NEXT": "true",
	})
	want := config.Pinecone{Namespaces: 64, ServeNext: true, Next: config.Index{
		Host: "b.pinecone.io:443", Embedding: config.Embedding{Model: "a/b@v1:c", Dimensions: 3072}, Namespaces: 8,
	}}
	if diff := cmp.Diff(want, cfg.Pinecone); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	check.Equal(t, "b.pinecone.io:443,a/b@v1:c@3072,8", cfg.Pinecone.Next.String(), "the next index is written as")
	for _, none := range []map[string]string{nil, {"PINECONE_NEXT_INDEX": "", "VECTOR_NAMESPACES": "user"}} {
		if cfg, err = parse(none); err != nil || cfg.Pinecone != (config.Pinecone{}) {
			t.Errorf("%v: %+v, %v", none, cfg.Pinecone, err)
		}
	}
	for variable, values := range map[string][]string{
		"PINECONE_NEXT_INDEX": {
			"b", "b,m@8", ",m@8,user", "b,@8,user", "b,m@,user", "b,m@0,user", "b,m@x,user", "b,m@8,", "b,m@8,0", "b,m@8,user,c",
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
