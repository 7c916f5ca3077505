package offlinemodel_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// checkAgainst fails the test unless the JSON text is allowed by the schema.
func checkAgainst(t *testing.T, schemaText, text string) {
	t.Helper()
	schema, value := &jsonschema.Schema{}, any(nil)
	if err := errors.Join(json.Unmarshal([]byte(schemaText), schema), json.Unmarshal([]byte(text), &value)); err != nil {
		t.Fatalf("not JSON: %v: %s", err, text)
	}
	valid, err := schema.Resolve(nil)
	if err == nil {
		err = valid.Validate(value)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
