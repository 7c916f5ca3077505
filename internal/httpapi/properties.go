package httpapi

import (
	"cmp"
	_ "embed" // the descriptions
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed properties.txt
var propertyText string

// propertyDescriptions maps a property, by its name or by Schema.name, or a schema to its description.
func propertyDescriptions() map[string]string {
	described := map[string]string{}
	for line := range strings.Lines(propertyText) {
		if name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			described[name] = text
		}
	}
	return described
}

// describeProperties describes the schemas and properties for which the code does not. A reference has the description
// of its schema.
func describeProperties(doc *huma.OpenAPI) {
	described := propertyDescriptions()
	for schema, s := range doc.Components.Schemas.Map() {
		s.Description = cmp.Or(s.Description, described[schema])
		for name, property := range s.Properties {
			if property.Description != "" || property.Ref != "" {
				continue
			}
			if text, ok := described[schema+"."+name]; ok {
				property.Description = text
			} else {
				property.Description = described[name]
			}
		}
	}
}
