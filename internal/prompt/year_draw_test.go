package prompt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// coachNames are the names of the coaches of a year.
var coachNames = map[string]string{"mia": "Mia", "tom": "Tom", "ana": "Ana"}

// said is where a mark of a year belongs: the session and the coach, and the time that it is of.
type said struct {
	session, coach string
	at             time.Time
	// what is "message", "day" or "summary".
	what string
	// from is when the day began of which at is the end.
	from time.Time
}

// year is a simulated user of a year: three coaches in every context, chats that are kept open for months, moves
// between four time zones, two weeks of silence and an import. Each text has a mark of its own.
type year struct {
	*person
	rng *rand.Rand
	// moves are the days of the year on which the user moves to the next of zones.
	zones []*time.Location
	moves []int
	now   time.Time
	// silence is the first of 14 days without a word.
	silence int
	marks   map[string]said
}

// daysOfYear is how many days before now a year begins.
const daysOfYear = 365

// drawYear generates a year and a request at its end.
func drawYear(t *rapid.T, p *person) (*year, prompt.Request) {
	y := &year{
		person: p, marks: map[string]said{},
		rng:     rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
		now:     now.Add(time.Duration(rapid.IntRange(0, 24*60).Draw(t, "minute of the day")) * minute),
		silence: rapid.SampledFrom([]int{100, 250, daysOfYear - 18, daysOfYear - 14}).Draw(t, "silence"),
		moves:   rapid.SliceOfN(rapid.IntRange(30, daysOfYear), 3, 3).Draw(t, "moves"),
	}
	if rapid.Bool().Draw(t, "moves this week") {
		y.moves[2] = daysOfYear - rapid.IntRange(0, 7).Draw(t, "days ago")
	}
	slices.Sort(y.moves)
	for _, name := range rapid.Permutation(historyZones).Draw(t, "zones") {
		zone, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		y.zones = append(y.zones, zone)
	}
	p.snapshot.Coaches, p.snapshot.Spines = map[string]longterm.Coach{}, map[string]longterm.Spine{}
	for id, name := range coachNames {
		p.snapshot.Coaches[id] = longterm.Coach{ID: id, Name: name, Persona: "You are " + name + "."}
	}
	y.drawImport()
	for i, coach := range []string{"mia", "tom", "ana"} {
		contexts := conversation.Contexts()
		y.drawOpenChat(fmt.Sprint(coach, "-chat"), "coach_conversation", coach, rapid.IntRange(8, 300).Draw(t, "open since"))
		y.drawOpenChat(fmt.Sprint(coach, "-screen"), contexts[(i+1)%len(contexts)], coach, 90)
		for j := range rapid.IntRange(0, 25).Draw(t, "short sessions") {
			y.drawShort(fmt.Sprint(coach, j), contexts[y.rng.IntN(len(contexts))], coach)
		}
	}
	here := rapid.SampledFrom([]string{"mia-chat", "mia-screen", "new"}).Draw(t, "here")
	p.converse("new", "coach_conversation", "mia", y.now)
	y.drawHits()
	i := slices.IndexFunc(p.sessions, func(s conversation.Session) bool { return s.ID == here })
	if i < 0 { // it was opened in the silence
		here, i = "new", len(p.sessions)-1
	}
	return y, prompt.Request{
		Context: p.sessions[i].Context, SessionID: here, CoachID: "mia", Timezone: y.zones[len(y.zones)-1].String(),
		Message: rapid.SampledFrom([]string{
			"what next?", "what did we decide last Tuesday?", "continue where we left off", "and yesterday's squats?",
		}).Draw(t, "message"), SkipSave: true,
	}
}

// zoneAt is where the user is on a day of the year.
func (y *year) zoneAt(day int) *time.Location {
	n := 0
	for n < len(y.moves) && day >= y.moves[n] {
		n++
	}
	return y.zones[n]
}

// at is a time of a day of the year.
func (y *year) at(day, hour, minutes int) time.Time {
	last := y.now.In(y.zoneAt(day)).AddDate(0, 0, day-daysOfYear)
	return time.Date(last.Year(), last.Month(), last.Day(), hour, minutes, 0, 0, y.zoneAt(day)).UTC()
}

// isSilent reports whether the user says nothing on a day.
func (y *year) isSilent(day int) bool { return day >= y.silence && day < y.silence+14 }

// mark writes a text with a mark.
func (y *year) mark(of said) string {
	mark := fmt.Sprintf("mark%04dx", len(y.marks))
	y.marks[mark] = of
	return mark + " says how the squats went"
}

// sitting draws one to three exchanges from a time on.
func (y *year) sitting(at time.Time, add func(time.Time, conversation.Role)) {
	for range 1 + y.rng.IntN(3) {
		if at.After(y.now.Add(-minute)) {
			return
		}
		add(at, conversation.RoleUser)
		add(at.Add(20*time.Second), conversation.RoleAssistant)
		at = at.Add(time.Duration(1+y.rng.IntN(15)) * minute)
	}
}

// drawOpenChat adds a chat that is open for so many days. The last eight days with words have summaries.
func (y *year) drawOpenChat(id, in, coach string, days int) {
	var lines []line
	var ends []conversation.DaySummary
	var start time.Time
	for day := daysOfYear - days; day <= daysOfYear; day++ {
		if y.isSilent(day) || y.rng.IntN(3) == 0 {
			continue
		}
		zone, at := y.zoneAt(day), y.at(day, 6+y.rng.IntN(18), y.rng.IntN(60))
		if n := len(ends); n > 0 && at.Sub(ends[n-1].To) < time.Hour { // the user has moved to the east
			continue
		}
		y.sitting(at, func(at time.Time, role conversation.Role) {
			if start.IsZero() {
				start = at
			}
			lines = append(lines, line{at.Sub(start), role, y.mark(said{session: id, coach: coach, at: at, what: "message"})})
			if n := len(ends); n == 0 || ends[n-1].To.In(zone).YearDay() != at.In(zone).YearDay() {
				ends = append(ends, conversation.DaySummary{From: at})
			}
			ends[len(ends)-1].To = at
		})
	}
	if start.IsZero() {
		return
	}
	ends = slices.DeleteFunc(ends, func(d conversation.DaySummary) bool {
		return conversation.CalendarDays(d.To, y.now, y.zones[len(y.zones)-1]) > 8
	})
	for i := range ends {
		of := said{session: id, coach: coach, at: ends[i].To, what: "day", from: ends[i].From}
		ends[i].Text = y.mark(of) + "."
	}
	s := y.converse(id, in, coach, start, lines...)
	summarize(s, y.mark(said{session: id, coach: coach, at: s.LastMessageAt, what: "summary"})+".")
	s.Summary.Days = ends
}

// drawShort adds a session of one sitting.
func (y *year) drawShort(id, in, coach string) {
	day := daysOfYear - y.rng.IntN(12)
	if y.isSilent(day) {
		day = y.silence - 1
	}
	y.drawSession(id, in, coach, y.at(day, 6+y.rng.IntN(18), y.rng.IntN(60)))
}

// drawImport adds twenty sessions of the first months, which another app has brought.
func (y *year) drawImport() {
	contexts := conversation.Contexts()
	for i := range 20 {
		y.drawSession(fmt.Sprint("import", i), contexts[i%len(contexts)], []string{"mia", "tom", "ana"}[i%3],
			y.at(i*5, 12, i))
	}
}

func (y *year) drawSession(id, in, coach string, start time.Time) {
	var lines []line
	y.sitting(start, func(at time.Time, role conversation.Role) {
		lines = append(lines, line{at.Sub(start), role, y.mark(said{session: id, coach: coach, at: at, what: "message"})})
	})
	if len(lines) == 0 {
		return
	}
	if s := y.converse(id, in, coach, start, lines...); y.rng.IntN(5) > 0 {
		summarize(s, y.mark(said{session: id, coach: coach, at: s.LastMessageAt, what: "summary"})+".")
	}
}

// drawHits lets the search find a part of all messages and summaries.
func (y *year) drawHits() {
	for i := range y.messages {
		if y.rng.IntN(20) == 0 {
			y.hits = append(y.hits, recall.Hit{ID: y.messages[i].ID, Score: y.rng.Float64(), Message: &y.messages[i]})
		}
	}
	for i := range y.sessions {
		if y.sessions[i].Summary != nil && y.rng.IntN(3) == 0 {
			y.hits = append(y.hits, summaryHit(&y.sessions[i], y.rng.Float64()))
		}
	}
}
