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
	LongTerm       LongTerm
	Eraser         Eraser
	Tokens         Counter
	// Cursors signs list cursors.
	Cursors CursorKey
}

// Messages returns the handler of the messages function: sessions, messages, the timeline, long-term
// records, preferences, erasing. Its caller is who
// GatewayHandler found.
func Messages(d MessagesDeps) http.Handler {
	s := newServer(d.Base)
	s.cursors = d.Cursors
	registerMessages(s, d)
	s.registerPages()
	return s.handler(nil)
}

func registerMessages(s *server, d MessagesDeps) {
	sessions{s, d.Sessions, d.SessionRemover}.register()
	messages{s, d.Messages, d.MessageRemover, d.Tokens}.register()
	d.LongTerm.register(s, d.Tokens)
	users{s, d.Eraser}.register()
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

// ContextDeps are what the context function serves from over HTTP. All are needed.
type ContextDeps struct {
	Base
	Recaller Recaller
}

// Context returns the handler of the context function's HTTP side: the query of summaries and the recall of messages.
// Its caller is who GatewayHandler found.
func Context(d ContextDeps) http.Handler {
	s := newServer(d.Base)
	contexts{s, d.Recaller}.register()
	return s.handler(nil)
}

// CoachDeps are what the coach function serves from. All but Origins are needed.
type CoachDeps struct {
	Base
	Chat   Chatter
	Export ExportDeps
	// Verifier checks tokens: a function URL has no authorizer.
	Verifier Verifier
	// Origins are the origins whose pages may call the function URL; "*" is all.
	Origins []string
}

// Coach returns the handler of the coach function: the streaming chat and the export. It checks tokens
// itself.
func Coach(d CoachDeps) http.Handler {
	s := newServer(d.Base)
	registerCoach(s, d)
	check, origin := s.bearer(d.Verifier), cors(d.Origins)
	return s.handler(func(h http.Handler) http.Handler { return origin(check(h)) })
}

func registerCoach(s *server, d CoachDeps) {
	chats{s, d.Chat}.register()
	exports{s, d.Export}.register()
}
