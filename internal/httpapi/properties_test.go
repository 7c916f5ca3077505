package httpapi

import (
	"strings"
	"testing"
)

// TestPropertiesAreDescribed checks that each property of the OpenAPI document has a description, and that each line of
// properties.txt describes one.
func TestPropertiesAreDescribed(t *testing.T) {
	t.Parallel()
	unused := propertyDescriptions()
	doc := openAPIDocument()
	for schema, s := range doc.Components.Schemas.Map() {
		if s.Description == unused[schema] {
			delete(unused, schema)
		}
		for name, property := range s.Properties {
			if property.Ref == "" && strings.TrimSpace(property.Description) == "" {
				t.Errorf("%s.%s has no description: add a line to properties.txt", schema, name)
			}
			for _, key := range []string{name, schema + "." + name} {
				if unused[key] == property.Description {
					delete(unused, key)
				}
			}
		}
	}
	for key := range unused {
		t.Errorf("properties.txt describes %s, which describes nothing", key)
	}
	if len(doc.Servers) == 0 {
		t.Error("the document names no server")
	}
}
