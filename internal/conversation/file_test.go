package conversation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// A file stays in the app's own store: a message has its address or its name, and a text that stands for it.
func TestFileParts(t *testing.T) {
	t.Parallel()
	const address = "https://app.example/knee.png"
	for _, tt := range []struct {
		name  string
		part  conversation.Part
		want  string
		field string
	}{
		{
			name: "an image", part: conversation.Part{MediaType: "image/png", URL: address, Alt: "knee X-ray, left"},
			want: "look\n[image: knee X-ray, left]",
		},
		{
			name: "a name for a text", part: conversation.Part{MediaType: "text/csv", DataRef: "f1", Filename: "plan.csv"},
			want: "look\n[file: plan.csv]",
		},
		{name: "neither", part: conversation.Part{MediaType: "audio/ogg", DataRef: "f1"}, want: "look\n[audio: audio/ogg]"},
		{name: "bytes", part: conversation.Part{MediaType: "image/png", URL: "data:image/png;base64,iVBO"}, field: "url"},
		{name: "bytes as a name", part: conversation.Part{MediaType: "image/png", DataRef: "DATA:,x"}, field: "dataRef"},
		{name: "no place", part: conversation.Part{MediaType: "image/png"}, field: "url"},
		{name: "two places", part: conversation.Part{MediaType: "image/png", URL: address, DataRef: "f1"}, field: "url"},
		{name: "a script", part: conversation.Part{MediaType: "image/png", URL: "javascript:alert(1)"}, field: "url"},
		{name: "not by https", field: "url", part: conversation.Part{MediaType: "image/png", URL: "http" + address[5:]}},
		{name: "no media type", part: conversation.Part{URL: address}, field: "mediaType"},
		{name: "no such media type", part: conversation.Part{MediaType: "png", URL: address}, field: "mediaType"},
		{name: "a long text", field: "alt", part: conversation.Part{
			MediaType: "image/png", URL: address, Alt: strings.Repeat("a", 4097),
		}},
		{name: "a text part's field", field: "text", part: conversation.Part{
			MediaType: "image/png", URL: address, Text: "x",
		}},
	} {
		tt.part.Type = conversation.FilePart
		parts := []conversation.Part{{Type: conversation.TextPart, Text: "look"}, tt.part}
		m := conversation.NewMessage{Role: conversation.RoleUser, Parts: parts}
		done, err := conversation.Append{SessionID: "s", Messages: []conversation.NewMessage{m}}.Prepare(time.Now())
		if tt.field != "" {
			fields := fault.From(err).Fields
			if len(fields) != 1 || fields[0].Field != "messages[0].parts[1]."+tt.field {
				t.Errorf("%s: %v, want a problem of %s", tt.name, err, tt.field)
			}
			continue
		}
		if err != nil || done.Messages[0].Content != tt.want || !cmp.Equal(done.Messages[0].Parts, parts) {
			t.Errorf("%s: %q, %v, want %q", tt.name, done.Messages[0].Content, err, tt.want)
		}
	}
}
