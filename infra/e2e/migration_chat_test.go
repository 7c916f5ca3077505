package e2e_test

import (
	"net/http"
	"testing"
)

// TestChatsBeforeTheMove chats and takes a turn in sessions whose messages are in the app's own records. Each prompt
// has the message that it answers.
func TestChatsBeforeTheMove(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"embedded", "dual"} {
		o := newOutage(t, "INITIAL_STAGE="+stage, "TABLE_NAME="+t.Name()+"-"+stage)
		for _, text := range []string{"I swim on Fridays.", "And I run on Mondays."} {
			if a := o.chat(text); a.Last != "done" {
				t.Errorf("%s: the answer to %q ends in %s %s", stage, text, a.Last, a.Problem)
			}
		}
		var turn struct{ TurnID string }
		do(t, o.ann, http.MethodPost, "/v1/turns", object{"sessionId": "s", "message": "Which days?"}, &turn)
		do(t, o.ann, http.MethodPost, "/v1/turns/"+turn.TurnID+"/finish", object{"content": "Two."}, nil)
		var got struct{ Items []struct{ Content string } }
		do(t, o.ann, http.MethodGet, "/v1/sessions/s/messages?order=desc", nil, &got)
		if len(got.Items) < 6 || got.Items[0].Content != "Two." {
			t.Errorf("%s: %+v", stage, got.Items)
		}
	}
}
