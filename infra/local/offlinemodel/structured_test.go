package offlinemodel_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/testing/check"
)

// askFor requests JSON of a schema and checks that the answer is allowed by it.
func askFor(t *testing.T, client *openai.Client, name, schema, input string) string {
	t.Helper()
	return askInFormat(t, client, name, schema, strings.Contains(schema, `"additionalProperties":false`), input)
}

func askInFormat(t *testing.T, client *openai.Client, name, schema string, strict bool, input string) string {
	t.Helper()
	response := complete(t, client, openai.ChatCompletionRequest{
		Model:    "gpt-5-mini",
		Messages: []openai.ChatCompletionMessage{says("system", "Answer in JSON."), says("user", input)},
		ResponseFormat: &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: name, Schema: json.RawMessage(schema), Strict: strict,
			},
		},
	})
	text := response.Choices[0].Message.Content
	checkAgainst(t, schema, text)
	return text
}

const summarySchema = `{"type":"object","properties":{
"summary":{"type":"string"},"topics":{"type":"array","items":{"type":"string"}},"mood":{"type":["string","null"]}},
"required":["summary","topics","mood"],"additionalProperties":false}`

func summarize(t *testing.T, client *openai.Client, previous, messages string) string {
	t.Helper()
	text := askFor(t, client, "session_summary", summarySchema,
		"Previous summary:\n"+previous+"\n\nNew messages:\n"+messages)
	var got struct{ Summary string }
	check.OK(t, json.Unmarshal([]byte(text), &got))
	return got.Summary
}

const extractionSchema = `{"type":"object","properties":{
"facts":{"type":"array","items":{"type":"object","properties":{
"type":{"type":"string","enum":["PROFILE","PEOPLE","PROJECT","MANNER"]},"content":{"type":"string"},
"confidence":{"type":"number"},"messageIds":{"type":"array","items":{"type":"string"}},
"supersedes":{"type":"array","items":{"type":"string"}},"repeats":{"type":["string","null"]}},
"required":["type","content","confidence","messageIds","supersedes","repeats"],"additionalProperties":false}},
"openLoops":{"type":"array","items":{"type":"object","properties":{
"content":{"type":"string"},"due":{"type":"string"},"messageIds":{"type":"array","items":{"type":"string"}}},
"required":["content","due","messageIds"],"additionalProperties":false}},
"closedLoops":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"}},
"required":["id"],"additionalProperties":false}}},
"required":["facts","openLoops","closedLoops"],"additionalProperties":false}`

type extracted struct {
	Facts []struct {
		Type, Content string
		Confidence    float64
		MessageIDs    []string
		Repeats       *string
		Supersedes    []string
	}
	OpenLoops   []struct{ Content, Due string }
	ClosedLoops []struct{ ID string }
}

func extract(t *testing.T, client *openai.Client, input string) extracted {
	t.Helper()
	var got extracted
	check.OK(t, json.Unmarshal([]byte(askFor(t, client, "memory_extraction", extractionSchema, input)), &got))
	return got
}

func TestExtraction(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	tests := []struct {
		says   string
		facts  []string // "TYPE content"
		opened []string // "content, due"
	}{
		{"I'm allergic to latex.", []string{"PROFILE The user is allergic to latex."}, nil},
		{"My name is Rui.", []string{"PROFILE The user's name is Rui."}, nil},
		{
			"I want to swap hip thrusts for bridges, I only have bands at home",
			[]string{"PROFILE The user only has bands at home."},
			nil,
		},
		{"I moved to Braga last week!", []string{"PROFILE The user moved to Braga last week."}, nil},
		{"My left knee hurts since Sunday.", []string{"PROFILE The user's left knee hurts since Sunday."}, nil},
		{"My wife Ana is a nurse.", []string{"PEOPLE The user's wife Ana is a nurse."}, nil},
		{"I'm training for the Lisbon marathon.", []string{"PROJECT The user is training for the Lisbon marathon."}, nil},
		{"I’ll book the physio for Monday.", nil, []string{"Book the physio for Monday, "}},
		{"I will fly to Faro on 2026-12-01.", nil, []string{"Fly to Faro on 2026-12-01, 2026-12-01"}},
		{"Remind me to buy running shoes", nil, []string{"Buy running shoes, "}},
		{"I had a heart attack last year.", []string{"PROFILE The user had a heart attack last year."}, nil},
		{"I had a stroke in 2019.", []string{"PROFILE The user had a stroke in 2019."}, nil},
		{"I had a stroke of luck.", nil, nil},
		{"Ich nehme Blutverdünner.", []string{"PROFILE Der Nutzer nimmt Blutverdünner."}, nil},
		{"Tuve un infarto el año pasado.", []string{"PROFILE El usuario tuvo un infarto el año pasado."}, nil},
		{"I'm a bit tired today.", nil, nil},
		{"It was my mother.", nil, nil},
		{
			"Please always use kilograms when I ask about weights.",
			[]string{"MANNER The user said: “Please always use kilograms when I ask about weights”."},
			nil,
		},
		{"Nunca menciones a mi ex", []string{"MANNER The user said: “Nunca menciones a mi ex”."}, nil},
		{"Never mind.", nil, nil},
		{"I'll try.", nil, nil},
		{"I have a bad feeling about this.", nil, nil},
		{"Should I say that I'm allergic to nuts?", nil, nil},
		{"Thanks, that was great!", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			got := extract(t, client, "Messages:\n[msg_u1_1770_ab] user: "+tt.says)
			var facts, opened []string
			for _, f := range got.Facts {
				facts = append(facts, f.Type+" "+f.Content)
				if f.Confidence < 0.6 || !slices.Equal(f.MessageIDs, []string{"msg_u1_1770_ab"}) {
					t.Errorf("confidence %v, from %q", f.Confidence, f.MessageIDs)
				}
			}
			for _, o := range got.OpenLoops {
				opened = append(opened, o.Content+", "+o.Due)
			}
			if diff := cmp.Diff(tt.facts, facts) + cmp.Diff(tt.opened, opened); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExtractionReadsUsersOnly(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	got := extract(t, client, "Messages:\nassistant: I'm allergic to latex. I'll book the physio.\nsystem: My name "+
		"is Rui.\nuser: ok")
	if len(got.Facts)+len(got.OpenLoops)+len(got.ClosedLoops) > 0 {
		t.Errorf("extracted %+v", got)
	}
}

func TestExtractionComparesWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	const known = "Known memories:\n- [mem_1] The user lives in Porto\n- [mem_2] The user is allergic to shellfish\n" +
		"- [mem_3] The user's brother lives in Boston\n\n" +
		"Open loops:\n- [todo_9] Book the physio for Monday\n\nMessages:\n[m7] user: "
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	for says, want := range map[string][2]string{ // supersedes, repeats
		"I moved to Braga.":                   {"mem_1", ""},
		"I live in Porto, as you know.":       {"", "mem_1"},
		"I'm allergic to peanuts.":            {"", ""},
		"My brother lives in Chicago.":        {"mem_3", ""},
		"My sister Eva lives in Lisbon.":      {"", ""},
		"I'm allergic to shellfish, you see.": {"", "mem_2"},
	} {
		got := extract(t, client, known+says)
		if len(got.Facts) != 1 {
			t.Errorf("%q: %d facts, want 1", says, len(got.Facts))
			continue
		}
		check.Equal(t, want, [2]string{strings.Join(got.Facts[0].Supersedes, " "), text(got.Facts[0].Repeats)},
			"%q: supersedes and repeats", says)
	}
	if got := extract(t, client, known+"I booked the physio!"); len(got.ClosedLoops) != 1 ||
		got.ClosedLoops[0].ID != "todo_9" {
		t.Errorf("closed %+v, want todo_9", got.ClosedLoops)
	}
	if got := extract(t, client, known+"I bought a new tent."); len(got.ClosedLoops) != 0 {
		t.Errorf("closed %+v, want nothing", got.ClosedLoops)
	}
}

func TestSummaryOfDetails(t *testing.T) {
	client, _ := newClient(t)
	input := "RECORDED DETAILS:\n- discipline: crossfit\n- pr achievements: exercise Thruster, weight 43\n" +
		"- note: user: hi\n"
	text := askFor(t, client, "session_summary", `{"type":"object","properties":{"summary":{"type":"string"}}}`, input)
	want := `{"summary":"The app recorded: discipline: crossfit; pr achievements: exercise Thruster, weight 43; ` +
		`note: user: hi."}`
	if text != want {
		t.Errorf("%s, want %s", text, want)
	}
}
