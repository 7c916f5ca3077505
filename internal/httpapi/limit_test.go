package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sharedBound is in the description of a list whose items have no bound but that of the content, which counts for both.
const sharedBound = "together with the content"

// TestEveryFieldHasALimit walks the schemas of all request bodies. A limit in bytes cannot be in a schema, so it
// has to be in the description.
func TestEveryFieldHasALimit(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	d := serveDocument(t, h)
	seen := 0
	for path, operations := range d.Paths {
		for method, op := range operations {
			if op.RequestBody != nil {
				seen++
				for _, at := range d.unlimited(op.RequestBody.Content["application/json"].Schema, method+" "+path) {
					t.Errorf("%s has no limit", at)
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("the document has %d bodies", seen)
	}
}

// unlimited returns the parts of a schema without a size limit.
func (d document) unlimited(s schema, at string) []string {
	if s.Ref != "" {
		described := s.Description
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		s.Description = described + s.Description
	}
	var found []string
	switch {
	case strings.Contains(s.Description, sharedBound):
	case strings.Contains(s.Description, "KiB") && !slices.Contains(s.Type, "array"):
	case slices.Contains(s.Type, "string"):
		if s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time" {
			found = append(found, at)
		}
	case slices.Contains(s.Type, "integer"), slices.Contains(s.Type, "number"):
		if s.Minimum == nil || s.Maximum == nil {
			found = append(found, at)
		}
	case slices.Contains(s.Type, "array"):
		if s.MaxItems == nil {
			found = append(found, at)
		}
		found = append(found, d.unlimited(*s.Items, at+"[]")...)
	case slices.Contains(s.Type, "object"):
		for name, property := range s.Properties {
			found = append(found, d.unlimited(property, at+"."+name)...)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.schema != nil {
			found = append(found, d.unlimited(*s.AdditionalProperties.schema, at+".*")...)
		} else if s.AdditionalProperties != nil && s.AdditionalProperties.allowed {
			found = append(found, at)
		}
	}
	return found
}

// wide returns a text with so many characters of four bytes.
func wide(characters int) string { return strings.Repeat("😀", characters) }

// list returns a list of n equal texts.
func list(n int, item string) []any { return slices.Repeat([]any{item}, n) }

// TestLargestRecordsAreStored stores the largest records that the API accepts in a real DynamoDB, which has a limit for
// items. A larger record has to be refused with the names of the fields.
func TestLargestRecordsAreStored(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, noon).erasable())
	newSession(t, h, "s1")
	attributes := object{}
	for i := range 127 {
		attributes[fmt.Sprintf("%03d", i)] = strings.Repeat("x", 500)
	}
	memory := object{
		"type": "PROFILE", "content": wide(8000), "messageIds": list(8, wide(512)), "supersededBy": wide(1024),
		"confidence": 1e-100,
	}
	remarks := list(6, wide(4000))
	remarks = append(remarks, strings.Repeat("x", 2304))
	for _, test := range []struct {
		method, path string
		status       int
		body         object
		fields       string
		larger       object
	}{
		{
			"PUT", "profile", 200,
			object{"name": wide(500), "email": wide(500), "about": wide(16000)},
			"about email name",
			object{"name": wide(501), "email": wide(501), "about": wide(16001)},
		},
		{"PUT", "seed", 200, object{"content": wide(16000)}, "content", object{"content": wide(16001)}},
		{
			"PUT", "user-summary", 200,
			object{"patterns": remarks, "wins": remarks, "struggles": list(200, wide(122))},
			"wins[0]",
			object{"wins": list(1, strings.Repeat("x", 420_000))},
		},
		{"PUT", "user-summary", 200, object{"wins": list(200, "x")}, "wins", object{"wins": list(201, "x")}},
		{
			"PUT", "user-summary", 200,
			object{"wins": list(24, strings.Repeat("x", 4000))},
			"patterns wins struggles",
			object{
				"patterns": append(remarks, "x"), "wins": list(200, wide(200)), "struggles": list(25, strings.Repeat("x", 4000)),
			},
		},
		{
			"PUT", "user-summary", 200,
			object{},
			"patterns[0] struggles[0] wins[0]",
			object{"patterns": list(1, wide(4001)), "wins": list(1, wide(4001)), "struggles": list(1, wide(4001))},
		},
		{
			"PUT", "coaches/c1", 200,
			object{"name": wide(500), "persona": wide(32000), "model": wide(200)},
			"model name persona",
			object{"name": wide(501), "persona": wide(32001), "model": wide(201)},
		},
		{
			"POST", "goals", 201,
			object{"title": wide(1000), "goalType": "habit"},
			"title",
			object{"title": wide(1001), "goalType": "habit"},
		},
		{"POST", "check-ins", 201, object{"note": wide(16000)}, "note", object{"note": wide(16001)}},
		{
			"POST", "memories", 201, memory,
			"content messageIds[99] supersededBy",
			object{
				"type": "PROFILE", "content": wide(8001), "messageIds": append(list(99, "m"), strings.Repeat("x", 450_000)),
				"supersededBy": wide(1025),
			},
		},
		{
			"PATCH", "memories/{id}", 200, memory,
			"content messageIds supersededBy",
			object{"content": wide(8001), "messageIds": list(101, "m"), "supersededBy": wide(1025)},
		},
		{
			"POST", "memories", 201,
			object{"type": "PROFILE", "content": "x", "messageIds": list(100, "m")},
			"messageIds",
			object{"type": "PROFILE", "content": "x", "messageIds": append(list(8, wide(512)), "m")},
		},
		{
			"PATCH", "memories/{id}", 200,
			object{"messageIds": list(100, strings.Repeat("m", 163))},
			"messageIds",
			object{"messageIds": list(100, strings.Repeat("m", 164))},
		},
		{
			"PATCH", "memories/{id}", 200,
			object{"messageIds": []any{}},
			"messageIds[0]",
			object{"messageIds": list(1, wide(513))},
		},
		{
			"POST", "todos", 201,
			object{"content": wide(4000), "coachId": strings.Repeat("x", 128)},
			"coachId content",
			object{"content": wide(4001), "coachId": strings.Repeat("x", 129)},
		},
		{
			"POST", "sessions", 201,
			object{"context": "workout_log", "coachId": "c", "title": wide(256), "mode": wide(32), "attributes": attributes},
			"mode title",
			object{"context": "workout_log", "coachId": "c", "title": wide(1025), "mode": wide(129)},
		},
		{
			"PATCH", "sessions/s1", 200,
			object{"title": wide(256), "mode": wide(32), "attributes": attributes},
			"attributes",
			object{"attributes": object{"more": strings.Repeat("x", 2000)}},
		},
		{
			"POST", "sessions/s1/messages", 201,
			object{"messages": slices.Repeat([]any{object{
				"role": "user", "content": wide(5000), "mode": wide(32), "agentId": wide(32), "metadata": object{"x": wide(8000)},
			}}, 50)},
			"messages[0].content",
			object{"messages": []any{object{"role": "user", "content": wide(65537)}}},
		},
		{
			"POST", "sessions/s1/messages", 201,
			object{"messages": []any{object{"role": "user", "content": wide(65536), "metadata": object{"x": wide(8000)}}}},
			"messages[0].metadata",
			object{"messages": []any{object{"role": "user", "content": "x", "metadata": object{"x": wide(8200)}}}},
		},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			c := as("ann", test.method, "/v1/"+test.path, test.body)
			if test.method == "PATCH" && strings.HasPrefix(test.path, "memories") {
				made := answer(t, h, 201,
					as("ann", "POST", "/v1/memories", object{"type": "PROFILE", "content": "x"}))
				c.path = fmt.Sprint("/v1/memories/", made["id"])
			}
			r := send(t, h, c)
			if r.status != test.status {
				t.Errorf("the largest: %d %.300s, want %d", r.status, r.body, test.status)
			}
			c.body = test.larger
			expectProblem(t, h, 422, "invalid", test.fields, c)
		})
	}
}
