package dynamo

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
)

// PromptSource is what prompts are built from.
type PromptSource struct {
	*SessionReader
	*MessageStore
	*LongTermStore
	*HitStore
}

// NewPromptSource returns the stores that prompts are built from.
func NewPromptSource(db *DB) PromptSource {
	return PromptSource{NewSessionReader(db), NewMessageStore(db), NewLongTermStore(db), NewHitStore(db)}
}

// PromptStore keeps prompts that were built. It is safe for concurrent use.
type PromptStore struct{ db *DB }

// NewPromptStore returns the stored prompts of a DB.
func NewPromptStore(db *DB) *PromptStore { return &PromptStore{db} }

// maxPromptBytes leaves room for the other attributes in DynamoDB's 400 KB. A longer text is not stored.
const maxPromptBytes = 380 << 10

// SavePrompt stores a prompt on condition that the user's generation is still that of the prompt. Otherwise it
// returns a Conflict.
func (s *PromptStore) SavePrompt(ctx context.Context, user conversation.UserID, p prompt.StoredPrompt) error {
	const op = "save prompt"
	sk, ok := table.PromptSK(p.ID)
	if !ok {
		return table.Failed(op, table.ErrInvalidKey)
	}
	if len(p.Manifest)+len(p.Text) > maxPromptBytes {
		p.Text = nil
	}
	t := s.db.Transaction()
	t.Replace(table.Encode(p).With(table.UserKey(user, sk).Attributes()))
	t.Check(table.GenerationKey(user), table.IsGeneration(p.Generation))
	failures, err := s.db.Commit(ctx, op, t, s.db.Backoff())
	if err == nil && failures != nil {
		return fault.New(fault.Conflict, "the user was erased since the prompt was built")
	}
	return err
}

// StoredPrompt returns one prompt by its id.
func (s *PromptStore) StoredPrompt(ctx context.Context, user conversation.UserID, id string,
) (prompt.StoredPrompt, error) {
	sk, ok := table.PromptSK(id)
	if !ok {
		return prompt.StoredPrompt{}, fault.Missing("prompt")
	}
	k := table.UserKey(user, sk)
	it, err := s.db.readOne(ctx, "prompt", user, k)
	if err != nil {
		return prompt.StoredPrompt{}, err
	}
	p, ok := decodePrompt(it)
	if !ok {
		return prompt.StoredPrompt{}, fault.Missing("prompt")
	}
	return p, nil
}

// StoredPrompts lists prompts, newest first. With a sessionID it lists those of that session only.
func (s *PromptStore) StoredPrompts(ctx context.Context, user conversation.UserID, sessionID string,
	page conversation.Page,
) ([]prompt.StoredPrompt, conversation.Position, error) {
	isPrompt := func(sk string) bool {
		_, ok := table.ParsePromptSK(sk)
		return ok
	}
	after, err := table.StartAfter(user, page.After, table.PromptPrefix, table.AfterPrefix(table.PromptPrefix), isPrompt)
	if err != nil {
		return nil, "", err
	}
	q := table.Query{
		Where: table.WithPrefix(user, table.PromptPrefix), Descending: true, Page: page.Limit + 1,
		After: after,
	}
	records := s.db.Query(ctx, "list prompts", q)
	return collectCurrent(ctx, s.db, user, page.Limit, records, func(it table.Item) (prompt.StoredPrompt, bool) {
		p, ok := decodePrompt(it)
		return p, ok && (sessionID == "" || p.SessionID == sessionID)
	})
}

func decodePrompt(it table.Item) (prompt.StoredPrompt, bool) {
	id, ok := table.ParsePromptSK(it.String(table.AttrSK))
	p := table.Decode[prompt.StoredPrompt](it)
	p.ID = id
	return p, ok
}

// parallelTextDeletions bounds the prompts whose text is deleted at once.
const parallelTextDeletions = 8

// DeletePrompts deletes a session's prompts of a span of time, and the text of all other prompts of the span. A session
// that was created after the deletion is another one, even if its id is the same.
func (s *PromptStore) DeletePrompts(ctx context.Context, user conversation.UserID, span erasure.PromptSpan) error {
	const op = "delete prompts"
	later := table.PromptPrefix + conversation.FormatTime(span.DeletedAt.Add(time.Millisecond))
	own, err := s.keptBefore(ctx, user, later)
	if err != nil {
		return err
	}
	var others []table.Key
	where := table.Between(user, table.PromptPrefix+conversation.FormatTime(span.From),
		table.PromptPrefix+conversation.FormatTime(span.To))
	only := []string{table.AttrPK, table.AttrSK, table.AttrSessionID, table.AttrSessionCreatedAt}
	for it, err := range s.db.Query(ctx, op, table.Query{Where: where, Only: only}) {
		if err != nil {
			return err
		}
		k := table.KeyOf(it)
		isLater := span.Stays && k.SK >= later || table.SessionCreatedAt(it).After(span.DeletedAt)
		if it.String(table.AttrSessionID) == span.SessionID && !isLater {
			own = append(own, k)
		} else {
			others = append(others, k)
		}
	}
	hasText := table.Has(table.AttrText)
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(parallelTextDeletions)
	for _, k := range others {
		work.Go(func() error {
			_, err := s.db.UpdateItem(workCtx, k, table.Remove(table.AttrText), hasText)
			return table.IgnoreConditionFailed(err)
		})
	}
	return table.Failed(op, errors.Join(work.Wait(), s.db.DeleteAll(ctx, own)))
}

// keptBefore returns the keys of the prompts that are kept for turns, of those with a lower key as a stored prompt.
func (s *PromptStore) keptBefore(ctx context.Context, user conversation.UserID, sk string) ([]table.Key, error) {
	var keys []table.Key
	q := table.Query{
		Where: table.WithPrefix(user, table.KeptPrefix), Only: []string{table.AttrPK, table.AttrSK, table.AttrPromptID},
	}
	for it, err := range s.db.Query(ctx, "list kept prompts", q) {
		if err != nil {
			return nil, err
		}
		if built, ok := table.PromptSK(it.String(table.AttrPromptID)); ok && built < sk {
			keys = append(keys, table.KeyOf(it))
		}
	}
	return keys, nil
}
