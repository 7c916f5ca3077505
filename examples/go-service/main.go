// Command go-service is the backend of an app with two screens, a coach and a program designer. Both have one memory.
//
//	POST /say/coach  {"message": "What should I do tomorrow?"}    the answer, as it comes
//	GET  /history/coach                                           what was said there
//
// The header User says who is signed in. Here your app checks its own session. Throughline is at THROUGHLINE, its chat
// at THROUGHLINE_STREAM where that is another address, as on AWS.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	throughline "github.com/throughline/throughline/clients/go"
)

// contexts are the screens of the app, by the names of their sessions.
var contexts = map[string]string{"coach": "coach_conversation", "designer": "program_designer"}

func main() {
	base := cmp.Or(os.Getenv("THROUGHLINE"), "http://localhost:8080")
	memory := throughline.New(throughline.Config{
		BaseURL: base, StreamURL: os.Getenv("THROUGHLINE_STREAM"), TokenSource: credential(base),
	})
	service := &http.Server{
		Addr: cmp.Or(os.Getenv("ADDR"), "127.0.0.1:3000"), Handler: newHandler(memory), ReadHeaderTimeout: 10 * time.Second,
	}
	log.Fatal(service.ListenAndServe())
}

// credential returns what gets the server's credential. It is the local stack's; on AWS it comes from your issuer, by
// client credentials. The client keeps it until it is about to expire.
func credential(base string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		body := strings.NewReader(`{"server":true}`)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/dev/tokens", body)
		if err != nil {
			return "", err
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		var got struct{ Token string }
		err = json.NewDecoder(answer.Body).Decode(&got)
		return got.Token, err
	}
}

// service answers the app's pages.
type service struct{ memory *throughline.Client }

func newHandler(memory *throughline.Client) http.Handler {
	s := service{memory}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /say/{screen}", s.say)
	mux.HandleFunc("GET /history/{screen}", s.history)
	return mux
}

// of returns the memory of the user who asks, or nil after it has answered that the user or the screen is unknown.
func (s service) of(w http.ResponseWriter, r *http.Request) *throughline.Client {
	user := r.Header.Get("User")
	if user == "" {
		http.Error(w, "sign in", http.StatusUnauthorized)
		return nil
	}
	if contexts[r.PathValue("screen")] == "" {
		http.NotFound(w, r)
		return nil
	}
	return s.memory.As(user)
}

// say streams the answer to a message. The header Idempotency-Key names the turn: a page that asks again with the same
// key gets the same answer.
func (s service) say(w http.ResponseWriter, r *http.Request) {
	memory, screen := s.of(w, r), r.PathValue("screen")
	if memory == nil {
		return
	}
	var said struct{ Message string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&said); err != nil {
		http.Error(w, "the body is no message", http.StatusBadRequest)
		return
	}
	session := throughline.NamedSession{Context: contexts[screen], CoachID: "kim"}
	if _, err := memory.GetOrCreateSession(r.Context(), screen, session); err != nil {
		fail(w, err)
		return
	}
	var options []throughline.Option
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		options = append(options, throughline.IdempotencyKey(key))
	}
	begun, flush := false, http.NewResponseController(w).Flush
	asked := throughline.ChatBody{SessionID: screen, Message: said.Message}
	for event, err := range memory.Chat(r.Context(), asked, options...) {
		switch {
		case err != nil && begun:
			panic(http.ErrAbortHandler) // The page sees that the answer is not whole.
		case err != nil:
			fail(w, err)
			return
		case event.Token != nil:
			begun = true
			fmt.Fprint(w, event.Token.Text)
			_ = flush()
		}
	}
}

// history lists what was said on a screen, a line for each message.
func (s service) history(w http.ResponseWriter, r *http.Request) {
	memory := s.of(w, r)
	if memory == nil {
		return
	}
	screen := r.PathValue("screen")
	for message, err := range memory.ListMessages(r.Context(), screen, throughline.ListMessagesQuery{}).All() {
		if err != nil {
			fail(w, err)
			return
		}
		fmt.Fprintf(w, "%s: %s\n", message.Role, message.Content)
	}
}

// fail answers with the status of a problem, and its words, which are made for people.
func fail(w http.ResponseWriter, err error) {
	var problem *throughline.ProblemError
	if errors.As(err, &problem) {
		http.Error(w, problem.Detail, problem.Status)
		return
	}
	log.Print(err)
	http.Error(w, "the memory does not answer", http.StatusBadGateway)
}
