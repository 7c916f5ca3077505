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
	return query, rapid.SliceOfN(candidate, 0, 30).Draw(t, "pool")
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
				t.Fatalf("%v stands behind %v", r.Probability, last)
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
	text, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"dense":0.25,"turnWords":-1.5,"intercept":-16.678}`; string(text) != want {
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
		for i := range pool {
			for j, x := range matrix.Row(i) {
				if math.IsNaN(x) || math.Abs(x) > 20 {
					t.Fatalf("%s of %q is %v", rank.Names[j], pool[i].Text, x)
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
	return rank.Features(rank.NewQuery(query, now), pool).Row(0)[column]
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	said := func(role, text string) rank.Candidate { return rank.Candidate{Role: role, Text: text, Session: "s"} }
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
		"question":                {"question", "runs", []rank.Candidate{said("user", "Did I run?")}, 1},
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
		"courtesy":         {"content", "Good morning, how are you?", []rank.Candidate{said("user", "Good morning")}, 0},
		"words of courtesy do not match": {
			"rareWords", "Good morning coach, how are you?", []rank.Candidate{said("user", "Good morning")}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := feature(t, tt.feature, tt.query, tt.pool...); got != tt.want {
				t.Errorf("%s is %v, want %v", tt.feature, got, tt.want)
			}
		})
	}
}

// TestNeighbours checks that a message gains by what stands beside it in its own session.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	at := func(session string, seq int, text string) rank.Candidate {
		return rank.Candidate{ID: fmt.Sprint(session, seq), Session: session, Seq: seq, Text: text, Score: 0.4}
	}
	const query = "Which shoes did I buy?"
	asked := at("s", 2, "Which shoes did you buy?")
	for _, tt := range []struct {
		feature string
		other   rank.Candidate
		gains   bool
	}{
		{"answers", asked, true},
		{"pairWords", asked, true},
		{"windowWords", at("s", 4, "They are shoes for rain."), true},
		{"sessionWords", at("s", 9, "New shoes!"), true},
		{"previousDense", asked, true},
		{"nextDense", at("s", 4, "Fine."), true},
		{"nextDense", at("other", 4, "Fine."), false},
		{"nextRare", at("s", 4, "New shoes!"), true},
		{"aroundDense", at("s", 5, "Fine."), true},
		{"answers", at("other", 2, asked.Text), false},
		{"pairWords", at("other", 2, asked.Text), false},
	} {
		mine := at("s", 3, "The blue ones.")
		if got := feature(t, tt.feature, query, mine, tt.other); (got > 0) != tt.gains {
			t.Errorf("%s beside %+v is %v", tt.feature, tt.other, got)
		}
	}
}

// TestDenseDeviation checks how far a message stands out of its pool: by its likeness beside that of the others.
func TestDenseDeviation(t *testing.T) {
	t.Parallel()
	with := func(score float64) rank.Candidate { return rank.Candidate{Text: "x", Score: score} }
	for _, tt := range []struct {
		pool []rank.Candidate
		want float64
	}{
		{[]rank.Candidate{with(0.4), with(0.1), with(0.1), with(0.1), with(0.1)}, 2},
		{[]rank.Candidate{with(0.4), with(0.3), with(0.3), with(0.3), with(0.3)}, 2},
		{[]rank.Candidate{with(0.4), with(0.4)}, 0},
		{[]rank.Candidate{with(0.4)}, 0},
	} {
		if got := feature(t, "denseDeviation", "Which shoes?", tt.pool...); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("the deviation of the first of %+v is %v, want %v", tt.pool, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unknown feature": `{"features":{"beauty":1}}`, "unknown field": `{"weights":{}}`, "no JSON": `x`,
	} {
		if _, err := rank.Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if w := rank.Default(); w.Date == "" || w.Data == "" || len(w.Features) == 0 || w.Noise <= 0 {
		t.Errorf("the weights that ship lack something: %+v", w)
	}
}

// BenchmarkRank ranks 400 messages of 280 characters, of which a third are words that few others have, beside the
// floor: reading each byte of them once.
func BenchmarkRank(b *testing.B) {
	words := strings.Fields("Can we swap the barbell hip thrusts for banded glute bridges today, Ann, " +
		"because my lower back is sore again since Monday? I have added several words that no other message has")
	syllables := strings.Fields("ba do swi tre ka len mor ni pra qua ris so tam ul ves hi")
	pool := make([]rank.Candidate, 400)
	for i := range pool {
		var text []string
		for j := range 46 {
			if n := i*31 + j*j*17; j%3 == 0 {
				text = append(text, syllables[n%16]+syllables[n/16%16]+syllables[n/256%16]+"ed")
			} else {
				text = append(text, words[(i*7+j*j)%len(words)])
			}
		}
		pool[i] = rank.Candidate{
			ID: fmt.Sprint(i), Session: fmt.Sprint("s", i/20), Seq: i % 20, Role: []string{"user", "assistant"}[i%2],
			Score: 1 / float64(i+1), Text: strings.Join(text, " "), Time: now.Add(-time.Duration(i) * time.Hour),
		}
	}
	b.Run("rank", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rank.Default().Rank(rank.NewQuery("When did Ann swap the hip thrusts because of my back?", now), pool)
		}
	})
	b.Run("floor", func(b *testing.B) {
		sum := 0
		for b.Loop() {
			for i := range pool {
				for j := range len(pool[i].Text) {
					sum += int(pool[i].Text[j])
				}
			}
		}
	})
}
