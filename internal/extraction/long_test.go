package extraction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestUrgentIsReadAnywhere has a statement about safety in the middle of 200 KB, in several forms: the model reads it.
func TestUrgentIsReadAnywhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ before, statement, after string }{
		"prose":             {"The weather was fine. ", "I am allergic to lychee.", "We went on. "},
		"no sentences":      {"and then we went on ", "i am allergic to lychee and", "and so on it went "},
		"one line of data":  {"aGVsbG8gd29ybGQ/", " I am allergic to lychee. ", "aGVsbG8gd29ybGQ/"},
		"another language":  {"Hacía buen tiempo. ", "Soy alérgico a los cacahuetes.", "Seguimos andando. "},
		"no spaces between": {"天気がよかった。", "ピーナッツアレルギーがあります。", "散歩をした。"},
	} {
		e := newEcho(t)
		half := 100 << 10
		before := strings.Repeat(tt.before, half/len(tt.before))
		e.say(t, "a", before+tt.statement+strings.Repeat(tt.after, half/len(tt.after)))
		e.extract(t, "a")
		if in := strings.Join(e.inputs, "\n"); !strings.Contains(in, strings.TrimSpace(tt.statement)) || len(in) > 40_000 {
			t.Errorf("%s: the model does not read it, in %d bytes", name, len(in))
		}
	}
}

// TestOneLongThingEmptiesNoBatch has one thing of the largest size among small ones: a message of the user, an answer,
// a known memory. All of the small ones are read, and something of the large one.
func TestOneLongThingEmptiesNoBatch(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", conversation.MaxContentBytes/5-10)
	for name, prepare := range map[string]func(e *echo, place int){
		"a message": func(e *echo, _ int) { e.more(t, "a", "the long one "+long) },
		"an answer": func(e *echo, _ int) {
			e.append(t, "a", conversation.NewMessage{Role: conversation.RoleAssistant, Content: "the long one " + long})
		},
		"a memory": func(e *echo, _ int) {
			_, _, err := e.stores.Memories.Create(t.Context(), e.user, longterm.Memory{
				Type: longterm.ProfileMemory, Content: ("the long one " + long)[:8000], Source: longterm.Seeded,
			}, noKey)
			check.OK(t, err)
		},
	} {
		for place := range 3 {
			e := newEcho(t)
			e.create(t, "a")
			var want []string
			for i := range 3 {
				if i == place {
					prepare(e, place)
				}
				want = append(want, fmt.Sprint("small fact ", i))
				e.more(t, "a", want[i])
			}
			e.extract(t, "a")
			in := strings.Join(e.inputs, "\n")
			e.wantValid(t, append(want, oneOf(name == "a memory", ("the long one " + long)[:8000])...)...)
			if !strings.Contains(in, "the long one word") {
				t.Errorf("%s, place %d: nothing of the long one is read", name, place)
			}
		}
	}
}

func oneOf(has bool, text string) []string {
	if has {
		return []string{text}
	}
	return nil
}

// TestManyPinnedHaveEnded has a dose that has changed for years. A new allergy is pinned.
func TestManyPinnedHaveEnded(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.safety = "health"
	for i := range 160 {
		if _, _, err := e.stores.Memories.Create(t.Context(), e.user, longterm.Memory{
			Type: longterm.ProfileMemory, Source: longterm.Extracted, Content: fmt.Sprint("dose ", i), Pinned: true,
			ValidUntil: e.clock().AddDate(0, 0, -i), EndedReason: longterm.EndedOver, MessageIDs: []string{"m"},
		}, noKey); err != nil {
			t.Fatal(err)
		}
	}
	e.say(t, "a", "fact: allergic to nuts")
	e.extract(t, "a")
	for _, m := range e.memories(t) {
		if m.EndedReason == "" && !m.Pinned {
			t.Errorf("%q is not pinned", m.Content)
		}
	}
}
