package httpapi

import (
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// providerSchemas describes the schemas of the formats of providers, to which the prompt refers.
var providerSchemas = map[string]string{
	"ProviderAnthropic": "The call for Anthropic's Messages. " +
		"Spread it into messages.create beside model and max_tokens.",
	"ProviderCacheControl": "Asks for what ends here to be cached; absent elsewhere.",
	"ProviderChat":         "The call for OpenAI's Chat Completions. Spread it into chat.completions.create beside model.",
	"ProviderFunction":     "What the tool does.",
	"ProviderParts":        "The call for the AI SDK. Spread it into generateText or streamText beside model.",
	"ProviderResponses":    "The call for OpenAI's Responses. Spread it into responses.create beside model.",
}

// argumentSchemas has the property of each schema that is the JSON schema of a tool's arguments.
var argumentSchemas = map[string]string{
	"LlmTool": "parameters", "ProviderAnthropicTool": "input_schema", "ProviderFunction": "parameters",
	"ProviderResponseTool": "parameters", "ProviderToolInput": "json",
}

// describeProviders describes the formats of providers so that the types which are generated from them fit those of the
// providers' libraries: JSON schemas are objects, and a message or a block is one of some forms, told by its role or
// type.
func describeProviders(schemas map[string]*huma.Schema) {
	for name, text := range providerSchemas {
		schemas[name].Description = text
	}
	for name, property := range argumentSchemas {
		schemas[name].Properties[property] = &huma.Schema{
			Type: huma.TypeObject, Description: "The JSON schema of the tool's arguments.", AdditionalProperties: true,
			Properties: map[string]*huma.Schema{"type": {Type: huma.TypeString, Enum: []any{"object"}}},
			Required:   []string{"type"},
		}
	}
	text, block, part := oneText(), schemas["ProviderBlock"].Properties, schemas["ProviderPart"].Properties
	schemas["ProviderBlock"].OneOf = []*huma.Schema{
		form("type", "text", map[string]*huma.Schema{"text": text}),
		form("type", "image", map[string]*huma.Schema{"source": block["source"]}),
		form("type", "document", map[string]*huma.Schema{"source": block["source"]}),
	}
	schemas["ProviderPart"].OneOf = []*huma.Schema{
		form("type", "text", map[string]*huma.Schema{"text": text}),
		form("type", "file", map[string]*huma.Schema{"data": part["data"], "mediaType": part["mediaType"]}),
	}
	address := form("", "", map[string]*huma.Schema{"url": text})
	describeMessage(schemas["ProviderChatMessage"], "system",
		form("type", "text", map[string]*huma.Schema{"text": text}),
		form("type", "image_url", map[string]*huma.Schema{"image_url": address}))
	describeMessage(schemas["ProviderResponseMessage"], "developer",
		form("type", "input_text", map[string]*huma.Schema{"text": text}),
		form("type", "input_image", map[string]*huma.Schema{"image_url": text, "detail": oneText("auto")}),
		form("type", "input_file", map[string]*huma.Schema{"file_url": text}))
}

// describeMessage says that the user's content is a text or a list of parts, and that of others a text.
func describeMessage(message *huma.Schema, systemRole string, parts ...*huma.Schema) {
	text := oneText()
	list := &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{OneOf: parts}}
	message.OneOf = []*huma.Schema{
		form("role", systemRole, map[string]*huma.Schema{"content": text}),
		form("role", "assistant", map[string]*huma.Schema{"content": text}),
		form("role", "user", map[string]*huma.Schema{"content": {OneOf: []*huma.Schema{text, list}}}),
	}
}

// form returns the schema of an object whose property is a value. All properties are required.
func form(property, value string, properties map[string]*huma.Schema) *huma.Schema {
	if property != "" {
		properties[property] = oneText(value)
	}
	return &huma.Schema{
		Type: huma.TypeObject, Properties: properties, Required: slices.Sorted(maps.Keys(properties)),
	}
}

// oneText returns the schema of a text, which is one of values if there are any.
func oneText(values ...any) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Enum: values} }
