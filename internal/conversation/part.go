package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// PartType is the kind of a part.
type PartType string

// The kinds of parts, as the frameworks of AI chats have them.
const (
	TextPart       PartType = "text"
	ToolCallPart   PartType = "tool-call"
	ToolResultPart PartType = "tool-result"
	ReasoningPart  PartType = "reasoning"
	DataPart       PartType = "data"
	FilePart       PartType = "file"
)

// PartTypes are all kinds of parts.
var PartTypes = []string{
	string(TextPart), string(ToolCallPart), string(ToolResultPart), string(ReasoningPart), string(DataPart),
	string(FilePart),
}

// Limits of the parts of a message. MaxContentBytes bounds its content and its parts together.
const (
	MaxParts         = 200
	MaxPartNameChars = 256
)

// Part is one part of a message: a text, a call of a tool, its result, reasoning, data of the app, or a file in the
// app's own store. Which fields it has depends on its type. Input, Output and Data are JSON values as they were sent,
// with the order of their names and the digits of their numbers.
type Part struct {
	Type       PartType        `json:"type" enum:"text,tool-call,tool-result,reasoning,data,file" doc:"What the part is."`
	Text       string          `json:"text,omitempty" doc:"Of a text or reasoning part."`
	ToolCallID string          `json:"toolCallId,omitempty" maxLength:"256" doc:"Of a tool-call or tool-result part."`
	ToolName   string          `json:"toolName,omitempty" maxLength:"256" doc:"Of a tool-call or tool-result part."`
	Input      json.RawMessage `json:"input,omitempty" doc:"Of a tool-call part: any JSON value, kept as it is sent."`
	Output     json.RawMessage `json:"output,omitempty" doc:"Of a tool-result part: any JSON value, kept as it is sent."`
	IsError    bool            `json:"isError,omitempty" doc:"Of a tool-result part: the tool failed."`
	Name       string          `json:"name,omitempty" maxLength:"256" doc:"Of a data part."`
	Data       json.RawMessage `json:"data,omitempty" doc:"Of a data part: any JSON value, kept as it is sent."`
	MediaType  string          `json:"mediaType,omitempty" maxLength:"256" doc:"Of a file part, as in image/png."`
	Filename   string          `json:"filename,omitempty" maxLength:"256" doc:"Of a file part."`
	URL        string          `json:"url,omitempty" maxLength:"4096" doc:"Of a file part: where the app keeps the bytes, by https. It or dataRef is needed."`
	DataRef    string          `json:"dataRef,omitempty" maxLength:"1024" doc:"Of a file part: the app's own name of the bytes."`
	Alt        string          `json:"alt,omitempty" maxLength:"4096" doc:"Of a file part: what it shows, which is indexed, summarised and told in prompts. Default: the filename."`
}

// problem says what is wrong with a part, with the name of its field; both are empty for a valid part.
func (p Part) problem() (field, message string) {
	has := map[string]bool{
		"text": p.Text != "", "toolCallId": p.ToolCallID != "", "toolName": p.ToolName != "", "input": p.Input != nil,
		"output": p.Output != nil, "isError": p.IsError, "name": p.Name != "", "data": p.Data != nil,
		"mediaType": p.MediaType != "", "filename": p.Filename != "", "url": p.URL != "", "dataRef": p.DataRef != "",
		"alt": p.Alt != "",
	}
	required, ok := map[PartType][]string{
		TextPart: {"text"}, ReasoningPart: {"text"}, DataPart: {"name", "data"},
		ToolCallPart: {"toolCallId", "toolName", "input"}, ToolResultPart: {"toolCallId", "toolName", "output"},
		FilePart: {"mediaType"},
	}[p.Type]
	if !ok {
		return "type", "must be one of " + strings.Join(PartTypes, ", ")
	}
	for _, name := range required {
		if !has[name] {
			return name, fmt.Sprintf("is required in a part of the type %s", p.Type)
		}
		delete(has, name)
	}
	for _, name := range optionalOf[p.Type] {
		delete(has, name)
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if has[name] {
			return name, fmt.Sprintf("is no field of a part of the type %s", p.Type)
		}
	}
	for name, value := range map[string]string{"toolCallId": p.ToolCallID, "toolName": p.ToolName, "name": p.Name} {
		if utf8.RuneCountInString(value) > MaxPartNameChars || !utf8.ValidString(value) {
			return name, fmt.Sprintf("must be at most %d characters of valid UTF-8", MaxPartNameChars)
		}
	}
	for name, value := range map[string]json.RawMessage{"input": p.Input, "output": p.Output, "data": p.Data} {
		if value != nil && (!json.Valid(value) || !utf8.Valid(value)) {
			return name, "must be a JSON value"
		}
	}
	if !utf8.ValidString(p.Text) {
		return "text", "must be valid UTF-8"
	}
	return p.fileProblem()
}

// optionalOf are the fields that a part of a type may have beside the required ones.
var optionalOf = map[PartType][]string{
	ToolResultPart: {"isError"}, FilePart: {"filename", "url", "dataRef", "alt"},
}

// preparedParts checks the parts of a message and returns them as they are stored, with JSON values without spaces
// between their tokens. The fields that it reports begin with field.
func preparedParts(wrong *fault.Problems, field string, parts []Part) []Part {
	if len(parts) > MaxParts {
		wrong.Add(field, fmt.Sprintf("must hold at most %d parts", MaxParts))
		return nil
	}
	out := slices.Clone(parts)
	for i, p := range parts {
		if name, message := p.problem(); name != "" {
			wrong.Add(fmt.Sprintf("%s[%d].%s", field, i, name), message)
			continue
		}
		out[i].Input, out[i].Output, out[i].Data = compact(p.Input), compact(p.Output), compact(p.Data)
	}
	return out
}

// compact returns a JSON value without the spaces between its tokens.
func compact(value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return value
	}
	return out.Bytes()
}

// TextOf joins the texts of the parts of a message, and what stands for its files. They are its content where it has
// none of its own.
func TextOf(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if p.Type == TextPart {
			texts = append(texts, p.Text)
		}
		if p.Type == FilePart {
			texts = append(texts, p.fileText())
		}
	}
	return strings.Join(texts, "\n")
}

// EncodeParts returns parts as one JSON text, and DecodeParts reads it. No parts are an empty text.
func EncodeParts(parts []Part) (string, error) {
	if len(parts) == 0 {
		return "", nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(parts); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// DecodeParts reads what EncodeParts wrote. It returns nil for another text.
func DecodeParts(text string) []Part {
	if text == "" {
		return nil
	}
	var parts []Part
	if json.Unmarshal([]byte(text), &parts) != nil {
		return nil
	}
	return parts
}

// EqualParts reports whether two messages have the same parts.
func EqualParts(a, b []Part) bool {
	left, err := EncodeParts(a)
	right, otherErr := EncodeParts(b)
	return err == nil && otherErr == nil && left == right
}
