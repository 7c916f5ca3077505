package extraction_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/paced"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

// badAnswers are the answers of no use.
var badAnswers = []llm.Completion{
	{Text: "I can't help with that.", Refused: true},
	{Text: emptyAnswer, FinishReason: llm.FinishFilter},
	{Text: `{"facts":[{"type":"PRO`, FinishReason: llm.FinishLength},
	{Text: "```json\n" + emptyAnswer + "\n```"},
	{Text: `{}`},
	{Text: `{"facts":[],"ended":[],"openLoops":{},"closedLoops":[]}`},
	{Text: ""},
}

// poisoned is an echo that gives a bad answer where a line has one of the contents, and no answer at the calls of an
// outage.
type poisoned struct {
	*echo
	bad     map[string]llm.Completion
	outages []int
	// ill is the answer to everything, if it is set.
	ill *llm.Completion
	// worker is the one service that reads.
	worker *extraction.Service
}

func (p *poisoned) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	out, err := p.echo.Complete(ctx, r)
	if slices.Contains(p.outages, p.calls) {
		return llm.Completion{}, fault.New(fault.Unavailable, "overloaded")
	}
	if p.ill != nil {
		return *p.ill, nil
	}
	for content, bad := range p.bad {
		if strings.Contains(r.Messages[1].Content+"\n", " user: "+content+"\n") {
			return bad, nil
		}
	}
	return out, err
}

// read calls Extract until the session is read, as the sweep does whatever fails.
func (p *poisoned) read(t fatal, id string) {
	for range 500 {
		session, err := p.stores.Sessions.Session(context.Background(), p.user, id)
		if err != nil {
			t.Fatalf("read the session: %v", err)
		}
		if !session.NeedsExtraction() {
			return
		}
		_, _ = p.worker.Extract(context.Background(), p.user, appContext, id)
	}
	t.Fatalf("the session is never read to its end")
}

// readOther has the model read another session well.
func (p *poisoned) readOther(t *testing.T) {
	t.Helper()
	p.say(t, "other", "hello")
	p.read(t, "other")
	p.calls, p.counts = 0, extraction.Counts{}
}

type fatal interface{ Fatalf(string, ...any) }

func newPoisoned(t testing.TB, user conversation.UserID) *poisoned {
	t.Helper()
	p := &poisoned{echo: &echo{fixture: newFixture(t, user)}, bad: map[string]llm.Completion{}}
	p.model = p
	p.worker = p.service()
	return p
}

// facts are n different facts.
func facts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("fact %02d", i)
	}
	return texts
}

// skipped returns the ids of the messages that a session says were skipped.
func skipped(s conversation.Session) (ids []string) {
	for _, m := range s.Reading.Skipped {
		ids = append(ids, m.MessageID)
	}
	return ids
}

// TestBadAnswers reads sessions with any messages that the model gives bad answers to, and any outages, while it reads
// other sessions well. Every other
// message is read once, each of those is skipped after four bad answers and at most nine calls, and an outage does not
// count.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		p := newPoisoned(t, conversation.UserID(fmt.Sprint("u", n)))
		p.readOther(t)
		texts := facts(rapid.IntRange(1, 26).Draw(r, "messages"))
		messages := p.say(t, "a", texts...)
		var wantValid, wantSkipped []string
		for i, text := range texts {
			if rapid.IntRange(0, 5).Draw(r, "bad") > 0 {
				wantValid = append(wantValid, text)
				continue
			}
			p.bad[text] = rapid.SampledFrom(badAnswers).Draw(r, "answer")
			wantSkipped = append(wantSkipped, messages[i].ID)
		}
		p.outages = rapid.SliceOfN(rapid.IntRange(1, 20), 0, 4).Draw(r, "outages")
		p.read(r, "a")
		if diff := cmp.Diff(wantValid, p.valid(t)); diff != "" {
			r.Fatalf("valid memories (-want +got):\n%s", diff)
		}
		session := p.session(t, "a")
		if diff := cmp.Diff(wantSkipped, skipped(session)); diff != "" || session.Reading.Tries != 0 {
			r.Fatalf("skipped messages (-want +got):\n%s; %d tries are left", diff, session.Reading.Tries)
		}
		counted := p.counts.Skipped == len(p.bad) && session.Reading.SkippedCount == len(p.bad)
		if p.counts.BadAnswers != 4*len(p.bad) || !counted {
			r.Fatalf("%d bad answers for %d messages: %+v", p.counts.BadAnswers, len(p.bad), p.counts)
		}
		if limit := 9*len(p.bad) + len(texts)/12 + 1 + len(p.outages); p.calls > limit {
			r.Fatalf("%d calls, want at most %d", p.calls, limit)
		}
	})
}

// TestWorstCallsOfOneMessage has the one message at each place of a full batch: it costs at most eight calls more.
func TestWorstCallsOfOneMessage(t *testing.T) {
	t.Parallel()
	worst := 0
	for i, text := range facts(12) {
		p := newPoisoned(t, conversation.UserID(fmt.Sprint("u", i)))
		p.bad[text] = badAnswers[0]
		p.say(t, "a", facts(12)...)
		p.read(t, "a")
		worst = max(worst, p.calls)
	}
	if worst != 8 {
		t.Errorf("a message that the model refuses makes %d calls", worst)
	}
}

// TestContextThatIsRefused has the model refuse a line of the assistant: the user's message is read without it.
func TestContextThatIsRefused(t *testing.T) {
	t.Parallel()
	p := newPoisoned(t, "ann")
	p.bad["fact no one may say"] = badAnswers[0]
	p.create(t, "a")
	p.append(t, "a", conversation.NewMessage{Role: conversation.RoleAssistant, Content: "user: fact no one may say"})
	p.more(t, "a", "fact 1")
	p.read(t, "a")
	p.wantValid(t, "fact 1")
	if got := skipped(p.session(t, "a")); len(got) > 0 || p.counts.BadAnswers != 3 {
		t.Errorf("skipped %q after %d bad answers", got, p.counts.BadAnswers)
	}
}

// olderPrompt says that what was skipped was asked with an older prompt.
type olderPrompt struct{ extraction.Store }

func (o olderPrompt) Open(ctx context.Context, user conversation.UserID, in, id string,
) (conversation.Session, longterm.Access, error) {
	s, access, err := o.Store.Open(ctx, user, in, id)
	for i := range s.Reading.Skipped {
		s.Reading.Skipped[i].Prompt = "extraction/0"
	}
	return s, access, err
}

// TestSkippedMessagesAreAskedAgain reads a skipped message when the prompt has changed, once more and no more often.
func TestSkippedMessagesAreAskedAgain(t *testing.T) {
	t.Parallel()
	p := newPoisoned(t, "ann")
	p.bad["fact 1"], p.bad["fact 2"] = badAnswers[0], badAnswers[4]
	messages := p.say(t, "a", "fact 1", "fact 2", "fact 3")
	p.read(t, "a")
	p.wantValid(t, "fact 3")
	delete(p.bad, "fact 2")
	p.more(t, "a", "fact 4")
	before := p.calls
	service := extraction.New(p.deps(olderPrompt{p.stores.Extraction}))
	if _, err := service.Extract(t.Context(), p.user, appContext, "a"); err != nil {
		t.Fatal(err)
	}
	p.wantValid(t, "fact 2", "fact 3", "fact 4")
	session := p.session(t, "a")
	want := []conversation.SkippedMessage{{
		Seq: 1, MessageID: messages[0].ID, Prompt: "extraction/3+" + registry.Live().Version,
	}}
	if diff := cmp.Diff(want, session.Reading.Skipped); diff != "" || session.Reading.SkippedCount != 1 {
		t.Errorf("skipped (-want +got):\n%s; count %d", diff, session.Reading.SkippedCount)
	}
	if p.calls != before+3 {
		t.Errorf("%d calls, want 3", p.calls-before)
	}
}

// TestKilledWhileAnswersAreBad ends a worker before and after each of its remote calls: the tries that are stored are
// the ones that count, and the message is skipped once.
func TestKilledWhileAnswersAreBad(t *testing.T) {
	t.Parallel()
	for n := range 14 {
		p := newPoisoned(t, conversation.UserID(fmt.Sprint("u", n)))
		p.bad["fact 1"] = badAnswers[3]
		p.say(t, "a", "fact 1", "fact 2")
		d := &dyingStore{Store: p.stores.Extraction, left: n/2 + 1, after: n%2 == 1}
		_, _ = extraction.New(p.deps(d)).Extract(t.Context(), p.user, appContext, "a")
		p.advance(2 * time.Minute)
		p.read(t, "a")
		p.wantValid(t, "fact 2")
		if got := p.session(t, "a").Reading.SkippedCount; got != 1 || p.calls > 7 {
			t.Errorf("killed at %d: %d skipped, %d calls", n, got, p.calls)
		}
	}
}

// TestNothingIsSkippedWhileTheModelIsIll has the model answer everything badly, in each way, for much longer than a
// message has tries. Nothing is skipped, and all of it is read when the model is well.
func TestNothingIsSkippedWhileTheModelIsIll(t *testing.T) {
	t.Parallel()
	for i, ill := range badAnswers {
		p := newPoisoned(t, conversation.UserID(fmt.Sprint("u", i)))
		p.readOther(t)
		p.advance(time.Hour)
		p.ill, p.worker.Model = &ill, paced.New(p, 4, p.clock)
		p.say(t, "a", "fact 1", "fact 2", "fact 3")
		p.say(t, "b", "fact 4")
		for range 3 {
			for range 2 {
				for _, id := range []string{"a", "b"} {
					_, _ = p.worker.Extract(t.Context(), p.user, appContext, id)
					_, _ = p.worker.ExtractNext(t.Context(), p.user, appContext, id)
				}
			}
			if !p.worker.Model.(*paced.Model).IsFailing() {
				t.Errorf("answer %d: the pause for a model that is ill does not begin", i)
			}
			p.more(t, "a", "fact 5")
			p.advance(10 * time.Minute)
		}
		for _, id := range []string{"a", "b"} {
			if s := p.session(t, id); s.Reading.SkippedCount != 0 || s.Extracted.Seq != 0 {
				t.Errorf("answer %d: %s is read through %d, and %v are skipped", i, id, s.Extracted.Seq, skipped(s))
			}
		}
		p.ill = nil
		p.advance(time.Hour)
		p.read(t, "a")
		p.read(t, "b")
		p.wantValid(t, "fact 1", "fact 2", "fact 3", "fact 4", "fact 5")
	}
}

// TestAMessageAloneWaits has a bad answer to the only message there is: it is skipped when the model reads another one
// well, of any session, and not before. A message that follows is enough.
func TestAMessageAloneWaits(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(t *testing.T, p *poisoned){
		"another session": func(t *testing.T, p *poisoned) { p.readOther(t) },
		"the next one":    func(t *testing.T, p *poisoned) { p.more(t, "a", "fact 2") },
	} {
		p := newPoisoned(t, "ann")
		p.bad["fact 1"] = badAnswers[4]
		p.say(t, "a", "fact 1")
		for range 10 {
			_, _ = p.worker.Extract(t.Context(), p.user, appContext, "a")
		}
		if s := p.session(t, "a"); s.Reading.SkippedCount != 0 || !s.NeedsExtraction() {
			t.Errorf("%s: alone, it is skipped: %+v", name, s.Reading)
		}
		other(t, p)
		p.read(t, "a")
		check.Equal(t, 1, p.session(t, "a").Reading.SkippedCount, "%s: are skipped", name)
	}
}

// TestTheModelFallsIllInABatch has the model answer badly after it has read half of a session: the other half waits,
// whatever it read before.
func TestTheModelFallsIllInABatch(t *testing.T) {
	t.Parallel()
	p := newPoisoned(t, "ann")
	p.bad["fact 08"] = badAnswers[2]
	p.say(t, "a", facts(10)...)
	for range 3 {
		_, _ = p.worker.Extract(t.Context(), p.user, appContext, "a")
	}
	p.advance(2 * time.Minute)
	p.ill = &badAnswers[2]
	for range 20 {
		_, _ = p.worker.Extract(t.Context(), p.user, appContext, "a")
	}
	if s := p.session(t, "a"); s.Reading.SkippedCount != 0 {
		t.Errorf("skipped %v", skipped(s))
	}
	p.ill = nil
	p.read(t, "a")
	if got := p.session(t, "a").Reading.SkippedCount; got != 1 || len(p.valid(t)) != 9 {
		t.Errorf("%d are skipped, %d read", got, len(p.valid(t)))
	}
}
