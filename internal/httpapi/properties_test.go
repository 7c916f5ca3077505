package httpapi

import (
	"strings"
	"testing"
)

// TestPropertiesAreDescribed checks that each property of the OpenAPI document has a description.
func TestPropertiesAreDescribed(t *testing.T) {
	t.Parallel()
	doc := openAPIDocument()
	for schema, s := range doc.Components.Schemas.Map() {
		for name, property := range s.Properties {
			if property.Ref == "" && strings.TrimSpace(property.Description) == "" {
				t.Errorf("%s.%s has no description: give its field a tag doc", schema, name)
			}
		}
	}
	if len(doc.Servers) == 0 {
		t.Error("the document names no server")
	}
}
