package summary

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// dayRules are added where the session is of several days.
const dayRules = `
- day: in the same way as the summary, what the last day of the messages came to on its own, at most 250 characters.
  Where the day so far is given, stand for all of the day. Say nothing that was said on other days.`

// ratingRules are added where the record type has a rating.
const ratingRules = `
- confidence: from 0 to 1, how sure you are that the summary has what matters of the conversation.
- hasGoals: true if the user has named a goal. hasProgress: true if they have told of progress towards one.
- hasEmotionalState: true if they have said how they feel.
- These are about the whole conversation, the summary so far included.`

// fieldRules are added where the model writes fields, with a line for each.
const fieldRules = `
- fields: what the conversation says of each of the following, in its language, in at most 200 characters. null where
  the new messages say nothing of it.`

// The limits of a field that the model writes: in characters, and in tokens of its answer.
const (
	maxFieldChars = 200
	fieldTokens   = 80
)

// question returns the system text of the one model call, and the form of its answer. The model writes the properties
// in the order of the form, the summary first.
func question(of registry.Summary, isOfOneDay bool) (system string, form llm.Schema) {
	system = rules
	properties := []property{{"summary", aText}, {"tags", `{"type":"array","items":` + aText + `}`}}
	if !isOfOneDay {
		system += dayRules
		properties = append(properties, property{"day", aText})
	}
	if of.Rated {
		system += ratingRules
		properties = append(properties, property{"confidence", `{"type":"number"}`}, property{"hasGoals", aFlag},
			property{"hasProgress", aFlag}, property{"hasEmotionalState", aFlag})
	}
	if written := of.Written(); len(written) > 0 {
		system += fieldRules
		var fields []property
		for _, f := range written {
			system += fmt.Sprintf("\n  - fields.%s: %s", f.Name, f.Means)
			fields = append(fields, property{f.Name, `{"type":["string","null"]}`})
		}
		properties = append(properties, property{"fields", strictObject(fields)})
	}
	return system, llm.Schema{Name: "session_summary", JSON: json.RawMessage(strictObject(properties))}
}

// property is a property of a JSON schema's object. Its name needs no escapes.
type property struct{ name, schema string }

// The schemas of simple values.
const (
	aText = `{"type":"string"}`
	aFlag = `{"type":"boolean"}`
)

// strictObject is the schema of an object that has all of its properties and no others.
func strictObject(properties []property) string {
	described, names := make([]string, len(properties)), make([]string, len(properties))
	for i, p := range properties {
		names[i] = `"` + p.name + `"`
		described[i] = names[i] + ":" + p.schema
	}
	return `{"type":"object","properties":{` + strings.Join(described, ",") + `},"required":[` +
		strings.Join(names, ",") + `],"additionalProperties":false}`
}

// writtenFields are the values of a model's answer that say something, of the fields that it is to write.
func writtenFields(of registry.Summary, given map[string]*string) map[string]any {
	out := map[string]any{}
	for _, f := range of.Written() {
		if value := given[f.Name]; value != nil {
			if text := truncate.Prose(untrusted.OneLine(*value), maxFieldChars); strings.TrimSpace(text) != "" {
				out[f.Name] = text
			}
		}
	}
	return out
}
