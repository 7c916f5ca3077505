package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
)

var (
	_ prompt.Store   = (*Store)(nil)
	_ prompt.Archive = (*Store)(nil)
)

// maxKeptBytes leaves room for the other attributes within DynamoDB's 400 KB; a text beyond it is not kept.
const maxKeptBytes = 380 << 10

// SavePrompt stores a prompt on condition that the user's generation is still the prompt's; a Conflict says that it is not.
func (s *Store) SavePrompt(ctx context.Context, user conversation.UserID, k prompt.StoredPrompt) error {
	const op = "keep prompt"
	sk, ok := promptSK(k.ID)
	if !ok {
		return failed(op, errBadKey)
	}
	it := key{partition(user), sk}.attributes()
	it.setText(attrSessionID, k.SessionID)
	it[attrRecipe] = text(k.Recipe)
	it[attrCreatedAt] = moment(k.CreatedAt)
	it[attrGeneration] = whole(k.Generation)
	it.setBytes(attrManifest, k.Manifest)
	if len(k.Manifest)+len(k.Text) <= maxKeptBytes {
		it.setBytes(attrText, k.Text)
	}
	it[TTLAttribute] = whole(k.ExpiresAt.Unix())
	t := s.transaction()
	t.set(it)
	t.check(generationKey(user), isGeneration(k.Generation))
	refused, err := s.commit(ctx, op, t, s.patience())
	if err == nil && refused != nil {
		return fault.New(fault.Conflict, "the user was erased since the prompt was built")
	}
	return err
}

// StoredPrompt returns one prompt by its id.
func (s *Store) StoredPrompt(ctx context.Context, user conversation.UserID, id string) (prompt.StoredPrompt, error) {
	sk, ok := promptSK(id)
	if !ok {
		return prompt.StoredPrompt{}, fault.Missing("prompt")
	}
	k := key{partition(user), sk}
	f, err := s.readOf(ctx, "read prompt", user, k)
	if err != nil {
		return prompt.StoredPrompt{}, err
	}
	it, _ := f.of(user, k)
	kept, ok := decodeKept(it)
	if !ok {
		return prompt.StoredPrompt{}, fault.Missing("prompt")
	}
	return kept, nil
}

// StoredPrompts lists prompts, newest first.
func (s *Store) StoredPrompts(ctx context.Context, user conversation.UserID, sessionID string, page conversation.Page) ([]prompt.StoredPrompt, conversation.Position, error) {
	after, err := startBehind(user, page.After, promptPrefix, afterPrefix(promptPrefix), func(sk string) bool {
		_, ok := promptIDIn(sk)
		return ok
	})
	if err != nil {
		return nil, "", err
	}
	q := query{where: beginning(user, promptPrefix), descending: true, page: page.Limit + 1, after: after}
	return collectPresent(ctx, s, user, page.Limit, s.query(ctx, "list prompts", q), func(it item) (prompt.StoredPrompt, bool) {
		k, ok := decodeKept(it)
		return k, ok && (sessionID == "" || k.SessionID == sessionID)
	})
}

// forgettings bounds the prompts whose text is deleted at once.
const forgettings = 8

// ForgetPrompts deletes a session's prompts, and the text of the other prompts of that span.
func (s *Store) ForgetPrompts(ctx context.Context, user conversation.UserID, sessionID string, from, to time.Time) error {
	const op = "forget prompts"
	var own, others []key
	where := within(user, promptPrefix+conversation.FormatTime(from), promptPrefix+conversation.FormatTime(to))
	for it, err := range s.query(ctx, op, query{where: where, only: []string{attrPK, attrSK, attrSessionID}}) {
		if err != nil {
			return err
		}
		if it.text(attrSessionID) == sessionID {
			own = append(own, keyIn(it))
		} else {
			others = append(others, keyIn(it))
		}
	}
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(forgettings)
	for _, k := range others {
		work.Go(func() error {
			_, err := s.updateItem(workCtx, k, expression.Remove(field(attrText)), expression.AttributeExists(field(attrText)))
			if _, none := conditionFailed(err); none {
				return nil
			}
			return err
		})
	}
	return failed(op, errors.Join(work.Wait(), s.deleteAll(ctx, own)))
}

func decodeKept(it item) (prompt.StoredPrompt, bool) {
	id, ok := promptIDIn(it.text(attrSK))
	return prompt.StoredPrompt{
		ID: id, SessionID: it.text(attrSessionID), Recipe: it.text(attrRecipe), CreatedAt: it.time(attrCreatedAt),
		ExpiresAt:  time.Unix(it.whole(TTLAttribute), 0).UTC(),
		Generation: it.whole(attrGeneration), Manifest: it.bytes(attrManifest), Text: it.bytes(attrText),
	}, ok
}
