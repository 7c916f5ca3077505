package prompt

import (
	"context"

	"github.com/throughline/throughline/internal/longterm"
)

// A memory that was extracted tells what was said in some session, so it is told only where that session may be told of
// (api 3: crossContext, share). It names the messages that it was drawn from, and those their sessions.

// origin is the session that a message belongs to.
type origin struct{ sessionID, context string }

// maxOrigins bounds how many messages are looked up for one prompt. What lies behind it counts as unknown.
const maxOrigins = 200

// keepsApart reports whether the user lets some sessions know nothing of others.
func keepsApart(p longterm.Preferences) bool { return !p.CrossContext || len(p.Unshared) > 0 }

// readOrigins finds out where the messages behind extracted memories were said, in one read, for a user who keeps
// contexts apart; it costs others nothing. Where it fails, those memories are left out.
func (g *gathering) readOrigins(ctx context.Context) {
	if !keepsApart(g.got.access.Preferences) || !g.got.access.Preferences.Memory {
		return
	}
	g.got.origins = map[string]origin{}
	for _, m := range g.got.timeline {
		g.got.origins[m.ID] = origin{m.SessionID, m.Context}
	}
	ids := g.unknownOrigins()
	if len(ids) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, g.Deadlines.LongTerm)
	defer cancel()
	err := g.timed(sourceOrigins, func() error {
		hits, err := g.Store.Resolve(limited, g.user, g.got.access.Generation, ids)
		for _, h := range hits {
			if h.Message != nil {
				g.got.origins[h.Message.ID] = origin{h.Message.SessionID, h.Message.Context}
			}
		}
		return err
	})
	if err != nil {
		g.degrade(sourceOrigins, failure(err))
		g.Log.WarnContext(ctx, "prompt source missing", "source", sourceOrigins, "error", err.Error())
	}
}

// unknownOrigins are the messages behind extracted memories whose sessions are not known yet, those of the newest
// memories first, each once.
func (g *gathering) unknownOrigins() []string {
	var memories []longterm.Memory
	if g.got.snapshot != nil {
		memories = newestFirst(g.got.snapshot.Memories)
	}
	for _, h := range g.got.hits {
		if h.Memory != nil {
			memories = append(memories, *h.Memory)
		}
	}
	var ids []string
	asked := map[string]bool{}
	for _, m := range memories {
		for _, id := range m.MessageIDs {
			_, known := g.got.origins[id]
			if m.Source == longterm.Extracted && !known && !asked[id] && len(ids) < maxOrigins {
				asked[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// mayTell reports whether a memory may be told: it is valid, and the user allows it. What was extracted is told in a
// session that may know all the sessions it was drawn from; where the user keeps contexts apart, one whose origin is
// not known is told only where the user has pinned it.
func (v *view) mayTell(m longterm.Memory) bool {
	switch {
	case !m.Valid(v.now):
		return false
	case m.Source != longterm.Extracted:
		return true
	case !v.prefs.Memory:
		return false
	case !keepsApart(v.prefs), m.Pinned && len(m.MessageIDs) == 0: // pinning is the user's own act
		return true
	}
	for _, id := range m.MessageIDs {
		from, known := v.origins[id]
		if !known || !v.visible(from.sessionID, from.context) {
			return false
		}
	}
	return len(m.MessageIDs) > 0
}
