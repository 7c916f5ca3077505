package httpapi_test

import (
	"net/url"
	"testing"
)

// TestMessageIDsOfEveryUser deletes messages whose ids have characters that need escapes in a path. API Gateway decodes
// a path once, so a client may have to escape the id twice.
func TestMessageIDsOfEveryUser(t *testing.T) {
	t.Parallel()
	for _, user := range []string{
		"ann", "a/b", "/", "a//b", "a/../b", "../..", "a%2Fb", "a%", "a b+c", "a?b", "a#b", "ü|x", "auth0|/messages/",
	} {
		t.Run(user, func(t *testing.T) {
			h, _, _ := newMessages(t)
			expect(t, h, 201,
				as(user, "POST", "/v1/sessions", object{"context": "coach_conversation", "coachId": "c1", "sessionId": "s1"}))
			for _, escape := range []func(string) string{
				url.PathEscape,
				func(id string) string { return url.PathEscape(url.PathEscape(id)) },
			} {
				appended := post(one(object{"content": "x"}))
				appended.user = user
				var out struct{ Messages []struct{ MessageID string } }
				expect(t, h, 201, appended).decode(t, &out)
				path := "/v1/sessions/s1/messages/" + escape(out.Messages[0].MessageID)
				expect(t, h, 204, as(user, "DELETE", path))
				expectProblem(t, h, 404, "not_found", "", as(user, "DELETE", path))
			}
		})
	}
}

// TestPathsAreUTF8 sends escapes that are no UTF-8, which gateways mend in different ways. Two of them could name one
// document.
func TestPathsAreUTF8(t *testing.T) {
	t.Parallel()
	h := newDocuments(t, newMemory(t, noon).documents)
	for _, name := range []string{"%C0%AE", "%C1%BF", "%FF", "a%ED%A0%80", "%EF%BF%BD"} {
		for _, path := range []string{"/v1/documents/n/" + name, "/v1/documents/" + name + "/k"} {
			for _, method := range []string{"GET", "PUT", "DELETE"} {
				c := as("ann", method, path)
				if method == "PUT" {
					c.body = object{"value": object{}}
				}
				expectProblem(t, h, 422, "invalid", "", c)
			}
		}
	}
	expect(t, h, 201, as("ann", "PUT", "/v1/documents/n%C3%A9/%F0%9F%99%82", object{"value": object{}}))
}
