package evidence

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/client"
)

// Place is where a prompt is asked for: in which context, and in a new session or in the middle of a chat.
type Place struct {
	Context string
	// Chat is set if ten messages of a chat of today stand before the question.
	Chat bool
}

func (p Place) String() string {
	if p.Chat {
		return p.Context + ", in a chat"
	}
	return p.Context
}

// Places returns all places of an app's contexts.
func Places(contexts []string) (places []Place) {
	for _, c := range contexts {
		places = append(places, Place{Context: c}, Place{c, true})
	}
	return places
}

// chat is what is said before a question in the middle of a chat. It is about nothing that was said before.
var chat = []string{
	"Morning! I have half an hour before work. What should I do?", "Ten minutes of easy walking, then three rounds of " +
		"squats, push-ups and a plank. Stop while it still feels easy.",
	"How long should I hold the plank?", "Twenty seconds a round are enough on a working day. Breathe all the time.",
	"And the push-ups, on my knees?", "Yes, on the knees, eight of them. Keep the hips in line with the shoulders.",
	"Done! That was harder than I thought.", "Well done. Drink a glass of water, and take it easy for five minutes.",
	"Should I do the same tomorrow?", "Take a day between two of these, so that the shoulders rest. Walk tomorrow.",
}

// open opens a session of a place, and holds the chat in it.
func (p Place) open(ctx context.Context, api *client.Client, session string) error {
	if err := dataset.Open(ctx, api, p.Context, session); err != nil || !p.Chat {
		return err
	}
	messages := make([]map[string]any, len(chat))
	for i, text := range chat {
		messages[i] = map[string]any{"role": [...]string{"user", "assistant"}[i%2], "content": text}
	}
	err := api.Do(ctx, http.MethodPost, "/v1/sessions/"+session+"/messages", map[string]any{"messages": messages}, nil,
		client.Key(session+"-chat"))
	if err != nil {
		return fmt.Errorf("append the chat: %w", err)
	}
	return nil
}

// AddPrompts builds a prompt for every question at every place, and adds which share of the evidence is in it to what
// was found. Each place is asked at by itself: its sessions are deleted before the next place has some.
func (b *Bench) AddPrompts(ctx context.Context, places []Place, found []Found) error {
	for i := range found {
		found[i].Prompts = map[Place]PromptShares{}
	}
	for _, p := range places {
		session := fmt.Sprintf("bench-%d", time.Now().UnixNano())
		err := b.eachUser(ctx, func(api *client.Client) error { return p.open(ctx, api, session) })
		if err == nil {
			err = b.Each(ctx, atOnce, func(ctx context.Context, api *client.Client, i int) (err error) {
				found[i].Prompts[p], err = b.Cases[i].askAt(ctx, api, p, session)
				return err
			})
		}
		if err == nil {
			err = b.eachUser(ctx, func(api *client.Client) error {
				return api.Do(ctx, http.MethodDelete, "/v1/sessions/"+session, nil, nil)
			})
		}
		if err != nil {
			return fmt.Errorf("%v: %w", p, err)
		}
	}
	return nil
}

// eachUser calls a function with a client of each conversation's user.
func (b *Bench) eachUser(ctx context.Context, do func(api *client.Client) error) error {
	for _, c := range b.conversations() {
		api, err := b.api.As(ctx, c.ID)
		if err == nil {
			err = do(api)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askAt builds a prompt for the question in a session of a place, and returns which share of the evidence is in it.
func (c Case) askAt(ctx context.Context, api *client.Client, p Place, session string) (
	shares PromptShares, err error,
) {
	body := map[string]any{
		"context": p.Context, "coachId": dataset.Coach, "sessionId": session,
		"message": c.Question.Text, "budget": map[string]any{"tokens": cutoff.PromptTokens},
	}
	err = insist(ctx, "prompt", func() ([]degraded, error) {
		var answer struct {
			Manifest struct {
				Blocks   []block
				Degraded []degraded
			}
		}
		err := api.Do(ctx, http.MethodPost, "/v1/prompts", body, &answer)
		shares = c.sharesIn(answer.Manifest.Blocks)
		isProfile := func(d degraded) bool { return d.Source == "profile" } // these users have none
		return slices.DeleteFunc(answer.Manifest.Degraded, isProfile), err
	})
	return shares, err
}

// sharesIn returns the share of the evidence that is in a prompt, and the share that is in it whole.
func (c Case) sharesIn(blocks []block) (s PromptShares) {
	seen := map[string]string{}
	for _, block := range blocks {
		for _, item := range block.Items {
			if c.Evidence[item.ID] && item.Decision != "dropped" && seen[item.ID] != "included" {
				seen[item.ID] = item.Decision
			}
		}
	}
	for _, decision := range seen {
		s.In += 1 / float64(len(c.Evidence))
		if decision == "included" {
			s.Whole += 1 / float64(len(c.Evidence))
		}
	}
	return s
}

type block struct {
	Items []struct{ ID, Decision string }
}
