package promptbench

import (
	"context"
	"errors"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// Settings say what is measured.
type Settings struct {
	// Lengths are the numbers of stored messages, ascending; each is at least 100.
	Lengths []int `json:"lengths"`
	// Repeats is how often a prompt is built for its p99 or its CPU time; for medians of waiting a fourth is enough.
	Repeats int `json:"repeats"`
	// Starts is how often each function is started, 0 for not at all.
	Starts int `json:"starts"`
	// Turns is how many turns of a chat are played, 0 for none.
	Turns   int       `json:"turns"`
	Latency Latencies `json:"latencies"`
}

func (s Settings) validate() error {
	if len(s.Lengths) == 0 || s.Repeats < 1 || s.Lengths[0] < recentMessages {
		return errors.New("there have to be a length of at least 100 messages, and a repeat")
	}
	return nil
}

func (s Settings) fewer() int { return (s.Repeats + 3) / 4 }

// Run measures on the DynamoDB engine at an endpoint, in a table that it makes and nothing else uses. It reports its
// progress in single lines.
func Run(ctx context.Context, endpoint, table string, s Settings, say func(string)) (o Result, err error) {
	if err := s.validate(); err != nil {
		return o, err
	}
	o = Result{Date: time.Now().UTC().Format(time.DateOnly), Machine: report.ThisMachine(), Settings: s}
	say("measuring the tokenizer")
	o.Tokenizer = tokenizer()
	if s.Starts > 0 {
		say("building and starting the functions")
		if o.Starts, err = starts(ctx, s.Starts); err != nil {
			return o, err
		}
	}
	if s.Turns > 0 {
		if o.Chat, err = chat(ctx, endpoint, table+"-chat", s.Turns, say); err != nil {
			return o, err
		}
	}
	services, err := open(ctx, endpoint, table, s.Latency)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, services.close()) }()
	if err := o.recipes(ctx, services, say); err != nil {
		return o, err
	}
	o.Growth, err = growth(ctx, services, s, say)
	return o, err
}

// recipes measures every recipe over a day of 120,000 characters.
func (o *Result) recipes(ctx context.Context, s *services, say func(string)) error {
	say("writing a day of 120,000 characters")
	day, err := s.stage(ctx, "day", day(), time.Now().UTC().Truncate(time.Minute))
	if err != nil {
		return err
	}
	for _, recipe := range prompt.Recipes {
		say("measuring " + recipe.Name)
		repeats := o.Settings.Repeats
		if recipe.Name != prompt.Unified {
			repeats = o.Settings.fewer()
		}
		wall, err := s.wall(ctx, day, recipe.Name, repeats)
		if err != nil {
			return err
		}
		effort, err := s.effort(ctx, day, recipe.Name, o.Settings.Repeats)
		if err != nil {
			return err
		}
		o.Walls, o.Efforts = append(o.Walls, wall), append(o.Efforts, effort)
	}
	return nil
}

// store is a store on an API, at the scene's time.
func (s *services) store(api dynamo.API, sc *scene) *dynamo.Store {
	return dynamo.New(api, s.table, dynamo.WithClock(sc.clock))
}

// search is the production's chain over a store and an index.
func (s *services) search(store *dynamo.Store, vectors recall.Index, sc *scene) *recall.Service {
	return recall.New(store, s.embedder, s.index(vectors), searchOptions(sc))
}

func searchOptions(sc *scene) recall.Options {
	return recall.Options{Now: sc.clock, EmbedTimeout: patience, IndexTimeout: patience}
}

// patience lets a busy machine be slow rather than a prompt be incomplete.
const patience = 10 * time.Second

// prompter is the production's service on its sources. It builds what is not kept, as in a chat, where the coach
// function keeps the manifest while the model generates.
func (s *services) prompter(store prompt.Store, search prompt.Searcher, sc *scene) *prompt.Service {
	return prompt.New(prompt.Deps{
		Store: store, Search: search, Counter: s.tokens, Now: sc.clock, NewID: func() string { return "bench" },
		Deadlines: prompt.Deadlines{Messages: patience, LongTerm: patience, Sessions: patience, Search: patience},
	})
}
