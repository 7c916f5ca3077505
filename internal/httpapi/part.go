package httpapi

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
)

// jsonValue is a JSON value of the app's own, as it was sent.
type jsonValue json.RawMessage

// MarshalJSON and UnmarshalJSON keep the text of the value.
func (v jsonValue) MarshalJSON() ([]byte, error) { return json.RawMessage(v).MarshalJSON() }

// UnmarshalJSON keeps a null, too, which is a value.
func (v *jsonValue) UnmarshalJSON(text []byte) error {
	return (*json.RawMessage)(v).UnmarshalJSON(text)
}

// Schema accepts any value.
func (jsonValue) Schema(r huma.Registry) *huma.Schema {
	r.Schema(reflect.TypeFor[object](), true, "")
	return &huma.Schema{Ref: "#/components/schemas/Value"}
}

// part is a part of a message. Which fields it has depends on its type, and the domain checks that.
type part struct {
	Type       string    `json:"type" enum:"text,tool-call,tool-result,reasoning,data"`
	Text       string    `json:"text,omitempty" doc:"Of a text or reasoning part."`
	ToolCallID string    `json:"toolCallId,omitempty" maxLength:"256" doc:"Of a tool-call or tool-result part."`
	ToolName   string    `json:"toolName,omitempty" maxLength:"256" doc:"Of a tool-call or tool-result part."`
	Input      jsonValue `json:"input,omitempty" doc:"Of a tool-call part: any JSON value, kept as it is sent."`
	Output     jsonValue `json:"output,omitempty" doc:"Of a tool-result part: any JSON value, kept as it is sent."`
	IsError    bool      `json:"isError,omitempty" doc:"Of a tool-result part: the tool failed."`
	Name       string    `json:"name,omitempty" maxLength:"256" doc:"Of a data part."`
	Data       jsonValue `json:"data,omitempty" doc:"Of a data part: any JSON value, kept as it is sent."`
}

func toParts(parts []conversation.Part) []part {
	var out []part
	for _, p := range parts {
		out = append(out, part{
			Type: string(p.Type), Text: p.Text, ToolCallID: p.ToolCallID, ToolName: p.ToolName, Input: jsonValue(p.Input),
			Output: jsonValue(p.Output), IsError: p.IsError, Name: p.Name, Data: jsonValue(p.Data),
		})
	}
	return out
}

func fromParts(parts []part) []conversation.Part {
	var out []conversation.Part
	for _, p := range parts {
		out = append(out, conversation.Part{
			Type: conversation.PartType(p.Type), Text: p.Text, ToolCallID: p.ToolCallID, ToolName: p.ToolName,
			Input: json.RawMessage(p.Input), Output: json.RawMessage(p.Output), IsError: p.IsError, Name: p.Name,
			Data: json.RawMessage(p.Data),
		})
	}
	return out
}
