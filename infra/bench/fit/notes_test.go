package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/local/embedder"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/testing/check"
)

// The words of the notes. The sentences have a person, another person, a place and a thing, where they name one.
var (
	people = strings.Fields("Ingrid Tomas Beatrix Olu Farid Wen Paula Yusuf Greta Milo")
	places = strings.Fields("greenhouse workshop harbour clinic archive kitchen warehouse gallery orchard laboratory")
	things = strings.Fields("pump ladder scanner oven drill trailer kettle projector compressor cabinet tent printer")
	causes = strings.Fields("frost rust dust overheating sabotage moisture vibration corrosion neglect lightning")
	covers = strings.Fields("curtain staircase bookshelf chimney freezer piano fence counter mural container")
	about  = []string{
		"Spent most of the morning with {person} at the {place}, and we went over the plan for the {thing} again.",
		"{person} and {other} still don't agree about the {thing}, so nothing is decided.",
		"The {place} looks better than last week, but the floor has to be cleaned before anybody can work there.",
		"I asked {person} to write down what is missing in the {place}.",
		"{other} called twice about the {thing} and I promised to call back in the evening.",
		"We may have to move the {thing} out of the {place} for a few days.",
		"{person} was late again because of the bus, which is no fault of hers or his.",
		"The invoice for the {thing} came, I have put it with the others.",
	}
	general = []string{
		"Lunch was cold and short.", "It rained until four and then the sun came out for an hour.",
		"I have to sleep more, I was tired the whole afternoon.", "Nobody had an answer to that, so we left it.",
		"The budget is what it is, and complaining does not change a number in it.",
		"I want to look at this again when I have a clear head.", "There was too much noise in the corridor to think.",
		"A good day on the whole, although the list has become longer and not shorter.",
		"I keep writing the same things into these notes, perhaps that says something.",
		"Two of the new ones asked good questions, which I liked.",
	}
	replies = []string{"Noted.", "Saved, thank you.", "Got it. Anything else?", "That is in your notes now.", "Okay."}
)

// noteFact is what a note says in one sentence, or several notes in one each, and what is asked about it.
type noteFact struct {
	class, question string
	sentences       []string
}

func pick(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

// drawFact draws what is asked for. The number of a fact makes it another one than the others.
func drawFact(random *rand.Rand, n int) noteFact {
	person, thing := people[n%len(people)], things[n*5%len(things)]
	place, count := places[(n+n/len(places))%len(places)], fmt.Sprint(3+random.IntN(60))
	day := time.Weekday(random.IntN(7)).String()
	switch n % 5 {
	case 0:
		return noteFact{"number", "How many spare parts did " + person + " order for the " + thing + "?", []string{
			person + " ordered " + count + " spare parts for the " + thing + " in the " + place + ".",
		}}
	case 1:
		return noteFact{"time", "When does " + person + " bring back the " + thing + "?", []string{
			person + " borrowed the " + thing + " and brings it back next " + day + ".",
		}}
	case 2:
		return noteFact{"reason", "Why did the " + thing + " in the " + place + " break down?", []string{
			"The " + thing + " in the " + place + " broke down because of " + pick(random, causes) + ".",
		}}
	case 3:
		return noteFact{"where", "Where does " + person + " hide the key of the " + place + "?", []string{
			person + " hides the key of the " + place + " behind the " + pick(random, covers) + ".",
		}}
	}
	return noteFact{"several", "Who has inspected the " + place + " with " + person + "?", []string{
		person + " has inspected the " + place + " with " + people[(n+3)%len(people)] + ".",
		people[(n+6)%len(people)] + " came along when " + person + " inspected the " + place + " once more.",
	}}
}

// drawNote draws a note that has a sentence somewhere.
func drawNote(random *rand.Rand, sentence string) string {
	var lines []string
	for range 20 + random.IntN(20) {
		line := pick(random, general)
		if random.IntN(3) > 0 {
			line = strings.NewReplacer("{person}", pick(random, people), "{other}", pick(random, people),
				"{place}", pick(random, places), "{thing}", pick(random, things)).Replace(pick(random, about))
		}
		lines = append(lines, line)
	}
	return strings.Join(slices.Insert(lines, random.IntN(len(lines)), sentence), " ")
}

// drawNotes draws a conversation of a kind that no weights are fitted on: a user dictates notes of 300 to 600 words
// about many things at once, two in a row, and an assistant answers in a line. What is asked for is in a single
// sentence of a note, whose people, places and things all notes have.
func drawNotes(random *rand.Rand, id string) dataset.Conversation {
	c := dataset.Conversation{ID: id}
	at, n := time.Date(2026, 3, 2, 17, 0, 0, 0, time.UTC), 0
	add := func(role, content string) string {
		if n%9 == 0 {
			c.Sessions = append(c.Sessions, dataset.Session{ID: fmt.Sprint("s", n/9), Context: "coach_conversation"})
		}
		m := dataset.Message{ID: fmt.Sprint(n), Role: role, Content: content, Timestamp: at}
		at = at.Add(time.Minute)
		if n++; n%9 == 0 {
			at = at.Add(time.Duration(20+random.IntN(80)) * time.Hour)
		}
		s := &c.Sessions[len(c.Sessions)-1]
		s.Messages = append(s.Messages, m)
		return m.ID
	}
	type place struct{ fact, sentence int }
	var facts []noteFact
	var order []place
	for n := range 50 {
		facts = append(facts, drawFact(random, n))
		c.Questions = append(c.Questions, dataset.Question{Text: facts[n].question, Category: facts[n].class})
		for i := range facts[n].sentences {
			order = append(order, place{n, i})
		}
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, o := range order {
		note := add("user", drawNote(random, facts[o.fact].sentences[o.sentence]))
		c.Questions[o.fact].Evidence = append(c.Questions[o.fact].Evidence, note)
		if i%2 == 1 {
			add("assistant", pick(random, replies))
		}
	}
	return c
}

// TestWeightsOnOtherData checks the weights that ship on two kinds of data that they are not fitted on: users who do
// not alternate with the assistant, one of them in German, and users who dictate notes.
func TestWeightsOnOtherData(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 10))
	sets := check.Got(dataset.ReadSets("../recall/testdata/monologues.json"))(t)
	notes := []dataset.Conversation{drawNotes(random, "nora"), drawNotes(random, "nils")}
	sets = append(sets, dataset.Set{Name: "notes", Conversations: notes})
	pools := check.Got(readPools(t.Context(), sets, offline{embedder.New(), embedder.DefaultDimensions}))(t)
	shipped := byValue(fittedOf(rank.Default()).probabilities)
	var out strings.Builder
	report(&out, pools, bySet, row{"index", byIndex}, row{"BM25", byWords}, row{"shipped", shipped})
	t.Log(out.String())
	_, groups := grouped(pools, bySet)
	if err := checkFloor(groups["monologues"], "other data", shipped); err != nil {
		t.Error(err)
	}
	for _, place := range []int{cutoff.R5, cutoff.R10, cutoff.B1000} {
		found := mean(groups["notes"], shipped)[place]
		for _, floor := range []row{{"the index", byIndex}, {"BM25", byWords}} {
			if least := mean(groups["notes"], floor.ranking)[place]; found < least {
				t.Errorf("notes: %s is %.1f, of %s %.1f", cutoff.Names[place], 100*found, floor.name, 100*least)
			}
		}
	}
	scattered := fittedOf(rank.Default())
	scattered.model[column("together")] = 0
	with, without := mean(groups["notes"], shipped)[0], mean(groups["notes"], byValue(scattered.probabilities))[0]
	if with < without+0.2 {
		t.Errorf("notes: R@5 is %.3f, and %.3f wherever the words are", with, without)
	}
}
