package prompt_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// historyZones are where the users of the history tests live.
var historyZones = []string{"America/New_York", "Asia/Kolkata", "Pacific/Auckland", "Europe/Berlin"}

// drawnHistory is a generated user: a chat of 400 messages over 21 days with the coach mia beside 60 sessions of four
// other contexts with her and two other coaches.
type drawnHistory struct {
	*person
	rng  *rand.Rand
	zone *time.Location
	// last is the time of the newest message.
	last time.Time
}

// histories are the histories of the seeds, each drawn once. Nobody writes to them.
var histories = func() (all [8]func() drawnHistory) {
	for seed := range all {
		all[seed] = sync.OnceValue(func() drawnHistory { return drawHistory(&person{}, seed) })
	}
	return all
}()

// copyTo gives a person a copy of a history.
func (h drawnHistory) copyTo(p *person) drawnHistory {
	p.sessions, p.messages = slices.Clone(h.sessions), slices.Clip(h.messages)
	h.person = p
	return h
}

// drawHistory generates a history. Equal seeds give equal histories.
func drawHistory(p *person, seed int) drawnHistory {
	zone, err := time.LoadLocation(historyZones[seed%len(historyZones)])
	if err != nil {
		panic(err)
	}
	h := drawnHistory{person: p, rng: rand.New(rand.NewPCG(uint64(seed), 1)), zone: zone}
	h.drawChat(seed)
	h.drawOthers(seed)
	p.converse("empty", "coach_conversation", "mia", h.last)
	return h
}

// drawChat adds the chat: sittings from early morning to past midnight, with pauses of all kinds. Every fourth history
// ends with a long sitting.
func (h *drawnHistory) drawChat(seed int) {
	const messages, days = 400, 21
	end := time.Date(2026, 2, 25, 0, 0, 0, 0, h.zone)
	var slots []time.Time
	for day := range days {
		for _, hour := range []int{6, 14, 22} {
			slots = append(slots, end.AddDate(0, 0, day-days).Add(time.Duration(hour)*time.Hour))
		}
	}
	if seed%2 == 0 || seed == 5 { // the newest sitting begins in the afternoon, not at night
		slots = slots[:len(slots)-1]
	}
	keep := h.rng.Perm(len(slots) - 1)[:27]
	keep = append(keep, 0, len(slots)-1)
	slices.Sort(keep)
	keep = slices.Compact(keep)
	var times []time.Time
	for i, slot := range keep {
		at := slots[slot].Add(time.Duration(h.rng.IntN(120*60)) * time.Second)
		if n := len(times); n > 0 && !at.After(times[n-1].Add(45*time.Minute)) {
			at = times[n-1].Add(45 * time.Minute)
		}
		long := seed%4 == 1 && i == len(keep)-1
		n := messages*(i+1)/len(keep) - messages*i/len(keep)
		switch {
		case long:
			n = messages - len(times)
		case seed%4 == 1:
			n = min(n, 5)
		}
		for range n {
			times = append(times, at)
			if long {
				at = at.Add(40 * time.Second)
			} else {
				at = at.Add(h.drawPause())
			}
		}
	}
	h.add("chat", "coach_conversation", "mia", times, true)
}

// drawPause draws the pause to the next message: mostly minutes, at times exactly the limit or a little more.
func (h *drawnHistory) drawPause() time.Duration {
	switch n := h.rng.IntN(60); {
	case n == 0:
		return 80 * time.Minute
	case n == 1:
		return 30*time.Minute + time.Second
	case n < 4:
		return 30 * time.Minute
	case n < 8:
		return 22 * time.Minute
	}
	return time.Duration(20+h.rng.IntN(400)) * time.Second
}

// add adds a session with messages at times. Texts carry the session's id and the message's number.
func (h *drawnHistory) add(id, in, coach string, times []time.Time, summarized bool) {
	words := strings.Fields("squats bands knees rest sleep walk tempo grip bench rows hips stretch warm cool plan")
	var lines []line
	role := conversation.RoleUser
	for i, at := range times {
		pause := time.Hour
		if i > 0 {
			pause = at.Sub(times[i-1])
		}
		said := role
		if pause < 30*time.Minute && h.rng.IntN(15) == 0 {
			said = conversation.RoleSystem
		} else if role = conversation.RoleUser; said == conversation.RoleUser {
			role = conversation.RoleAssistant
		}
		var text []string
		for range 3 + h.rng.IntN(9) {
			text = append(text, words[h.rng.IntN(len(words))])
		}
		lines = append(lines, line{at.Sub(times[0]), said, fmt.Sprintf("%s.%03d %s", id, i+1, strings.Join(text, " "))})
		if at.After(h.last) {
			h.last = at
		}
	}
	start := h.last
	if len(times) > 0 {
		start = times[0].UTC()
	}
	if s := h.converse(id, in, coach, start, lines...); summarized && len(times) > 0 {
		summarize(s, "sum."+id+" says what they came to.")
	}
}

// drawOthers adds 60 sessions: 22 of the last three days with leo, 14 with ana, and 24 with mia, some of them without
// messages or without a summary. Every fourth history has 80 more of the last six days with mia.
func (h *drawnHistory) drawOthers(seed int) {
	// Nothing reads the last one.
	contexts := []string{"program_designer", "workout_log", "training_program", "coach_creator"}
	chat := h.sittingsOfChat()
	newest := chat[len(chat)-1]
	sessions := 60
	if seed%4 == 2 {
		sessions = 140
	}
	for i := range sessions {
		coach, days := "mia", 12
		switch {
		case i >= 60:
			days = 6
		case i < 22:
			coach, days = "leo", 3
		case i < 36:
			coach, days = "ana", 9
		}
		end := newest.last.Add(-time.Duration(h.rng.IntN(days*24*60*60)) * time.Second)
		switch { // sessions that touch the newest sitting, or just do not
		case i == 36 && seed%2 == 0:
			end = newest.first.Add(-25 * time.Minute)
		case i == 37:
			end = newest.first.Add(-30 * time.Minute)
		case i == 38 && seed%2 == 1:
			end = newest.first.Add(-31 * time.Minute)
		case i == 39 && seed%3 == 0:
			end = newest.last.Add(10 * time.Minute)
		}
		var times []time.Time
		if i%9 != 0 {
			times = h.drawTimes(end)
		}
		h.add(fmt.Sprintf("s%02d", i), contexts[h.rng.IntN(len(contexts))], coach, times, i%5 != 1)
	}
}

// drawTimes draws the times of a short session that ends at a time, with one to three sittings on different days.
func (h *drawnHistory) drawTimes(end time.Time) []time.Time {
	times := []time.Time{end.Truncate(time.Millisecond)}
	for range 1 + h.rng.IntN(8) {
		pause := h.drawPause()
		if h.rng.IntN(6) == 0 {
			pause = time.Duration(18+h.rng.IntN(60)) * time.Hour
		}
		times = append(times, times[len(times)-1].Add(-pause))
	}
	slices.Reverse(times)
	return times
}

func (h *drawnHistory) sittingsOfChat() []sitting {
	return sittingsOf(conversation.Session{ID: "chat"}, h.messages, time.Time{})
}

// historyTimes are the names of nows.
var historyTimes = []string{
	"just after", "29 minutes", "31 minutes", "past midnight", "next morning", "9 days later", "23 hours later",
	"30 days later", "31 days later", "11 months later", "3 years later",
}

// nows are the times at which prompts are asked for.
func (h *drawnHistory) nows() map[string]time.Time {
	local := h.last.In(h.zone)
	clock := func(day, hour, minute int) time.Time {
		y, m, d := local.Date()
		return time.Date(y, m, d+day, hour, minute, 0, 0, h.zone).UTC()
	}
	return map[string]time.Time{
		"just after":      h.last.Add(5 * time.Second),
		"29 minutes":      h.last.Add(29 * time.Minute),
		"31 minutes":      h.last.Add(31 * time.Minute),
		"past midnight":   clock(1, 0, 10),
		"next morning":    clock(1, 7, 0),
		"9 days later":    h.last.Add(9 * 24 * time.Hour),
		"23 hours later":  h.last.Add(23 * time.Hour),
		"30 days later":   local.AddDate(0, 0, 30).UTC(),
		"31 days later":   local.AddDate(0, 0, 31).UTC(),
		"11 months later": local.AddDate(1, 0, -1).UTC(),
		"3 years later":   local.AddDate(3, 0, 0).UTC(),
	}
}

// drawHits returns a summary of every session as the search may find them, those of another coach first. The scores are
// near enough to each other for all of them to be relevant.
func (h *drawnHistory) drawHits() []recall.Hit {
	var hits []recall.Hit
	for i := range h.sessions {
		if s := &h.sessions[i]; s.Summary != nil && s.ID != "chat" {
			score := 0.5 + 0.005*float64((i*17)%60)
			if s.CoachID == "leo" {
				score += 0.15
			}
			hits = append(hits, summaryHit(s, score))
		}
	}
	slices.SortFunc(hits, func(a, b recall.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}
