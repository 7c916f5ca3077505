package extraction

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/secret"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// statement is a fact as it was said at a time.
type statement struct {
	fact
	from, until longterm.Moment
	ids         []string
	at          time.Time
	// moved is the id of the memory that the fact says anew for another day, if any.
	moved string
}

// newStatement reads a fact. ok is false for one that is not kept: it is not sure, nothing shows that the user has said
// it, it is taken back, it has a secret, or it does not say what it is about. A plan of which the user speaks when its
// day has come is no plan any more.
func (p *planner) newStatement(f fact) (s statement, ok bool) {
	s = statement{fact: f}
	s.ids, s.at = p.evidence(f.MessageIDs)
	s.Content = truncate.Ellipsis(untrusted.OneLine(f.Content), maxContentRunes)
	s.About = truncate.Ellipsis(untrusted.OneLine(f.About), maxAboutRunes)
	s.Supersedes = f.Supersedes[:min(len(f.Supersedes), maxSuperseded)]
	s.from, _ = longterm.ParseMoment(f.From) // a text that is no day says nothing
	s.until, _ = longterm.ParseMoment(f.Until)
	if f.Status == longterm.Planned && !s.from.IsZero() && !s.from.IsAhead(s.at.In(p.zone)) {
		s.Status = longterm.Stated
	}
	// What can hurt is kept of a line that says something else, too, which the user takes back.
	isKept := s.isSafety() || !isUnnamed(s.Content) && !isTakenBack(p, s.ids, s.at)
	return s, f.Confidence >= minConfidence && len(s.ids) > 0 && s.Content != "" && !secret.Has(s.Content) && isKept
}

// addFact stores a fact as a new memory, or as evidence of one that says the same, and ends those that it takes the
// place of. One that is over by now only ends others.
func (p *planner) addFact(f fact) {
	s, ok := p.newStatement(f)
	if !ok {
		return
	}
	same := p.memoryOf(s.Repeats)
	switch {
	case same == nil && s.repeatsEnded(p):
		return
	case same == nil || !s.decideRepeat(same):
		same = p.equalMemory(s.fact)
	}
	switch {
	case same != nil:
		p.repeat(same, s)
	case s.until.IsOver(p.now):
		for _, old := range p.supersededBy(s) {
			if !since(old, p.now).After(s.at) && !isAppPinned(old) {
				p.end(old, longterm.EndedOver, s.at, s.ids)
			}
		}
		return
	default:
		same = p.newMemory(s)
		if p.forgotten[forgottenKey(memoryKey, same.Content, same.About)] || p.isForgotten(*same) {
			isWishedLater := func(f longterm.Forgotten) bool {
				return !f.Rejected && same.SaidAt.Before(f.At) && f.Covers(*same)
			}
			if slices.ContainsFunc(p.known.Forgotten, isWishedLater) { // it is read late, as an import is
				p.forgetMessages = append(p.forgetMessages, same.MessageIDs...)
			}
			return
		}
		p.newMemories = append(p.newMemories, same)
		if by, hasEnded := endOf(*same, p.past); hasEnded {
			same.ValidUntil, same.EndedReason, same.EndedBy = by.ValidUntil, by.EndedReason, by.EndedBy
			return
		}
	}
	for _, old := range p.supersededBy(s) {
		s.takePlace(p, old, same)
	}
}

// repeatsEnded reports whether a fact repeats a memory that has ended or that the user has deleted while the model
// worked, and does not say it anew. One that went with its messages only is said again, as by an edit of these.
func (s statement) repeatsEnded(p *planner) bool {
	id := p.ids[s.Repeats]
	is := func(m longterm.Memory) bool { return m.ID == id }
	isForgotten := func(f longterm.Forgotten) bool { return f.MemoryID == id }
	isAnew := func(m longterm.Memory) bool { return is(m) && s.at.After(m.ValidUntil) }
	isKnown := slices.ContainsFunc(slices.Concat(p.known.Memories, p.past), is)
	return id != "" && (isKnown || slices.ContainsFunc(p.known.Forgotten, isForgotten)) &&
		!slices.ContainsFunc(p.forget, isAnew)
}

// takePlace has the memory of a fact take the place of another one. A plan that is put off did not begin on its day: it
// gives way as one for the new day, and keeps its own day for the history.
func (s statement) takePlace(p *planner, old, by *longterm.Memory) {
	from := old.From
	if old.ID == s.moved && old.Status == longterm.Planned && s.Status == longterm.Planned {
		s.update(p, old)
	}
	switch {
	case old.AsOf().After(s.at) && by.AsOf().After(s.at): // what was said before both says nothing of them
	case by.Status != longterm.Waiting:
		p.supersede(old, by, s.at)
	case old != by && !slices.Contains(by.Supersedes, old.ID): // once it is confirmed
		by.Supersedes = append(slices.Clone(by.Supersedes), old.ID)
		p.changed[by.ID] = true
	}
	old.From = from
}

// decideRepeat decides whether a fact repeats the memory that the model names, and reports it. A fact about another
// danger does not, and one of another day takes the memory's place.
func (s *statement) decideRepeat(m *longterm.Memory) bool {
	switch {
	case isOfAnother(m, s.fact) || isOtherDanger(m, *s):
		s.Repeats = ""
	case isMoved(m, *s):
		// It gives way first: else what it was to take the place of would give the fact its end.
		s.Supersedes, s.Repeats, s.moved = slices.Insert(slices.Clone(s.Supersedes), 0, s.Repeats), "", m.ID
	}
	return s.Repeats != ""
}

// endOf returns the memory that says the same as one that is read late, and has ended since that was said.
func endOf(m longterm.Memory, past []longterm.Memory) (by longterm.Memory, ok bool) {
	for _, ended := range past {
		isEnd := ended.WithEnd(m.SaidAt).EndedReason != longterm.EndedReplaced
		if isEnd && ended.ValidUntil.After(m.SaidAt) && longterm.NewForgotten(ended, ended.ValidUntil).Covers(m) {
			return ended, true
		}
	}
	return longterm.Memory{}, false
}

func (p *planner) newMemory(s statement) *longterm.Memory {
	m := &longterm.Memory{
		ID: longterm.NewMemoryID(s.at, p.random), Type: s.Type, Content: s.Content, Pinned: p.pins(s),
		Source: longterm.Extracted, About: s.About, From: s.from, Until: s.until,
		Confidence: min(s.Confidence, 1), Rated: true, MessageIDs: s.ids, SaidAt: s.at, CreatedAt: s.at, UpdatedAt: s.at,
		Tokens: p.tokens.Count(s.Content), Model: p.model, PromptVersion: promptVersion(),
	}
	if s.Status == longterm.Planned || s.Status == longterm.Reported {
		m.Status = s.Status
	}
	if p.reviews && !concernsSafety(s) {
		m.Status, m.WaitingAs = longterm.Waiting, m.Status
	}
	return m
}

// pins reports whether every prompt has a fact: it is about safety, as the model says or by its type, and sure enough.
// A plan has to have its day, with which prompts tell it beside what holds until then.
func (p *planner) pins(s statement) bool {
	isFirm := s.Status != longterm.Planned || !s.from.IsZero()
	if !concernsSafety(s) || !isFirm || s.Confidence < minPinned {
		return false
	}
	n := 0
	for _, m := range slices.Concat(p.memories, p.newMemories) {
		if m.Pinned && m.HeldAt(p.now) {
			n++
		}
	}
	return n < maxPinned
}

// concernsSafety reports whether a fact is about safety, as the model says or by its type.
func concernsSafety(s statement) bool {
	return s.isSafety() || registry.Live().MemoryType(string(s.Type)).Safety
}

// isAppPinned reports whether the app has pinned a memory, which then only the app or a wish to forget ends.
func isAppPinned(m *longterm.Memory) bool { return m.Pinned && m.Source != longterm.Extracted }

// isForgotten reports whether a memory says again, in whatever words, what the user has asked to forget since, now or
// before.
func (p *planner) isForgotten(m longterm.Memory) bool {
	isNow := func(gone longterm.Memory) bool { return longterm.NewForgotten(gone, gone.ValidUntil).Covers(m) }
	isBefore := func(f longterm.Forgotten) bool { return f.Covers(m) }
	return slices.ContainsFunc(p.forget, isNow) || slices.ContainsFunc(p.known.Forgotten, isBefore)
}

// memoryOf returns the known memory of a short id, nil where it is not valid or may not be compared.
func (p *planner) memoryOf(short string) *longterm.Memory {
	for _, m := range p.memories {
		if m.ID == p.ids[short] && p.isComparable(m) {
			return m
		}
	}
	return nil
}

// equalMemory returns a valid memory with the content of a fact about the same person, nil where there is none.
func (p *planner) equalMemory(f fact) *longterm.Memory {
	want := longterm.Normalize(f.Content)
	for i, m := range slices.Concat(p.newMemories, p.memories) {
		if (i < len(p.newMemories) || p.isComparable(m)) && longterm.Normalize(m.Content) == want &&
			longterm.IsSameSubject(m.About, f.About) {
			return m
		}
	}
	return nil
}

// isOfAnother reports whether a fact is about another person than a memory, and neither names whom the other is about.
func isOfAnother(m *longterm.Memory, f fact) bool {
	isNamedIn := func(about, text string) bool {
		names := longterm.SubjectWords(about)
		return len(names) > 0 && slices.Contains(longterm.SubjectWords(text), names[0])
	}
	return !longterm.IsSameSubject(m.About, f.About) && !isNamedIn(m.About, f.About+" "+f.Content) &&
		!isNamedIn(f.About, m.About+" "+m.Content)
}

// isOtherDanger reports whether a fact about safety differs from a memory in a word. Then it is noted, whatever the
// model says: two notes of the same hurt nobody, and a lost one may.
func isOtherDanger(m *longterm.Memory, s statement) bool {
	days := [][2]longterm.Moment{{m.From, s.from}, {m.Until, s.until}}
	return concernsSafety(s) && longterm.DifferInAWord(m.Content, s.Content, days...)
}

// isMoved reports whether a fact moves a day that an extracted memory names in its content: "from the 9th". What was
// only planned before is no move of what holds.
func isMoved(m *longterm.Memory, s statement) bool {
	isOther := func(day, by longterm.Moment) bool { return !day.IsZero() && !by.IsZero() && day != by }
	isNewer := m.Status == longterm.Planned || s.at.After(m.AsOf())
	return isNewer && m.Source == longterm.Extracted && longterm.Normalize(m.Content) != longterm.Normalize(s.Content) &&
		(isOther(m.From, s.from) || isOther(m.Until, s.until))
}

// repeat adds evidence to a memory, and what was said last of it. The app's own memories stay as they are.
func (p *planner) repeat(m *longterm.Memory, s statement) {
	if m.Source != longterm.Extracted {
		return
	}
	for _, id := range s.ids {
		if slices.Contains(m.MessageIDs, id) {
			continue
		}
		if m.MessageIDs = append(slices.Clone(m.MessageIDs), id); len(m.MessageIDs) > maxEvidence {
			m.MessageIDs = slices.Delete(m.MessageIDs, 1, 2)
		}
		p.changed[m.ID] = true
	}
	if m.Rated && s.Confidence > m.Confidence {
		m.Confidence, p.changed[m.ID] = min(s.Confidence, 1), true
	}
	if m.Status == longterm.Waiting && concernsSafety(s) {
		m.Status, m.WaitingAs, m.Supersedes, p.changed[m.ID] = m.WaitingAs, "", nil, true
	}
	if !m.Pinned && p.pins(s) {
		m.Pinned, p.changed[m.ID] = true, true
	}
	s.update(p, m)
}

// update gives a memory what was said last of its beginning, its end, and whether it is still a plan. Where a plan is
// put off after its day, what it was to take the place of holds on.
func (s statement) update(p *planner, m *longterm.Memory) {
	if !s.at.After(m.AsOf()) {
		return
	}
	before, given := *m, s.at
	m.SaidAt, m.UpdatedAt, p.changed[m.ID] = s.at, s.at, true
	if !s.until.IsZero() {
		m.Until = s.until
	}
	if !s.from.IsZero() {
		m.From = s.from
	}
	if s.until.IsZero() && m.SupersededBy == "" && !m.From.IsZero() && m.Until.IsOver(m.From.Start(p.zone)) {
		m.Until = longterm.Moment{} // it was moved behind its last day
	}
	hasBegun := !m.From.IsZero() && !m.From.IsAhead(s.at.In(p.zone))
	status := &m.Status
	if m.Status == longterm.Waiting {
		status = &m.WaitingAs
	}
	if *status == longterm.Planned && (hasBegun || s.Status != longterm.Planned && !m.From.IsAhead(p.now)) ||
		*status == longterm.Reported && s.Status == longterm.Stated {
		*status = ""
	}
	if *status == longterm.Planned && m.From.IsAhead(given.In(p.zone)) {
		given = before.AsOf()
	}
	p.inherit(&before, m, given)
}

// supersede ends an old memory in favour of another, which was said at that time. Sessions may be read in another order
// than that in which the user spoke: of the two the one that took effect last stays, or the plan for a day after that.
// What the app has pinned stays beside the other. Before a change that is still to come the old memory holds on: until
// the day before, or until the user says that a plan without a day has come true.
func (p *planner) supersede(old, by *longterm.Memory, at time.Time) {
	if old == by {
		return
	}
	effective, replaced := since(old, p.now), since(by, p.now)
	if old.Status == longterm.Planned && by.Status == longterm.Planned { // another plan
		effective, replaced = old.AsOf(), by.AsOf()
	}
	if at.After(replaced) {
		replaced = at
	}
	switch begins := by.From.Start(p.zone); {
	case !effective.After(replaced):
	case old.Status != longterm.Planned && begins.After(effective):
		replaced = begins
	default:
		old, by, replaced = by, old, effective
	}
	if isAppPinned(old) || old.StaysBeside(*by) || by.Status == longterm.Waiting {
		return
	}
	isReplacedLater := old.SupersededBy != "" && old.ValidUntil.After(replaced)
	if isReplacedLater && old.SupersededBy != by.ID && by.SupersededBy == "" && !by.From.IsAhead(replaced.In(p.zone)) {
		by.ValidUntil, by.SaidUntil = old.ValidUntil, by.Until
		if old.Until != old.SaidUntil && !by.Until.IsOver(old.ValidUntil.In(p.zone)) {
			by.Until = old.Until
		}
		by.EndedReason, by.SupersededBy = old.EndedReason, old.SupersededBy
		p.changed[by.ID] = true
	}
	p.inherit(old, by, replaced)
	p.replace(old, by, replaced)
}

// since returns when a memory took effect: when it was said, or when it began, if that was later and has come.
func since(m *longterm.Memory, now time.Time) time.Time {
	if start := m.From.Start(now.Location()); start.After(m.AsOf()) && !start.After(now) {
		return start
	}
	return m.AsOf()
}

// replace ends a memory in favour of another, unless one that came earlier has taken its place.
func (p *planner) replace(old, by *longterm.Memory, at time.Time) {
	given := old.GivenWayTo(*by, notLater(at, p.now).In(p.zone), p.now)
	if old.SupersededBy != "" && old.ValidUntil.Before(given.ValidUntil) {
		return
	}
	*old, p.changed[old.ID] = given, true
}

// notLater returns a time that is not after another one, now. A message from a clock that is ahead ends what it ends
// now.
func notLater(at, now time.Time) time.Time {
	if at.After(now) {
		return now.UTC()
	}
	return at
}

// inherit gives what a memory was to take the place of later to the one that takes its own place, or that it has become
// itself. Without one it gives it back: a plan that was given up replaces nothing.
func (p *planner) inherit(ended, by *longterm.Memory, at time.Time) {
	for _, m := range slices.Concat(p.memories, p.newMemories) {
		if m.SupersededBy != ended.ID || !m.ValidUntil.After(at) {
			continue
		}
		if m.Until == ended.From.Before() {
			m.Until, m.SaidUntil = m.SaidUntil, longterm.Moment{}
		}
		m.ValidUntil, m.EndedReason, m.SupersededBy, p.changed[m.ID] = time.Time{}, "", "", true
		if by != nil {
			p.supersede(m, by, at)
		}
	}
}
