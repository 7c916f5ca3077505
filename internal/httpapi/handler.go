package httpapi

import (
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
)

// MessagesDeps are what the messages function serves from. All are needed.
type MessagesDeps struct {
	Base
	Sessions       conversation.SessionStore
	SessionRemover SessionRemover
	Messages       conversation.MessageStore
	MessageRemover MessageRemover
	Tokens         Counter
	// Cursors signs list cursors.
	Cursors CursorKey
}

// Messages returns the handler of the messages function: sessions, messages, the timeline. Its caller is who
// GatewayHandler found.
func Messages(d MessagesDeps) http.Handler {
	s := newServer(d.Base)
	s.cursors = d.Cursors
	registerMessages(s, d)
	return s.handler(nil)
}

func registerMessages(s *server, d MessagesDeps) {
	sessions{s, d.Sessions, d.SessionRemover}.register()
	messages{s, d.Messages, d.MessageRemover, d.Tokens}.register()
}

// PromptsDeps are what the prompt function serves from over HTTP. All are needed.
type PromptsDeps struct {
	Base
	Prompter Prompter
	// Cursors signs list cursors.
	Cursors CursorKey
}

// Prompts returns the handler of the prompt function's HTTP side. Its caller is who GatewayHandler found.
func Prompts(d PromptsDeps) http.Handler {
	s := newServer(d.Base)
	s.cursors = d.Cursors
	prompts{s, d.Prompter}.register()
	return s.handler(nil)
}

// CoachDeps are what the coach function serves from. All but Origins are needed.
type CoachDeps struct {
	Base
	Chat Chatter
	// Verifier checks tokens: a function URL has no authorizer.
	Verifier Verifier
	// Origins are the origins whose pages may call the function URL; "*" is all.
	Origins []string
}

// Coach returns the handler of the coach function: the streaming chat. It checks tokens itself.
func Coach(d CoachDeps) http.Handler {
	s := newServer(d.Base)
	chats{s, d.Chat}.register()
	check, origin := s.bearer(d.Verifier), cors(d.Origins)
	return s.handler(func(h http.Handler) http.Handler { return origin(check(h)) })
}
