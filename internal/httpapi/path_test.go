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
