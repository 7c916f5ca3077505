package throughline_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	throughline "github.com/throughline/throughline/clients/go"
)

// TestTurnIsAlwaysEnded answers a turn, fails to, and panics.
func TestTurnIsAlwaysEnded(t *testing.T) {
	t.Parallel()
	var finished []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/finish") {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"turnId":"turn_1","userMessageId":"m","prompt":{}}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		finished = append(finished, string(body))
		_, _ = io.WriteString(w, `{"messageId":"a","session":{}}`)
	}))
	defer server.Close()
	client := throughline.New(throughline.Config{BaseURL: server.URL, Token: "t"})
	ask := throughline.TurnBody{SessionID: "s", Message: "x"}
	type answer = func(context.Context, *throughline.BegunTurn) (throughline.FinishBody, error)
	turn := func(a answer) (end *throughline.FinishedTurn, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = errors.New("panicked")
			}
		}()
		return client.Turn(t.Context(), ask, a)
	}
	end, err := turn(func(_ context.Context, b *throughline.BegunTurn) (throughline.FinishBody, error) {
		return throughline.FinishBody{Content: b.TurnID}, nil
	})
	if err != nil || end.MessageID != "a" {
		t.Errorf("%+v, %v", end, err)
	}
	noModel := errors.New("no model")
	if _, err := turn(func(context.Context, *throughline.BegunTurn) (throughline.FinishBody, error) {
		return throughline.FinishBody{}, noModel
	}); !errors.Is(err, noModel) {
		t.Error(err)
	}
	if _, err := turn(func(context.Context, *throughline.BegunTurn) (throughline.FinishBody, error) {
		panic("a defect")
	}); err == nil || err.Error() != "panicked" {
		t.Error(err)
	}
	want := []string{
		`{"content":"turn_1"}`, `{"error":"no model"}`, `{"error":"the app failed while it answered"}`,
	}
	if !slices.Equal(want, finished) {
		t.Errorf("finished with %v", finished)
	}
}
