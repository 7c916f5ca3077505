package dynamo_test

import (
	"context"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

func (w *world) shelf() shelf {
	all := shelves()
	return all[rapid.IntRange(0, len(all)-1).Draw(w.rt, "shelf")]
}

// record draws one of the records of a kind; ok is false where there is none.
func (w *world) record(kind string) (name string, ok bool) {
	var names []string
	for n := range w.want.Records {
		if strings.HasPrefix(n, kind+"/") {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	slices.Sort(names)
	return rapid.SampledFrom(names).Draw(w.rt, "record"), true
}

func (w *world) createRecord() {
	s, idem := w.shelf(), w.key()
	e := entry{name: w.name(), live: s.kind == "check-in" || rapid.Bool().Draw(w.rt, "live"), at: w.clock.time()}
	full := s.kind + "/" + e.name
	if content, ok := w.message(); ok && s.kind == "memory" && rapid.Bool().Draw(w.rt, "drawn") {
		e.source = w.ids["message/"+content.text]
		w.ids["source/"+full] = content.session + "/" + content.text
	}
	do := func(ctx context.Context, p *process) error {
		id, err := s.create(ctx, p.Stores, w.user, e, idem)
		if err == nil {
			w.ids[full] = id
		}
		return err
	}
	_, err := w.make(call{4, idem.Set(), do})
	w.keep(idem, err, do)
	w.acknowledged("create "+s.kind, err, func(v *view) { v.Records[full] = e.value() })
}

func (w *world) changeRecord() {
	s := w.shelf()
	name, ok := w.record(s.kind)
	if !ok {
		return
	}
	e := entry{live: s.kind == "check-in" || rapid.Bool().Draw(w.rt, "live")}
	_, err := w.make(call{4, w.patient(), func(ctx context.Context, p *process) error {
		return s.change(ctx, p.Stores, w.user, w.ids[name], e)
	}})
	w.acknowledged("change "+s.kind, err, func(v *view) { v.Records[name] = e.value() })
}

func (w *world) removeRecord() {
	s := w.shelf()
	name, ok := w.record(s.kind)
	if !ok {
		return
	}
	again, err := w.make(call{3, w.patient(), func(ctx context.Context, p *process) error {
		return s.remove(ctx, p.Stores, w.user, w.ids[name])
	}})
	if again && fault.Is(err, fault.NotFound) {
		err = nil // the try before was carried out
	}
	w.orphaned = w.orphaned || s.kind == "check-in"
	w.acknowledged("delete "+s.kind, err, func(v *view) { delete(v.Records, name) })
}

// put replaces one of the records that there is one of, or a coach.
func (w *world) put() {
	what, value := rapid.SampledFrom([]string{"profile", "seed", "preferences", "coach/x", "coach/y"}).Draw(w.rt, "what"), w.name()
	_, err := w.make(call{3, w.patient(), func(ctx context.Context, p *process) error {
		switch what {
		case "profile":
			return second(p.Profiles.Put(ctx, w.user, longterm.Profile{Name: value}))
		case "seed":
			return second(p.Seeds.Put(ctx, w.user, longterm.Seed{Content: value}))
		case "preferences":
			return second(p.Preferences.Put(ctx, w.user, longterm.Preferences{Timezone: value}))
		}
		return second(p.Coaches.PutCoach(ctx, w.user, longterm.Coach{ID: strings.TrimPrefix(what, "coach/"), Name: value}))
	}})
	w.acknowledged("put "+what, err, func(v *view) { v.Records[what] = value })
}

func (w *world) removeCoach() {
	name, ok := w.record("coach")
	if !ok {
		return
	}
	again, err := w.make(call{2, w.patient(), func(ctx context.Context, p *process) error {
		return p.Coaches.DeleteCoach(ctx, w.user, strings.TrimPrefix(name, "coach/"))
	}})
	if again && fault.Is(err, fault.NotFound) {
		err = nil
	}
	w.acknowledged("delete coach", err, func(v *view) { delete(v.Records, name) })
}
