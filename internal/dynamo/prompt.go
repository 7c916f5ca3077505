package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/gather"
)

// PromptSource is what prompts are built from.
type PromptSource struct {
	*SessionReader
	*MessageStore
	*LongTermStore
	*HitStore
}

var _ gather.Store = PromptSource{}

// NewPromptSource returns the stores that prompts are built from.
func NewPromptSource(db *DB) PromptSource {
	return PromptSource{NewSessionReader(db), NewMessageStore(db), NewLongTermStore(db), NewHitStore(db)}
}

// PromptStore keeps prompts that were built. It is safe for concurrent use.
type PromptStore struct{ db *DB }

var (
	_ prompt.Archive      = (*PromptStore)(nil)
	_ erasure.PromptStore = (*PromptStore)(nil)
)

// NewPromptStore returns the stored prompts of a DB.
func NewPromptStore(db *DB) *PromptStore { return &PromptStore{db} }

// maxPromptBytes leaves room for the other attributes in DynamoDB's 400 KB. A longer text is not stored.
const maxPromptBytes = 380 << 10

// SavePrompt stores a prompt on condition that the user's generation is still that of the prompt. Otherwise it
// returns a Conflict.
func (s *PromptStore) SavePrompt(ctx context.Context, user conversation.UserID, p prompt.StoredPrompt) error {
	const op = "save prompt"
	sk, ok := promptSK(p.ID)
	if !ok {
		return failed(op, errInvalidKey)
	}
	it := key{partition(user), sk}.attributes()
	it.setString(attrSessionID, p.SessionID)
	it[attrSessionCreatedAt] = intAttr(p.SessionCreatedAt.UnixMilli())
	it[attrRecipe] = stringAttr(p.Recipe)
	it[attrCreatedAt] = timeAttr(p.CreatedAt)
	it[attrGeneration] = intAttr(p.Generation)
	it.setBytes(attrManifest, p.Manifest)
	if len(p.Manifest)+len(p.Text) <= maxPromptBytes {
		it.setBytes(attrText, p.Text)
	}
	it[TTLAttribute] = intAttr(p.ExpiresAt.Unix())
	t := s.db.transaction()
	t.replace(it)
	t.check(generationKey(user), isGeneration(p.Generation))
	failures, err := s.db.commit(ctx, op, t, s.db.backoff())
	if err == nil && failures != nil {
		return fault.New(fault.Conflict, "the user was erased since the prompt was built")
	}
	return err
}

// StoredPrompt returns one prompt by its id.
func (s *PromptStore) StoredPrompt(ctx context.Context, user conversation.UserID, id string,
) (prompt.StoredPrompt, error) {
	sk, ok := promptSK(id)
	if !ok {
		return prompt.StoredPrompt{}, fault.Missing("prompt")
	}
	k := key{partition(user), sk}
	records, err := s.db.readCurrent(ctx, "read prompt", user, k)
	if err != nil {
		return prompt.StoredPrompt{}, err
	}
	it, _ := records.current(user, k)
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
		_, ok := parsePromptSK(sk)
		return ok
	}
	after, err := startAfter(user, page.After, promptPrefix, afterPrefix(promptPrefix), isPrompt)
	if err != nil {
		return nil, "", err
	}
	q := query{where: withPrefix(user, promptPrefix), descending: true, page: page.Limit + 1, after: after}
	records := s.db.query(ctx, "list prompts", q)
	return collectCurrent(ctx, s.db, user, page.Limit, records, func(it item) (prompt.StoredPrompt, bool) {
		p, ok := decodePrompt(it)
		return p, ok && (sessionID == "" || p.SessionID == sessionID)
	})
}

func decodePrompt(it item) (prompt.StoredPrompt, bool) {
	id, ok := parsePromptSK(it.string(attrSK))
	return prompt.StoredPrompt{
		ID: id, SessionID: it.string(attrSessionID), SessionCreatedAt: sessionCreatedAt(it),
		Recipe: it.string(attrRecipe), CreatedAt: it.time(attrCreatedAt),
		ExpiresAt:  time.Unix(it.int64(TTLAttribute), 0).UTC(),
		Generation: it.int64(attrGeneration), Manifest: it.bytes(attrManifest), Text: it.bytes(attrText),
	}, ok
}

// parallelTextDeletions bounds the prompts whose text is deleted at once.
const parallelTextDeletions = 8

// DeletePrompts deletes a session's prompts of a span of time, and the text of all other prompts of the span. A session
// that was created after the deletion is another one, even if its id is the same.
func (s *PromptStore) DeletePrompts(ctx context.Context, user conversation.UserID, span erasure.PromptSpan) error {
	const op = "delete prompts"
	var own, others []key
	where := between(user, promptPrefix+conversation.FormatTime(span.From), promptPrefix+conversation.FormatTime(span.To))
	only := []string{attrPK, attrSK, attrSessionID, attrSessionCreatedAt}
	for it, err := range s.db.query(ctx, op, query{where: where, only: only}) {
		if err != nil {
			return err
		}
		if it.string(attrSessionID) == span.SessionID && !sessionCreatedAt(it).After(span.DeletedAt) {
			own = append(own, keyOf(it))
		} else {
			others = append(others, keyOf(it))
		}
	}
	hasText := expression.AttributeExists(field(attrText))
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(parallelTextDeletions)
	for _, k := range others {
		work.Go(func() error {
			_, err := s.db.updateItem(workCtx, k, expression.Remove(field(attrText)), hasText)
			return ignoreConditionFailed(err)
		})
	}
	return failed(op, errors.Join(work.Wait(), s.db.deleteAll(ctx, own)))
}
