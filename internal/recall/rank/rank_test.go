package rank_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/testing/check"
)

var now = time.Date(2026, 5, 20, 9, 0, 0, 0, time.UTC)

// pools draws pools whose messages share words, sessions and places.
func pools(t *rapid.T) (*rank.Query, []rank.Candidate) {
	word := rapid.SampledFrom(strings.Fields(
		"Ann knee squat? hurts 12 yesterday Hey Ann! thanks, the Lisbon 膝 ’ Sam: May"))
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 9).Draw(t, "words"), " ") })
	candidate := rapid.Custom(func(t *rapid.T) rank.Candidate {
		return rank.Candidate{
			ID:      rapid.StringMatching(`[a-e]`).Draw(t, "id"),
			Session: rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "session"),
			Seq:     rapid.IntRange(0, 6).Draw(t, "seq"), Role: rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"),
			Time: now.Add(-time.Duration(rapid.IntRange(-9, 999).Draw(t, "hours")) * time.Hour), Text: text.Draw(t, "text"),
			Score: rapid.Float64Range(-1, 1).Draw(t, "score"),
		}
	})
	question := rapid.SampledFrom([]string{
		"When did ", "How many ", "Who is ", "What did you say about ", "", "On 3 May ",
	})
	query := rank.NewQuery(question.Draw(t, "question")+text.Draw(t, "query"), now)
	pool, first := rapid.SliceOfN(candidate, 0, 30).Draw(t, "pool"), map[string]rank.Candidate{}
	for i, c := range pool { // the parts of a message are of one session and place
		if _, ok := first[c.ID]; !ok {
			first[c.ID] = c
		}
		pool[i].Session, pool[i].Seq = first[c.ID].Session, first[c.ID].Seq
	}
	return query, pool
}

// TestOrderOfThePool checks that the order of the pool changes neither the scores nor the order of the results, and
// that each record is ranked once.
func TestOrderOfThePool(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		query, pool := pools(t)
		want := rank.Default().Rank(query, pool)
		if got := rank.Default().Rank(query, rapid.Permutation(pool).Draw(t, "order")); !cmp.Equal(got, want) {
			t.Fatalf("another order of the pool (-want +got)\n%s", cmp.Diff(want, got))
		}
		ids := map[string]bool{}
		for _, c := range pool {
			ids[c.ID] = true
		}
		if len(want) != len(ids) {
			t.Fatalf("%d results for %d records", len(want), len(ids))
		}
	})
}

// TestContributions checks that scores are finite, fall, and are the sums of their parts.
func TestContributions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		query, pool := pools(t)
		last := 1.0
		for _, r := range rank.Default().Rank(query, pool) {
			sum := 0.0
			for _, part := range r.Contributions {
				sum += part
			}
			if len(r.Contributions) != len(rank.Names)+1 || math.Abs(rank.Probability(sum)-r.Probability) > 1e-12 {
				t.Fatalf("the parts %v make %v, want %v", r.Contributions, rank.Probability(sum), r.Probability)
			}
			if math.IsNaN(r.Probability) || r.Probability > last {
				t.Fatalf("%v comes after %v", r.Probability, last)
			}
			last = r.Probability
		}
	})
}

// TestContributionsInJSON checks that the parts of a score come back by their names, without those that are 0.
func TestContributionsInJSON(t *testing.T) {
	t.Parallel()
	parts := make(rank.Contributions, len(rank.Names)+1)
	parts[0], parts[2], parts[len(rank.Names)] = 0.25, -1.5, -16.678
	text := check.Got(json.Marshal(parts))(t)
	if want := `{"words":0.25,"together":-1.5,"intercept":-16.678}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	var got rank.Contributions
	if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got, parts) {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzFeatures(f *testing.F) {
	f.Add("When did Ann run?", "Hey Ann! I ran on Monday.", "s", 3, 0.5)
	f.Add("", "", "", 0, 0.0)
	f.Add("Ann: x", "膝が痛い \xff", "s", -1, -1.0)
	f.Fuzz(func(t *testing.T, query, text, session string, seq int, score float64) {
		if math.IsNaN(score) || math.Abs(score) > 2 {
			return
		}
		half := len(text) / 2
		pool := []rank.Candidate{
			{ID: "a", Session: session, Seq: seq, Role: "user", Text: text, Score: score, Time: now},
			{ID: "b", Session: session, Seq: seq + 1, Role: "assistant", Text: text[:half], Time: now.Add(-time.Hour)},
			{ID: "c", Session: session, Seq: seq + 1, Text: text[half:] + query},
		}
		matrix := rank.Features(rank.NewQuery(query, now), pool)
		for i := range matrix.Len() {
			for j, x := range matrix.Row(i) {
				if math.IsNaN(x) || math.Abs(x) > 20 {
					t.Fatalf("%s of %s is %v", rank.Names[j], matrix.ID(i), x)
				}
			}
		}
	})
}

// feature returns one feature of the first candidate.
func feature(t *testing.T, name, query string, pool ...rank.Candidate) float64 {
	t.Helper()
	column := slices.Index(rank.Names[:], name)
	if column < 0 {
		t.Fatalf("no feature %s", name)
	}
	matrix := rank.Features(rank.NewQuery(query, now), pool)
	for i := range matrix.Len() {
		if matrix.ID(i) == pool[0].ID {
			return matrix.Row(i)[column]
		}
	}
	t.Fatalf("no record %q", pool[0].ID)
	return 0
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	said := func(role, text string) rank.Candidate {
		return rank.Candidate{ID: role + text, Role: role, Text: text, Session: "s"}
	}
	at := func(date string) rank.Candidate {
		day, _ := time.Parse(time.DateOnly, date)
		return rank.Candidate{Text: "x", Time: day}
	}
	thanks := []rank.Candidate{
		said("user", "Thanks, Ann!"), said("user", "Hey Ann, one more."), said("assistant", "Hi Sam."),
	}
	for name, tt := range map[string]struct {
		feature, query string
		pool           []rank.Candidate
		want           float64
	}{
		"words of time":           {"timeWords", "When did I run?", []rank.Candidate{said("user", "I ran last Monday")}, 1},
		"no words of time":        {"timeWords", "When did I run?", []rank.Candidate{said("user", "I ran")}, 0},
		"not asked when":          {"timeWords", "Where did I run?", []rank.Candidate{said("user", "I ran last Monday")}, 0},
		"numbers":                 {"numberWords", "How many runs?", []rank.Candidate{said("user", "I ran three times")}, 1},
		"names":                   {"nameWords", "Where did I run?", []rank.Candidate{said("user", "I ran in Lisbon")}, 1},
		"beginning of a sentence": {"nameWords", "Where did I run?", []rank.Candidate{said("user", "Yes. Outside")}, 0},
		"question":                {"question", "runs", []rank.Candidate{said("user", "Did I run?")}, 0.9},
		"no question":             {"question", "runs", []rank.Candidate{said("user", "I run.")}, 0},
		"more than a question": {
			"question", "runs", []rank.Candidate{said("user", strings.Repeat("I run in the park. ", 9)+"And you?")}, 0,
		},
		"short":  {"length", "runs", []rank.Candidate{said("user", "I run")}, 0.125},
		"enough": {"length", "runs", []rank.Candidate{said("user", strings.Repeat("I run ", 50))}, 1},
		"the role that is called": {
			"speaker", "What did Ann plan?", append([]rank.Candidate{said("assistant", "A plan")}, thanks...), 1,
		},
		"the role that calls": {
			"speaker", "What did Ann plan?", append([]rank.Candidate{said("user", "A plan")}, thanks...), 0,
		},
		"called once": {
			"speaker", "What did Ann plan?", []rank.Candidate{said("assistant", "A plan"), said("user", "Thanks, Ann!")}, 0,
		},
		"spoken about": {
			"speaker", "What did Ann plan?",
			[]rank.Candidate{said("assistant", "A plan"), said("user", "I met Ann today"), said("user", "So Ann came")},
			0,
		},
		"name at the head": {"speaker", "What did Ann plan?", []rank.Candidate{said("user", "Ann: a plan")}, 1},
		"other head":       {"speaker", "What did Ann plan?", []rank.Candidate{said("user", "Sam: a plan of Ann")}, 0},
		"my words":         {"speaker", "What did I say?", []rank.Candidate{said("user", "A plan")}, 1},
		"your words":       {"speaker", "What did you suggest?", []rank.Candidate{said("user", "A plan")}, 0},
		"exact":            {"exact", "Hip thrusts!", []rank.Candidate{said("user", "hip thrusts")}, 1},
		"not exact":        {"exact", "Hip thrusts!", []rank.Candidate{said("user", "hip thrusts hurt")}, 0},
		"exact courtesy":   {"exact", "Thanks!", []rank.Candidate{said("user", "thanks")}, 0},
		"day":              {"dated", "What was on 3 May 2025?", []rank.Candidate{at("2025-05-03")}, 1},
		"day of any year":  {"dated", "What was on May 3rd?", []rank.Candidate{at("2024-05-03")}, 1},
		"days after":       {"dated", "What was on May 3?", []rank.Candidate{at("2024-05-08")}, 0.5},
		"month":            {"dated", "What was in May 2025?", []rank.Candidate{at("2025-05-30")}, 1},
		"other month":      {"dated", "What was in May 2025?", []rank.Candidate{at("2025-04-30")}, 0},
		"yesterday":        {"dated", "What did I do yesterday?", []rank.Candidate{at("2026-05-19")}, 1},
		"two weeks ago":    {"dated", "What did I do two weeks ago?", []rank.Candidate{at("2026-05-06")}, 1},
		"Chinese day":      {"dated", "2025年5月3日发生了什么？", []rank.Candidate{at("2025-05-03")}, 1},
		"Chinese other":    {"dated", "2025年5月3日发生了什么？", []rank.Candidate{at("2025-06-03")}, 0},
		"Chinese month":    {"dated", "我在５月份做了什么？", []rank.Candidate{at("2024-05-13")}, 1},
		"Chinese week":     {"dated", "上週我跑步了嗎？", []rank.Candidate{at("2026-05-12")}, 1},
		"Korean day":       {"dated", "5월 3일에 무엇을 했지?", []rank.Candidate{at("2025-05-03")}, 1},
		"ISO day":          {"dated", "What was on 2025-05-03?", []rank.Candidate{at("2025-05-03")}, 1},
		"no month":         {"dated", "What was on 2025-15-03?", []rank.Candidate{at("2025-05-03")}, 0},
		"German day":       {"dated", "Was war am 3. März 2025?", []rank.Candidate{at("2025-03-03")}, 1},
		"German month":     {"dated", "Was war im Dezember?", []rank.Candidate{at("2025-12-13")}, 1},
		"Spanish day":      {"dated", "¿Qué hice el 3 de mayo de 2025?", []rank.Candidate{at("2025-05-03")}, 1},
		"Russian day":      {"dated", "Что было 3 мая 2025?", []rank.Candidate{at("2025-05-03")}, 1},
		"Arabic day":       {"dated", "ماذا حدث في ٣ مايو؟", []rank.Candidate{at("2025-05-03")}, 1},
		"Hindi day":        {"dated", "3 मई को क्या हुआ?", []rank.Candidate{at("2025-05-03")}, 1},
		"a word, no month": {"dated", "What about 5 marketing plans in marseille?", []rank.Candidate{at("2025-03-05")}, 0},
		"Chinese time":     {"timeWords", "我什么时候跑步？", []rank.Candidate{said("user", "我星期一跑步")}, 1},
		"Chinese number":   {"numberWords", "我跑了多少次？", []rank.Candidate{said("user", "我跑了3次")}, 1},
		"Chinese question": {"question", "跑步", []rank.Candidate{said("user", "跑步吗？")}, 1 - 2./30},
		"courtesy":         {"content", "Good morning, how are you?", []rank.Candidate{said("user", "Good morning")}, 0},
		"Chinese greeting": {"content", "你好", []rank.Candidate{said("user", "你好")}, 0},
		"German greeting":  {"content", "Hallo, wie geht's?", []rank.Candidate{said("user", "Hallo")}, 0},
		"Chinese request":  {"content", "你好，我的狗怎么样", []rank.Candidate{said("user", "你好")}, 1},
		"Russian exact":    {"exact", "Привет!", []rank.Candidate{said("user", "привет")}, 0},
		"words of courtesy do not match": {
			"words", "Good morning coach, how are you?", []rank.Candidate{said("user", "Good morning")}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, tt.want, feature(t, tt.feature, tt.query, tt.pool...), "%s", tt.feature)
		})
	}
}

// TestNeighbours checks that a message gains by what was said near it in its own session.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	at := func(session string, seq int, text string) rank.Candidate {
		score := 0.1
		if strings.Contains(text, "shoes") {
			score = 0.4
		}
		return rank.Candidate{ID: fmt.Sprint(session, seq), Session: session, Seq: seq, Text: text, Score: score}
	}
	const query = "Which shoes did I buy?"
	rest := []rank.Candidate{at("rest", 1, "Rain."), at("rest", 2, "Wind."), at("rest", 3, "Hail.")}
	for _, tt := range []struct {
		feature string
		other   rank.Candidate
		gains   bool
	}{
		{"answers", at("s", 2, "Which shoes did you buy?"), true},
		{"answers", at("s", 2, "You buy shoes."), false},
		{"answers", at("s", 1, "Which shoes did you buy?"), false},
		{"answers", at("other", 2, "Which shoes did you buy?"), false},
		{"sessionWords", at("s", 9, "New shoes!"), true},
		{"sessionWords", at("other", 9, "New shoes!"), false},
		{"near", at("s", 2, "New shoes!"), true},
		{"near", at("s", 9, "New shoes!"), true},
		{"near", at("other", 2, "New shoes!"), false},
		{"around", at("s", 2, "New shoes!"), true},
		{"around", at("s", 5, "New shoes!"), true},
		{"around", at("s", 5, "Fine."), false},
		{"around", at("other", 2, "New shoes!"), false},
	} {
		pool := append([]rank.Candidate{at("s", 3, "The blue ones."), tt.other}, rest...)
		if got := feature(t, tt.feature, query, pool...); (got > 0) != tt.gains {
			t.Errorf("%s beside %+v is %v", tt.feature, tt.other, got)
		}
	}
	near := feature(t, "near", query, append(rest, at("s", 3, "Blue."), at("s", 4, "Shoes: shoes."))...)
	if near != 0 {
		t.Errorf("a message of another session has the nearness %v", near)
	}
}

// TestDistance checks that what was said near counts for more than what was said far away.
func TestDistance(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"near", "around"} {
		last := math.Inf(1)
		for distance := range 8 {
			pool := []rank.Candidate{
				{ID: "blue", Session: "s", Seq: 1, Text: "The blue ones."},
				{ID: "shoes", Session: "s", Seq: 2 + distance, Text: "New shoes!", Score: 0.4},
				{ID: "rain", Session: "rest", Text: "Rain."},
			}
			got := feature(t, name, "Which shoes?", pool...)
			if got >= last {
				t.Errorf("%s is %v at a distance of %d, and %v nearer", name, got, distance+1, last)
			}
			last = got
		}
	}
}

// TestWordsByLength checks that a word says less about a long message than about a short one, however long the messages
// of the pool are.
func TestWordsByLength(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 30} {
		pool := []rank.Candidate{
			{ID: "long", Text: "My knee hurts." + strings.Repeat(" We talked about many other things that day.", 8*times)},
			{ID: "short", Text: "My knee hurts." + strings.Repeat(" It rained.", times)},
			{ID: "other", Text: strings.Repeat("Some rain fell on us. ", 9*times)},
		}
		for _, name := range []string{"words", "allWords"} {
			long := feature(t, name, "How is my knee?", pool...)
			slices.Reverse(pool[:2])
			if short := feature(t, name, "How is my knee?", pool...); !(short > 1.2*long && long > 0) {
				t.Errorf("%s is %v for the short message and %v for the long one", name, short, long)
			}
			slices.Reverse(pool[:2])
		}
	}
}

// TestParts checks that a long message is one record, whose words are those of all its parts, and that many parts are
// no advantage.
func TestParts(t *testing.T) {
	t.Parallel()
	part := func(id, text string, score float64) rank.Candidate {
		return rank.Candidate{ID: id, Session: "s", Seq: 1, Text: text, Score: score}
	}
	rest := []rank.Candidate{part("b", "Rain again.", 0.1), part("c", "Wind.", 0.2), part("d", "No knee.", 0.2)}
	one := append(slices.Clone(rest), part("a", "My knee.", 0.3))
	several := append(slices.Clone(one), part("a", "It hurts.", 0.3), part("a", "Still.", 0.3))
	query := rank.NewQuery("Does my knee hurt?", now)
	dense := slices.Index(rank.Names[:], "dense")
	whole, parts := rank.Features(query, one), rank.Features(query, several)
	if whole.Len() != 4 || parts.Len() != 4 || whole.ID(0) != "a" || parts.ID(0) != "a" {
		t.Fatalf("%d and %d records", whole.Len(), parts.Len())
	}
	if whole.Row(0)[dense] <= parts.Row(0)[dense] {
		t.Errorf("three parts have the likeness %v, one has %v", parts.Row(0)[dense], whole.Row(0)[dense])
	}
	if words := slices.Index(rank.Names[:], "words"); parts.Row(0)[words] != 1 || parts.Row(3)[words] == 1 {
		t.Errorf("the words of the parts are %v, those of another message %v", parts.Row(0)[words], parts.Row(3)[words])
	}
}

// TestDense checks how far a message is above its pool: by its likeness beside that of the others.
func TestDense(t *testing.T) {
	t.Parallel()
	with := func(scores ...float64) (pool []rank.Candidate) {
		for i, score := range scores {
			pool = append(pool, rank.Candidate{ID: fmt.Sprint(i), Text: "x", Score: score})
		}
		return pool
	}
	for _, tt := range []struct {
		pool []rank.Candidate
		want float64
	}{
		{with(0.4, 0.1, 0.1, 0.1, 0.1), 2},
		{with(0.4, 0.3, 0.3, 0.3, 0.3), 2},
		{with(0.4, 0.4), 0},
		{with(0.4), 0},
	} {
		if got := feature(t, "dense", "Which shoes?", tt.pool...); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("the deviation of the first of %+v is %v, want %v", tt.pool, got, tt.want)
		}
	}
}

// TestValue checks that a message is worth more with a higher probability and worth less the longer it is, but not in
// proportion to its tokens.
func TestValue(t *testing.T) {
	t.Parallel()
	short, long := rank.Value(0.2, 20), rank.Value(0.2, 900)
	if !(short > long && rank.Value(0.4, 20) > short && 10*long > short) {
		t.Errorf("20 tokens are worth %v and 900 %v", short, long)
	}
}

// TestSmallTalk checks that small talk has no content, and that questions of the same words have.
func TestSmallTalk(t *testing.T) {
	t.Parallel()
	content := slices.Index(rank.Names[:], "content")
	pool := []rank.Candidate{{ID: "a", Text: "You asked me to start again on Monday, and I tell a joke.", Time: now}}
	for text, want := range map[string]float64{
		"Hello!": 0, "Tell me a joke": 0, "What do you think?": 0, "Talk to you tomorrow": 0, "Can you say that again?": 0,
		"Thanks, that helps a lot": 0, "Let's get started": 0, "Vielen Dank!": 0, "When do I start?": 1,
		"What did I tell you?": 1, "Where did I start?": 1, "Monday": 1, "Tell me about Monday": 1,
	} {
		check.Equal(t, want, rank.Features(rank.NewQuery(text, now), pool).Row(0)[content], "%q has the content", text)
	}
}
